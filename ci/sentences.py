#!/usr/bin/env python3
"""ci/sentences.py [--seed N] [--count 60]: sentences drawn at random, to be read by somebody.

They come from comments and doc comments of Rust and C, which the help texts are made from, and from
the pages. A reader who has not written them says which ones need reading twice. `--long` lists
those of more than 25 words instead, with their number.
"""

import argparse
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_WORDS = 25


def paragraphs(path):
    """Paragraphs of prose, each with the number of its first line."""
    text = path.read_text(encoding="utf-8", errors="replace")
    page = path.suffix == ".md"
    fenced, words, at = False, [], 0
    for number, line in enumerate(text.split("\n"), 1):
        if page:
            body = line.strip()
        elif path.suffix == ".rs":
            found = re.match(r"\s*//[/!]?(?: |$)(.*)", line)
            body = found[1].strip() if found else None
        else:
            found = re.match(r"\s*(?:/?\*+/?|//)\s?(.*)", line)
            body = found[1].strip() if found else None
        if body is not None and body.startswith("```"):
            fenced = not fenced
            body = ""
        is_prose = body and not fenced and not re.match(r"[|#<>│└├┌]|[-=]{3}", body)
        starts = is_prose and re.match(r"(?:[-*] |\d+\. )", body)
        if words and (not is_prose or starts):
            yield at, " ".join(words)
            words = []
        if is_prose:
            at = at if words else number
            words.append(re.sub(r"^(?:[-*] |\d+\. )", "", body) if starts else body)
    if words:
        yield at, " ".join(words)


def sentences(path):
    for line, text in paragraphs(path):
        # Code in a comment, licences and pictures are no prose.
        if len(text) < 20 or "  " in text or re.search(r"[;{}]$", text):
            continue
        for one in re.split(r"(?<=[.!?])\s+(?=[A-Z`\[*])", text):
            if len(one.split()) >= 4 and one[-1] in ".!?:":
                yield line, one


def everything():
    patterns = ["crates/**/*.rs", "crates/**/*.h", "docs/**/*.md", "*.md", "records/README.md"]
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if "target" not in path.relative_to(ROOT).parts:
                for line, one in sentences(path):
                    yield path.relative_to(ROOT), line, one


def words(one):
    """Words, with a piece of code as one."""
    return len(re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", "code", one).split())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--long", action="store_true")
    asked = parser.parse_args()
    found = list(everything())
    if asked.long:
        found = [(path, line, one) for path, line, one in found if words(one) > MOST_WORDS]
    else:
        found = random.Random(asked.seed).sample(found, min(asked.count, len(found)))
    for number, (path, line, one) in enumerate(found, 1):
        print(f"{number}. {path}:{line}: {one}")


main()
