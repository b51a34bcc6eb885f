"""Links of Markdown pages that lead to a file or a heading of the checkout."""
import os
import re
import urllib.parse

from page_checks.tree import split, without_code

INLINE = re.compile(r"\]\(\s*(<[^>]*>|[^()\s]*(?:\([^()]*\))?[^()\s]*)(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s+(\S+)")
SUMMARY = "docs/SUMMARY.md"


def problems(tree):
    """What is wrong, as lines `path:line: what`."""
    anchors = {}
    found = []
    for path in tree.with_ends(".md"):
        for number, target in targets(tree.text(path)):
            what = _problem(tree, anchors, path, target)
            if what:
                found.append(f"{path}:{number}: {what}")
    return found + _orphans(tree)


def targets(text):
    """The links of a page as (line, target). A link may break over two lines."""
    prose, _ = split(text)
    numbers, joined = [], ""
    for number, line in prose:
        numbers.append((len(joined), number))
        joined += without_code(line) + "\n"
    found = []
    for match in INLINE.finditer(joined):
        number = [number for at, number in numbers if at <= match.start()][-1]
        found.append((number, match[1].strip("<>")))
    for number, line in prose:
        match = REFERENCE.match(line)
        if match:
            found.append((number, match[1].strip("<>")))
    return found


def _problem(tree, anchors, path, target):
    if not target:
        # A draft of the book: a name without a page.
        return None if path == SUMMARY else "a link without a target"
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None
    name, _, anchor = target.partition("#")
    name, anchor = urllib.parse.unquote(name), urllib.parse.unquote(anchor)
    file = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if not (tree.root / file).exists() or file.startswith(".."):
        return f"the link '{target}' leads to no file"
    if not anchor or not file.endswith(".md"):
        return None
    if file not in anchors:
        anchors[file] = headings(tree.text(file))
    return None if anchor in anchors[file] else f"the link '{target}' leads to no heading of {file}"


def headings(text):
    """The anchors of a page, as code hosts and mdBook make them."""
    prose, _ = split(text)
    found = set()
    for _, line in prose:
        match = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if not match:
            continue
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1])
        plain = re.sub(r"[`*]", "", plain).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        unique, again = anchor, 0
        while unique in found:
            again += 1
            unique = f"{anchor}-{again}"
        found.add(unique)
        found.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def _orphans(tree):
    """Pages of the book that its summary does not have."""
    if SUMMARY not in tree.files:
        return []
    listed = {os.path.normpath(os.path.join("docs", target)) for _, target in targets(tree.text(SUMMARY))}
    pages = [path for path in tree.with_ends(".md") if path.startswith("docs/") and path != SUMMARY]
    return [f"{path}: {SUMMARY} does not list it" for path in pages if path not in listed]
