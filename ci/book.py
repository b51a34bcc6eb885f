#!/usr/bin/env python3
"""The part of mdBook that knows this repository: pages and links that lead out of `docs/`.

    ci/book.py                  reads a book from mdBook as JSON and writes it back (docs/book.toml)
    ci/book.py --check FOLDER   requires of a built book that each link and picture is in it, that
                                nothing is loaded from a network, and that the search has an index
    ci/book.py --self-test      checks both on a made-up book

The summary lists pages such as `../GLOSSARY.md`. In the book they are `repository/glossary.md`. A
link to a file that is no page of the book becomes the name of that file.
"""
import html.parser
import json
import os
import pathlib
import re
import sys
import tempfile
import urllib.parse

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
        if chapter:
            if chapter.get("path"):
                yield chapter
            yield from chapters(chapter["sub_items"])


def moved(book):
    """The book with each page in its place, and links that lead there."""
    items = book.get("items", book.get("sections", []))
    places = {chapter["path"]: place(chapter["path"]) for chapter in chapters(items)}
    for chapter in chapters(items):
        path = chapter["path"]
        chapter["path"] = places[path]
        chapter["content"] = relinked(chapter["content"], path, places)
    return book


def relinked(content, path, places):
    """A page that stood at `path`, with the links of its new place. Code is left as it is."""
    here = os.path.dirname(places[path])

    def link(match):
        target, text = match["target"], match["text"]
        if target is None or re.match(r"[a-z][a-z0-9+.-]*:|#", target):
            return match[0]
        file, sign, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(path), file)).removeprefix("../docs/")
        if file in places or not file.startswith("../"):
            to = os.path.relpath(places.get(file, file), here or ".")
            return f"{match['mark']}[{text}]({to}{sign}{anchor})"
        name = file.removeprefix("../")
        plain = text.strip("`")
        return f"`{name}`" if f"/{name}".endswith(f"/{plain}") else f"{text} (`{name}`)"

    return TOKEN.sub(link, content)


class Page(html.parser.HTMLParser):
    """The links, pictures and anchors of a page of the built book."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if given.get("id"):
            self.anchors.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("img", "script") and given.get("src"):
            self.loaded.append(given["src"])
        if tag == "link" and given.get("href"):
            self.loaded.append(given["href"])


def check(folder):
    """What is wrong with a built book, as messages."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    problems = [] if list(folder.glob("searchindex*.js*")) else ["there is no index of the search"]
    for path, page in pages.items():
        name = path.relative_to(folder)
        # The page for a wrong address has a base of its own, and no links of the book.
        if name.name in ("404.html", "toc.html"):
            continue
        for target in page.loaded:
            if re.match(r"(https?:)?//", target):
                problems.append(f"{name}: loads {target}")
            elif not target.startswith("data:") and not (path.parent / target.split("?")[0]).exists():
                problems.append(f"{name}: there is no {target}")
        for target in page.links:
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            file, _, anchor = target.partition("#")
            to = (path.parent / urllib.parse.unquote(file)).resolve() if file else path.resolve()
            known = {page.resolve(): page for page in pages}.get(to)
            if not to.exists() or not to.is_relative_to(folder.resolve()):
                problems.append(f"{name}: the link {target} leads out of the book")
            elif anchor and known and urllib.parse.unquote(anchor) not in pages[known].anchors:
                problems.append(f"{name}: the link {target} leads to no heading")
    return problems if len(pages) > 1 else problems + [f"{folder} has no pages"]


def self_test():
    """Moves a made-up book, and breaks a made-up result."""
    def chapter(path, content):
        return {"Chapter": {"name": "n", "path": path, "content": content, "sub_items": []}}

    text = "[g](../GLOSSARY.md#tick) [`a.rs`](../crates/a.rs) [code](../crates/a.rs) ![p](p.svg)\n"
    code = "```text\n[g](../GLOSSARY.md)\n```\n"
    book = moved({"items": [
        chapter("start/a.md", text.replace("](", "](../") + code),
        chapter("../GLOSSARY.md", "[the argument](docs/rearm.md) `[x](docs/rearm.md)`"),
        chapter("rearm.md", "text"), "Separator"]})
    contents = {one["path"]: one["content"] for one in chapters(book["items"])}
    expected = {
        "start/a.md": "[g](../repository/glossary.md#tick) `crates/a.rs` code (`crates/a.rs`) "
                      "![p](../p.svg)\n" + code,
        "repository/glossary.md": "[the argument](../rearm.md) `[x](docs/rearm.md)`",
        "rearm.md": "text",
    }
    failed = [] if contents == expected else [f"moved: {contents}"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "searchindex.js").write_text("")
        (folder / "b.html").write_text('<h1 id="x">')
        good = '<a href="b.html#x">b</a><img src="p.svg">'
        (folder / "p.svg").write_text("")
        for page, wrong in [(good, ""), (good.replace("#x", "#y"), "no heading"),
                            (good.replace("b.html", "c.html"), "out of the book"),
                            (good.replace("p.svg", "q.svg"), "there is no"),
                            (good.replace("p.svg", "https://a.b/q.svg"), "loads")]:
            (folder / "a.html").write_text(page)
            found = check(folder)
            if not (found == [] if not wrong else any(wrong in message for message in found)):
                failed.append(f"check: {page}: {found}")
    for message in failed:
        print(f"book: self-test: {message}", file=sys.stderr)
    return 1 if failed else 0


def main(words):
    if words[:1] == ["supports"]:
        return 0
    if words == ["--self-test"]:
        return self_test()
    if words[:1] == ["--check"] and len(words) == 2:
        found = check(pathlib.Path(words[1]))
        for message in found:
            print(f"book: {message}", file=sys.stderr)
        return 1 if found else 0
    if words:
        print(__doc__, file=sys.stderr)
        return 2
    _, book = json.load(sys.stdin)
    json.dump(moved(book), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
