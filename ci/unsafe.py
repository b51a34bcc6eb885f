#!/usr/bin/env python3
"""ci/unsafe.py [--save]: UNSAFE.md and the code agree.

1. A SAFETY comment with more than one fact numbers them, from 1 on.
2. The tests, functions and files that UNSAFE.md and the proof of the shards name exist.
3. UNSAFE.md names each file with unsafe code outside of tests. If other such files have its name, a
   longer part of its path names it, or a section about its crate names it or its folder.
4. Its last table counts the unsafe sites of each crate, tests apart; `--save` writes it.

Each run first breaks each rule in a made-up file, and requires that it is seen. That each block has
a SAFETY comment, Clippy requires.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "UNSAFE.md"
TABLE = re.compile(r"(?<=\n```text\n)(?: *\d+ .*\n)+(?=```\n$)")
PROOF = "crates/timers/tickwright/src/shard/proof.rs"
SITE = re.compile(r"\bunsafe\s*(?:\{|impl\b|fn\b|trait\b|extern\b)")
TEST = re.compile(r"/(tests|benches|fuzz)/|/tests\.rs$|/testing\.rs$|models\.rs$")


def sites(text):
    """Unsafe sites outside of comments and of texts."""
    lines = [re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0] for line in text.splitlines()]
    return sum(len(SITE.findall(line)) for line in lines)


def misnumbered(text):
    """The lines of SAFETY comments whose facts do not count from 1."""
    for match in re.finditer(r"^[ \t]*// SAFETY:(.*(?:\n[ \t]*//(?![/!])(?!.*SAFETY:).*)*)", text, re.M):
        words = re.sub(r"\n[ \t]*//", " ", match[1])
        facts = [int(number) for number in re.findall(r"(?:^|[\s.;:])(\d+)\. ", words)]
        single = not facts and ";" not in words and not re.search(r"\.\s+\w", words)
        if not single and facts != list(range(1, len(facts) + 1)) or not (facts or single):
            yield text.count("\n", 0, match.start()) + 1


def is_named(prose, name, others):
    """Whether UNSAFE.md names the file and no twin, or the file or its folder in a section about
    its crate."""
    def names(text, words):
        return re.search(rf"(?<![\w/.-]){re.escape(words)}(?![\w-])", text)

    def ends(twins):
        all_ends = ["/".join(parts[-length:]) for length in range(1, len(parts) + 1)]
        return [end for end in all_ends if not any(twin.endswith(f"/{end}") for twin in twins)]

    parts = name.split("/")
    twins = set(others) - {name}
    of_crate = ends(twin for twin in twins if twin.split("/")[2] == parts[2])
    folders = [f"`{'/'.join(parts[first:last])}/`" for last in range(len(parts)) for first in range(last)]
    sections = [text for text in re.split(r"^## ", prose, flags=re.M) if names(text, parts[2])]
    return (any(names(prose, end) for end in ends(twins))
            or any(names(text, end) for text in sections for end in of_crate)
            or any(folder in text for text in sections for folder in folders))


def wrong(pages, files):
    """What is wrong, as lines, and the counts of sites."""
    counts = {name: sites(text) for name, text in files.items() if name.endswith(".rs") and not TEST.search(name)}
    counts = {name: count for name, count in counts.items() if count}
    words = set(re.findall(r"\w+", " ".join([*files, *files.values()])))
    found = [f"{name}:{line}: the facts of this SAFETY comment do not count from 1"
             for name in files if not TEST.search(name) for line in misnumbered(files[name])]
    for page, prose in pages.items():
        for cell in re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+)+)`", prose):
            if cell not in words:
                found.append(f"{page}: there is no `{cell}` in the code")
        for path in re.findall(r"`([\w./-]+\.(?:rs|sh|py|c|cc|h))`", prose):
            if not any(f"/{name}".endswith(f"/{path}") for name in files):
                found.append(f"{page}: there is no file {path}")
    found += [f"UNSAFE.md: {name} has unsafe code and is not named"
              for name in counts if not is_named(pages["UNSAFE.md"], name, counts)]
    of_crate = collections.Counter()
    for name, count in counts.items():
        of_crate["/".join(name.split("/")[:3 if name.startswith("crates") else 2])] += count
    table = "".join(f"{count:3} {crate}\n" for crate, count in sorted(of_crate.items()))
    if (TABLE.search(pages["UNSAFE.md"]) or [""])[0] != table:
        found.append(f"UNSAFE.md: the last table is to say, after a look at what is new (ci/unsafe.py --save):\n{table}")
    return found, table


def self_test():
    good = "// SAFETY: 1. It is there. 2. It stays.\nunsafe { read(p) }\nfn a_good_test() {}\n"
    name, twin = "crates/w/a/src/b.rs", "crates/w/a/src/d/b.rs"
    page = "## `a`\n\n`src/b.rs`: `a_good_test`\n"
    said = lambda prose, files, count=1: wrong({"UNSAFE.md": f"{prose}\n```text\n{count:3} crates/w/a\n```\n"}, files)[0]
    assert said(page, {name: good}) == [], said(page, {name: good})
    for prose, text in [(page, good.replace("1. ", "")), (page, good.replace("2. ", "3. ")), (page, good * 2),
                        (page, good.replace("a_good", "a")), (page.replace("b.rs", "c.rs"), good),
                        ("## `a`: `xb.rs`", good), ("", good)]:
        assert said(prose, {name: text}), (prose, text)
    assert len(said("## `a`: `src/b.rs`\n", {name: good, twin: good}, 2)) == 1
    assert len(said("## `c`: `b.rs`\n", {name: good, twin: good}, 2)) == 2
    assert said("## `a`: `src/`\n", {name: good, twin: good}, 2) == []
    assert sites('let x = "unsafe {"; // unsafe {') == 0


self_test()
paths = [path for folder in ("crates", "ci", "firmware") for path in sorted(ROOT.glob(f"{folder}/**/*"))
         if path.suffix in (".rs", ".c", ".cc", ".h", ".sh", ".py")]
files = {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths if "target" not in path.parts[len(ROOT.parts):]}
pages = {"UNSAFE.md": PAGE.read_text(), PROOF: files.pop(PROOF)}
if "--save" in sys.argv:
    pages["UNSAFE.md"] = TABLE.sub(wrong(pages, files)[1], pages["UNSAFE.md"])
    PAGE.write_text(pages["UNSAFE.md"])
found, table = wrong(pages, files)
sys.exit("\n".join(found) or print(f"unsafe: {sum(int(n) for n in re.findall(r'[0-9]+ ', table))} sites, as UNSAFE.md says"))
