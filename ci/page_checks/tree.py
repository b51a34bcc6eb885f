"""The files of a checkout, and the lines of a page that are prose."""
import pathlib
import re
import subprocess

FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\S*)")


class Tree:
    """A folder with files, by their paths from its top."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(git, capture_output=True, check=True).stdout.decode().split("\0")
        self.files = sorted(path for path in set(listed) if path and (self.root / path).is_file())

    def text(self, path):
        """The text of a file."""
        return (self.root / path).read_text(encoding="utf-8")

    def with_ends(self, *ends):
        """The paths that end so."""
        return [path for path in self.files if path.endswith(ends)]

    def pages(self):
        """The pages of the book and of the top folder."""
        return [path for path in self.with_ends(".md") if path.startswith("docs/") or "/" not in path]


class Block:
    """A fenced block: its language, its other words, the line of its fence, its lines."""

    def __init__(self, language, line):
        words = [word for word in re.split(r"[\s,]+", language) if word]
        self.language = words[0] if words else ""
        self.words = words[1:]
        self.line = line
        self.lines = []


def split(text):
    """The prose of a page as (number, line), and its blocks. A comment of HTML is no prose."""
    prose, blocks, fence = [], [], None
    text = re.sub(r"<!--.*?-->", lambda found: re.sub(r"[^\n]", "", found[0]), text, flags=re.S)
    for number, line in enumerate(text.split("\n"), 1):
        found = FENCE.match(line)
        if fence is None and found:
            fence = found[1]
            blocks.append(Block(line.strip().lstrip("`~"), number))
        elif fence is not None and found and line.strip().startswith(fence) and not found[2]:
            fence = None
        elif fence is None:
            prose.append((number, line))
        else:
            blocks[-1].lines.append(line)
    return prose, blocks


def without_code(line):
    """A line whose code spans are blanks."""
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda found: " " * len(found[0]), line)
