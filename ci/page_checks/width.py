"""Lines of at most 100 columns: comments of sources, and pages but for rows of tables."""
from page_checks import comments
from page_checks.tree import split

COLUMNS = 100
README_LINES = 130
TABLE = ("|", "│", "┌", "├", "└")


def counts(tree):
    """How many lines of each file are too long; files without one are left out."""
    found = {}
    for path in tree.files:
        if path.endswith(comments.ENDS) or path == ".ci/run":
            number = _sources(path, tree.text(path))
        elif path.endswith(".md"):
            number = _pages(tree.text(path))
        else:
            continue
        if number:
            found[path] = number
    return found


def _sources(path, text):
    long = [number for number, line in enumerate(text.split("\n"), 1) if len(line) > COLUMNS]
    if not long:
        return 0
    return len(comments.lines(path, text).intersection(long))


def _pages(text):
    prose, blocks = split(text)
    lines = [line for _, line in prose] + [line for block in blocks for line in block.lines]
    return sum(len(line) > COLUMNS and not _may_be_long(line) for line in lines)


def _may_be_long(line):
    """Rows of tables, those that programs print too; words that have no place to break."""
    return line.lstrip().startswith(TABLE) or max(map(len, line.split())) > COLUMNS - 20


def readme(tree):
    """By how many lines README.md is too long."""
    length = len(tree.text("README.md").splitlines()) if "README.md" in tree.files else 0
    return max(length - README_LINES, 0)
