#!/usr/bin/env python3
"""The part of mdBook that knows this repository: pages and links that lead out of `docs/`.

    ci/book.py           reads a book from mdBook as JSON and writes it back (docs/book.toml)
    ci/book.py --build   builds the book into target/book, and requires that each link and picture
                         is in it and that nothing is loaded from a network

The summary lists pages such as `../GLOSSARY.md`. In the book they are `repository/glossary.md`. A
link to a file that is no page of the book becomes the name of that file.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Blocks, then code within a line, then links, whose text may have code: what begins first counts.
TOKEN = re.compile(
    r"(?P<block>^(?P<fence>```+|~~~+).*?^(?P=fence)\s*$)|(?P<code>`[^`\n]+`)"
    r"|(?P<mark>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)",
    re.M | re.S,
)


def place(path):
    """Where a page of the summary is in the book."""
    if not path.startswith("../"):
        return path
    name = path.removeprefix("../").removesuffix("/README.md").removesuffix(".md")
    return f"repository/{name.lower().replace('/', '-')}.md"


def chapters(items):
    """All chapters, parents before children. Drafts have no page and are left out."""
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter and chapter.get("path"):
            yield chapter
        yield from chapters(chapter["sub_items"] if chapter else [])


def moved(book):
    """The book with each page in its place, and links that lead there."""
    found = list(chapters(book.get("items", book.get("sections", []))))
    places = {chapter["path"]: place(chapter["path"]) for chapter in found}
    for chapter in found:
        chapter["content"] = relinked(chapter["content"], chapter["path"], places)
        chapter["path"] = places[chapter["path"]]
    return book


def relinked(content, path, places):
    """A page that stood at `path`, with the links of its new place. Code is left as it is."""
    def link(match):
        target, text = match["target"], match["text"]
        if target is None or re.match(r"[a-z][a-z0-9+.-]*:|#", target):
            return match[0]
        file, sign, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(path), file)).removeprefix("../docs/")
        if file in places or not file.startswith("../"):
            to = os.path.relpath(places.get(file, file), os.path.dirname(places[path]) or ".")
            return f"{match['mark']}[{text}]({to}{sign}{anchor})"
        name = file.removeprefix("../")
        return f"`{name}`" if f"/{name}".endswith("/" + text.strip("`")) else f"{text} (`{name}`)"

    return TOKEN.sub(link, content)


def build():
    """Builds the book; returns what is wrong, as messages."""
    folder = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "book").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run(["mdbook", "build", ROOT / "docs", "--dest-dir", folder], capture_output=True, text=True)
    problems = [done.stderr] if done.returncode or re.search("warn|error", done.stderr, re.I) else []
    # The page for a wrong address has a base of its own, and no links of the book.
    paths = [path for path in folder.rglob("*.html") if path.name not in ("404.html", "toc.html")]
    pages = {path: path.read_text(encoding="utf-8") for path in paths}
    for path, page in pages.items():
        for tag, target in re.findall(r'<(a|img|script|link)\b[^>]*?\s(?:href|src)="([^"]+)"', page):
            file, _, anchor = target.split("?")[0].partition("#")
            to = (path.parent / urllib.parse.unquote(file)).resolve() if file else path
            if re.match(r"[a-z][a-z0-9+.-]*:|//", target):
                wrong = tag != "a" and not target.startswith("data:")
            else:
                wrong = not to.is_relative_to(folder) or not to.exists()
                wrong |= bool(anchor) and to in pages and f'id="{urllib.parse.unquote(anchor)}"' not in pages[to]
            if wrong:
                problems.append(f"{path.relative_to(folder)}: {target} is not in the book")
    if len(pages) < 20 or not list(folder.glob("searchindex*.js*")):
        problems.append(f"{folder} has {len(pages)} pages, or no index of the search")
    return problems


if sys.argv[1:2] == ["--build"]:
    if not shutil.which("mdbook"):
        print("book: skipped: no mdbook (cargo install mdbook --locked)")
        sys.exit(77)
    found = build()
    sys.exit("\n".join(found) or print("book: target/book: every link leads to a page"))
elif not sys.argv[1:]:
    json.dump(moved(json.load(sys.stdin)[1]), sys.stdout)
elif sys.argv[1] != "supports":
    sys.exit(__doc__)
