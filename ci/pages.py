#!/usr/bin/env python3
"""What can be checked of comments and pages without reading them.

    ci/pages.py              checks the tree; exit code 1 if a check fails
    ci/pages.py --counts     prints how many lines of each file are too long
    ci/pages.py --save       lowers the counts in ci/pages.txt to what is left; it raises none
    ci/pages.py --self-test  breaks each check in a made-up tree and requires that it fails

The checks:

- README.md has at most 130 lines.
- Comments, documentation and pages have at most 100 columns. A row of a page's table may be longer.
- A link of a page leads to a file, and to a heading of that file.
- A fact, invariant, promise or clause that is named by its number is there.
- Each code block of README and book is compiled, run or parsed by some test.
- Numbers, tests and files that a page names are right.
- Tables of crates, of measured ratios and of terms say what manifests and records say.

`ci/pages.txt` has what is left over: a kind, a file and a count on each line. A count that is
exceeded fails, and so does one that is too high. So the file only gets shorter.
"""
import argparse
import pathlib
import sys
import tempfile

from page_checks import blocks, counts, links, references, self_test, tables, width
from page_checks.tree import Tree

LEFT_OVER = "ci/pages.txt"


def left_over(tree):
    """What is counted in place of being refused, as {(kind, path): count}."""
    found = {("columns", path): number for path, number in width.counts(tree).items()}
    found.update({("ignored", path): number for path, number in blocks.ignored(tree).items()})
    if width.readme(tree):
        found[("length", "README.md")] = width.readme(tree)
    return found


def allowed(tree):
    """The counts of ci/pages.txt."""
    if LEFT_OVER not in tree.files:
        return {}
    rows = [line.split() for line in tree.text(LEFT_OVER).splitlines() if line and line[0] != "#"]
    return {(kind, path): int(number) for kind, path, number in rows}


def compared(found, expected):
    """The differences of two counts, as messages."""
    words = {"columns": "lines of more than 100 columns", "ignored": "Rust blocks that are ignored",
             "length": "lines more than 130"}
    problems = []
    for key in sorted(found.keys() | expected.keys()):
        have, may = found.get(key, 0), expected.get(key, 0)
        kind, path = key
        if have > may:
            problems.append(f"{path}: {have} {words[kind]}, at most {may}")
        elif have < may:
            problems.append(f"{path}: {have} {words[kind]}, and {LEFT_OVER} says {may}: run ci/pages.py --save")
    return problems


def problems(tree):
    """Everything that is wrong with a tree, as messages."""
    found = compared(left_over(tree), allowed(tree))
    for check in (links, references, blocks, counts, tables):
        found += check.problems(tree)
    return found


def save(tree):
    """Writes ci/pages.txt again, with no count that is higher than before."""
    found, before = left_over(tree), allowed(tree)
    known = {key: min(number, before[key]) for key, number in found.items() if key in before}
    rows = "".join(f"{kind} {path} {number}\n" for (kind, path), number in sorted(known.items()))
    head = "# What ci/pages.py counts in place of refusing it: a kind, a file, a count. It only shrinks.\n"
    (tree.root / LEFT_OVER).write_text(head + rows, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    asked = parser.parse_args()
    tree = Tree(pathlib.Path(__file__).resolve().parent.parent)
    if asked.self_test:
        with tempfile.TemporaryDirectory() as folder:
            return self_test.run(pathlib.Path(folder), lambda root: problems(Tree(root)))
    if asked.counts:
        for path, number in sorted(width.counts(tree).items()):
            print(f"{number:5} {path}")
        return 0
    if asked.save:
        save(tree)
        tree = Tree(tree.root)
    found = problems(tree)
    for message in found:
        print(f"pages: {message}", file=sys.stderr)
    if not found:
        left = sum(number for (kind, _), number in left_over(tree).items() if kind == "columns")
        print(f"pages: {len(tree.with_ends('.md'))} pages hold; {left} long lines are left over ({LEFT_OVER})")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
