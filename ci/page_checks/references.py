"""References by number: facts, invariants, promises and clauses that a text names."""
import os
import re

from page_checks import comments
from page_checks.tree import split

NUMBERS = r"\d+(?:(?:, | and | or | to )\d+)*"
NAMED = re.compile(
    rf"\b(fact|invariant|promise|clause|ground rule)s? ({NUMBERS})(?: of (?:the )?`([^`]+)`)?(?!\S*\.\d)", re.I
)
ITEM = re.compile(r"^\s*(?:SAFETY:.*?)?(\d+)\. \S")
CONTRACT = "crates/tickwright-core/src/contract.rs"
# The begin of a fact within a comment: its number after a stop, or after the fact that it shares.
FACT = re.compile(r"(?:(?<=[;:.,] )|(?<= and ))(\d+)\. (?=[`\w*])")
HEADINGS = {"invariant": "States", "ground rule": "Ground rules"}


def problems(tree):
    """What is wrong, as lines `path:line: what`."""
    found = []
    for path in tree.files:
        if path == "CHANGELOG.md" or path.startswith("records/"):
            continue
        if path.endswith(".rs"):
            text = tree.text(path)
            texts = [(first, " ".join(parts)) for first, parts in comments.paragraphs(text)]
        elif path.endswith(".md"):
            texts = split(tree.text(path))[0]
        else:
            continue
        for number, text in texts:
            for match in NAMED.finditer(text):
                what = _problem(tree, path, match[1].lower(), match[3], _numbers(match[2]))
                if what:
                    found.append(f"{path}:{number}: {what}")
            if "SAFETY:" in text and path.endswith(".rs"):
                what = _order(text)
                if what:
                    found.append(f"{path}:{number}: {what}")
    return found


def _numbers(text):
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if " to " in text:
        numbers = list(range(numbers[0], numbers[-1] + 1))
    return numbers


def _order(text):
    """The facts of a SAFETY comment count from 1."""
    facts = text[text.index("SAFETY:"):]
    numbers = [int(number) for number in FACT.findall(facts)]
    if "as above" in facts and numbers:
        return None
    for before, number in zip([0] + numbers, numbers):
        if number not in (before + 1, 1):
            return f"fact {number} of a SAFETY comment follows fact {before}"
    return None


def _problem(tree, path, kind, owner, numbers):
    for number in numbers:
        if number not in _items(tree, path, kind, owner):
            of = f" of `{owner}`" if owner else ""
            return f"{kind} {number}{of} is not there"
    return None


def _items(tree, path, kind, owner):
    """The numbers that a reference from `path` may name."""
    if kind == "clause":
        return numbered(tree.text(CONTRACT)) if CONTRACT in tree.files else set()
    if owner and owner.endswith(".md"):
        return _section(tree, owner, HEADINGS.get(kind, "")) if owner in tree.files else set()
    if owner and owner.endswith(".rs"):
        files = [file for file in tree.files if f"/{file}".endswith(f"/{owner}")]
        return set().union(*(numbered(tree.text(file)) for file in files))
    if path.endswith(".md") and not owner:
        return _section(tree, path, HEADINGS.get(kind, ""))
    if owner:
        return _trait(tree, owner)
    found = set()
    for file in [path, *_parents(path)]:
        if file in tree.files:
            found |= numbered(tree.text(file))
    return found


def numbered(text):
    """The numbers of the items that comments of a file list."""
    found = set()
    for _, parts in comments.paragraphs(text):
        for part in parts:
            match = ITEM.match(part)
            if match:
                found.add(int(match[1]))
        found.update(int(number) for number in FACT.findall(" ".join(parts)))
    return found


def _trait(tree, name):
    """The numbers that the documentation of a trait lists."""
    name = name.split("::")[-1]
    for path in tree.with_ends(".rs"):
        text = tree.text(path)
        documented = r"((?:^[ \t]*//[/!].*\n|^[ \t]*#\[.*\n)+)^[ \t]*pub(?:\([a-z]+\))? unsafe trait "
        match = re.search(rf"{documented}{name}\b", text, re.M)
        if match:
            return numbered(match[1])
    return set()


def _parents(path):
    """The modules that a Rust file is in."""
    folder = os.path.dirname(path)
    while folder and not folder.endswith("/src"):
        yield folder + ".rs"
        yield folder + "/mod.rs"
        folder = os.path.dirname(folder)


def _section(tree, path, heading):
    """The numbers that a section of a page lists."""
    found, inside = set(), False
    for _, line in split(tree.text(path))[0]:
        if line.startswith("#"):
            inside = heading in line
        match = ITEM.match(line)
        if inside and match:
            found.add(int(match[1]))
    return found
