#!/usr/bin/env python3
"""The public API of each library crate as a text, compared with the one that is checked in.

    ci/api.py             compares `api/CRATE.txt` with the documentation that rustdoc makes; exit
                          code 1 where they differ
    ci/api.py --save      writes them
    ci/api.py --self-test checks itself against a made-up page

A listing has one line for each public item, its methods, fields, variants and the traits of ours
and of the standard library that it implements. Hidden items, and what the compiler implements by
itself, are not in it. So a change of the API is a line of the commit that makes it.
"""
import argparse
import difflib
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys

CRATES = ["nodes", "core", "collections", "embassy", "", "threads", "async", "testkit"]
PAGE = re.compile(r"^(struct|enum|union|trait|fn|macro|type|constant|static|primitive)\.(.+)\.html$")
DECLARATION = re.compile(r'<pre class="rust item-decl"><code>(.*?)</code></pre>', re.S)
MEMBER = re.compile(r'<h4 class="code-header">(.*?)</h4>', re.S)
TRAIT = re.compile(r'<h3 class="code-header">(.*?)</h3>', re.S)
VARIANT = re.compile(r'<section id="variant\.[^"]+" class="variant">.*?<h3 class="code-header">(.*?)</h3>', re.S)
FIELD = re.compile(r'<span id="structfield\.[^"]+".*?</a><code>(.*?)</code></span>', re.S)


def text(markup):
    """What a reader sees, on one line."""
    markup = re.sub(r'<span class="comment">.*?</span>', "", markup, flags=re.S)
    plain = html.unescape(re.sub(r"<[^>]*>", "", markup))
    plain = re.sub(r"\s+", " ", plain).strip()
    plain = re.sub(r"([(\[<]) ", r"\1", plain)
    plain = re.sub(r",? ([)\]>])", r"\1", plain).replace("- >", "->").replace("= >", "=>")
    return re.sub(r"([>)\]])(where|pub)\b", r"\1 \2", plain)


def section(page, name):
    """The part of a page with that list."""
    begin = page.find(f'id="{name}"')
    if begin < 0:
        return ""
    others = [page.find(f'id="{other}"', begin + 1) for other in LISTS]
    return page[begin:min([at for at in others if at > begin], default=len(page))]


LISTS = ["implementations-list", "trait-implementations-list", "synthetic-implementations-list",
         "blanket-implementations-list", "implementors-list", "foreign-impls"]


def lines(kind, name, page):
    """The lines of one item."""
    found = DECLARATION.search(page)
    if not found:
        return []
    declaration = text(found[1])
    if kind != "macro" and kind != "trait":
        declaration = declaration.split(" { ")[0]
    members = []
    if kind != "trait":
        members += [text(field) for field in FIELD.findall(page)]
        members += [text(variant) for variant in VARIANT.findall(page)]
        members += [text(member) for member in MEMBER.findall(section(page, "implementations-list"))]
        traits = [text(trait) for trait in TRAIT.findall(section(page, "trait-implementations-list"))]
        members += [trait for trait in traits if trait.startswith(("impl", "unsafe impl"))]
    return [f"{name}: {declaration}"] + [f"    {member}" for member in sorted(set(members))]


def listing(folder):
    """The API of the crate whose documentation is in `folder`."""
    found = []
    for path in folder.rglob("*.html"):
        page = PAGE.match(path.name)
        if page:
            module = "::".join(path.relative_to(folder.parent).parts[:-1])
            found.append((f"{module}::{page[2]}", page[1], path))
    # A page without lines leads to an item of a private module that is shown elsewhere.
    items = (lines(kind, name, path.read_text()) for name, kind, path in sorted(found))
    return "".join("\n".join(item) + "\n" for item in items if item)


def self_test():
    page = """<pre class="rust item-decl"><code>pub struct Queue&lt;T&gt; { <span class="comment">/* private fields */</span> }</code></pre>
        <div id="implementations-list"><h4 class="code-header">pub fn <a>insert</a>(
            &amp;mut self,
            value: T,
        ) -&gt; Key</h4></div>
        <div id="trait-implementations-list"><h3 class="code-header">impl&lt;T&gt; Drop for Queue&lt;T&gt;</h3></div>
        <div id="blanket-implementations-list"><h3 class="code-header">impl&lt;T&gt; From&lt;T&gt; for T</h3></div>"""
    expected = ["queue::Queue: pub struct Queue<T>", "    impl<T> Drop for Queue<T>", "    pub fn insert(&mut self, value: T) -> Key"]
    got = lines("struct", "queue::Queue", page)
    sys.exit(0 if got == expected else f"api: {got}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        self_test()
    root = pathlib.Path(__file__).resolve().parent.parent
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "api"
    names = [f"tickwright-{crate}" if crate else "tickwright" for crate in CRATES]
    packages = [argument for name in names for argument in ("-p", name)]
    # rustdoc leaves the pages of items behind that are gone.
    shutil.rmtree(target, ignore_errors=True)
    words = ["cargo", "doc", "-q", "--no-deps", "--features", "tickwright/record", "--target-dir", target, *packages]
    subprocess.run(words, cwd=root, check=True)
    failed = False
    for name in names:
        made = listing(target / "doc" / name.replace("-", "_"))
        kept = root / "api" / f"{name}.txt"
        if options.save:
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(made)
        elif not kept.exists() or kept.read_text() != made:
            failed = True
            before = kept.read_text() if kept.exists() else ""
            changed = difflib.unified_diff(before.splitlines(), made.splitlines(), str(kept), "as documented", n=0, lineterm="")
            print("\n".join(changed))
    if failed:
        sys.exit("api: the public API has changed: say so in CHANGELOG.md, and run `ci/api.py --save`")
    print(f"api: {len(names)} crates")


main()
