#!/usr/bin/env python3
"""What can be checked of pages and comments without reading them. rumdl checks the width of pages,
their links and headings (.rumdl.toml). First each check is broken in a made-up tree, and must fail.

- README.md has at most 120 lines. The summary of the book lists each page.
- Words of pages, strings of short sentences, and sentences that begin with "So" are no more than
  they were (`BOUNDS`): lower a bound when a change makes its number fall.
- Comments of sources, and the rows of their tables, have at most 100 columns. A heading in a comment
  is a line.
- A fact, invariant, promise, ground rule or clause that is named by its number is there.
- Each code block of README and book is compiled, run or parsed by some test.
- Numbers and tables of pages are right: clauses, scenarios, structures, crates, ratios, terms.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

COLUMNS, README_LINES = 100, 120
# What there may be of it. A string is two or more sentences of at most seven words, one after the
# other. "So" counts in pages and in comments of Rust.
BOUNDS = {"words of Markdown": 30_000, "strings of short sentences": 0, 'sentences that begin with "So"': 81}
SHORT = 7
CONTRACT = "crates/timers/tickwright-core/src/contract.rs"
FAMILIES = "crates/timers/tickwright-core/src/structures.rs"
WORDS = {word: n for n, word in enumerate("zero one two three four five six seven eight nine ten".split())}


class Tree:
    """The files of a checkout, by their paths from its top."""

    def __init__(self, root, bounds):
        self.root, self.bounds = pathlib.Path(root), bounds
        git = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(git, capture_output=True, check=True).stdout.decode().split("\0")
        # A link names a file that is listed itself.
        self.files = sorted(p for p in set(listed) if p and (self.root / p).is_file() and not (self.root / p).is_symlink())
        self.known = {}

    def text(self, path):
        """The text of a file, empty if there is none."""
        if path not in self.known:
            self.known[path] = (self.root / path).read_text(encoding="utf-8") if path in self.files else ""
        return self.known[path]

    def ends(self, *ends):
        return [path for path in self.files if path.endswith(ends)]

    def pages(self):
        """The pages of the book and of the top folder."""
        return [path for path in self.ends(".md") if path.startswith("docs/") or "/" not in path]


def split(text):
    """A page as prose, (number, line), and as blocks: (number, words of the fence, lines)."""
    prose, blocks, fence = [], [], None
    text = re.sub(r"<!--.*?-->", lambda found: re.sub(r"[^\n]", "", found[0]), text, flags=re.S)
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r"\s*(```+|~~~+)(.*)", line)
        if found and fence is None:
            fence = found[1]
            blocks.append((number, re.findall(r"[^\s,]+", found[2]), []))
        elif found and found[1].startswith(fence) and not found[2].strip():
            fence = None
        elif fence is None:
            prose.append((number, line))
        else:
            blocks[-1][2].append(line)
    return prose, blocks


def widths(tree):
    """README and comments that are too long, and pages that the summary lacks."""
    if len(tree.text("README.md").splitlines()) > README_LINES:
        yield f"README.md: more than {README_LINES} lines"
    for path in tree.ends(".rs", ".c", ".h", ".cc", ".py", ".sh", ".toml", ".ci/run", "Makefile", "suppressions"):
        is_rust_or_c = path.endswith((".rs", ".c", ".h", ".cc"))
        mark, texts = (r"//|^\s*/?\* ", r'"(?:\\.|[^"\\])*"') if is_rust_or_c else (r"(?:^|\s)#", r"'[^']*'|\"[^\"]*\"")
        for number, line in enumerate(tree.text(path).split("\n"), 1):
            if len(line) > COLUMNS and re.search(mark, re.sub(texts, "", line)):
                yield f"{path}:{number}: a comment of more than {COLUMNS} columns"
            if re.match(r"\s*//[/!] # (Errors|Panics|Safety) \S", line):
                yield f"{path}:{number}: text after a heading"
    summary = "docs/SUMMARY.md"
    listed = {os.path.normpath(f"docs/{to}") for to in re.findall(r"\]\(([^)]+)\)", tree.text(summary))}
    for path in tree.ends(".md"):
        if path.startswith("docs/") and path not in listed | {summary}:
            yield f"{path}: {summary} does not list it"


def sentences(text):
    """The sentences of a text of one paragraph, without its code."""
    return re.split(r"(?<=[.!?])\s+(?=[A-Z*`\[])", re.sub(r"`[^`]*`", "`x`", text))


def paragraphs(text):
    """The paragraphs and items of a page, apart from blocks, headings and tables."""
    lines = [re.sub(r"^\s*(?:[-*]|\d+\.) ", "\n\n", line) for _, line in split(text)[0] if not re.match(r"\s*[|#]", line)]
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", "\n".join(lines)) if part.strip()]


def style(tree):
    """More words, strings of short sentences, or sentences that begin with "So" than there were."""
    pages = [tree.text(path) for path in tree.ends(".md")]
    texts = [part for page in pages for part in paragraphs(page)]
    remarks = [" ".join(lines) for path in tree.ends(".rs") for _, lines in comments(tree.text(path))]
    short = ["".join("s" if len(one.split()) <= SHORT else "l" for one in sentences(text)) for text in texts]
    found = [sum(len(page.split()) for page in pages), sum(len(re.findall("ss+", marks)) for marks in short),
             sum(len(re.findall(r"(?:^|[.!?] )So\b", text)) for text in texts + remarks)]
    yield from (f"{count} {what}, and at most {bound} are allowed: join what belongs together, or cut"
                for (what, bound), count in zip(tree.bounds.items(), found) if count > bound)


def comments(text):
    """The comments of a Rust file, neighboring lines joined, with their first line."""
    found, last = [], -1
    for number, line in enumerate(text.split("\n"), 1):
        if match := re.match(r"\s*//[/!]? ?(.*)", line):
            if number == last + 1:
                found[-1][1].append(match[1])
            else:
                found.append((number, [match[1]]))
            last = number
    return found


# A number begins an item of a list, or a fact within a SAFETY comment.
ITEM = re.compile(r"(?:^\s*(?:SAFETY:.*?)?|(?<=[;:.,] )|(?<= and ))(\d+)\. (?=\S)")
NUMBERS = r"\d+(?:(?:, | and | or | to )\d+)*"
NAMED = re.compile(rf"\b(fact|invariant|promise|clause|ground rule)s? ({NUMBERS})(?: of (?:the )?`([^`]+)`)?(?!\S*\.\d)", re.I)


def items(tree, path, kind, owner):
    """The numbers that a reference from `path` to something of `owner` may name."""
    def numbered(paths):
        texts = [(p, line) for p in paths for line in tree.text(p).split("\n")]
        lines = [re.sub(r"^\s*//[/!]? ?", "", line) for p, line in texts if p.endswith(".md") or "//" in line]
        return {int(number) for line in lines for number in ITEM.findall(line)}

    if kind == "clause":
        return numbered([CONTRACT])
    if owner and owner.endswith((".md", ".rs")):
        return numbered([file for file in tree.files if f"/{file}".endswith(f"/{owner}")])
    if owner:
        documented = r"((?:^[ \t]*(?://[/!]|#\[).*\n)+)^[ \t]*pub(?:\([a-z]+\))? unsafe trait "
        texts = [re.search(rf"{documented}{owner.split('::')[-1]}\b", tree.text(p), re.M) for p in tree.ends(".rs")]
        return {int(number) for text in texts if text for number in re.findall(r"^\s*/// (\d+)\. ", text[1], re.M)}
    parents = [str(parent) for parent in pathlib.PurePath(path).parents if "/src" in str(parent)]
    return numbered([path, *(parent + end for parent in parents for end in (".rs", "/mod.rs"))])


def references(tree):
    """Facts, invariants, promises and clauses that a text names and that are not there."""
    for path in tree.ends(".rs", ".md"):
        if path == "CHANGELOG.md" or path.startswith("records/"):
            continue
        texts = [(n, " ".join(lines)) for n, lines in comments(tree.text(path))] if path.endswith(".rs") else split(tree.text(path))[0]
        for number, text in texts:
            for kind, said, owner in NAMED.findall(text):
                numbers = [int(n) for n in re.findall(r"\d+", said)]
                if " to " in said:
                    numbers = range(numbers[0], numbers[-1] + 1)
                if missing := set(numbers) - items(tree, path, kind.lower(), owner):
                    yield f"{path}:{number}: {kind} {min(missing)}{f' of `{owner}`' * bool(owner)} is not there"


def blocks(tree):
    """Blocks of README and book that no test compiles, runs or parses."""
    included = {page for path in tree.ends(".rs") if "cfg(doctest)" in tree.text(path) or path.endswith("/pages.rs")
                for page in re.findall(r'#\[doc = include_str!\("(?:\.\./)+([^"]+\.md)"\)\]', tree.text(path))}
    # Pages for other targets show lines of a program that is built for them.
    shown = {"docs/firmware.md": "firmware/src/bin/tickless.rs", "docs/start/web.md": "crates/timers/tickwright-async/examples/page.rs"}
    for path in tree.pages():
        for number, words, lines in split(tree.text(path))[1] if "README.md" == path or "/" in path else []:
            language, text, what = words[0] if words else "", "\n".join(lines), None
            if not text.strip():
                what = "an empty block"
            elif language == "rust" and path in shown:
                if re.sub(r"(?m)^ +", "", text) not in re.sub(r"(?m)^ +", "", tree.text(shown[path])):
                    what = f"lines that are not in {shown[path]}"
            elif language == "rust":
                if path not in included or {"ignore", "text"} & set(words):
                    what = "Rust that no test compiles: include the page under cfg(doctest) in a crate's lib.rs"
            elif language == "c":
                if f"/{path}" not in tree.text("ci/ctest_installed.sh"):
                    what = "C that ci/ctest_installed.sh does not compile"
            elif language in ("json", "toml"):
                try:
                    (json if language == "json" else tomllib).loads(text)
                except ValueError as error:
                    what = f"{language} that does not parse: {error}"
            elif language in ("sh", "bash", "console"):
                what = next(filter(None, (command(tree, line, language) for line in lines)), None)
            elif language != "text":
                what = f"no check for '{language}'"
            if what:
                yield f"{path}:{number}: {what}"


def command(tree, line, language):
    """What is not there of a command of the checkout. The lab's test parses `tickwright ...`."""
    if language == "console" and not line.startswith("$ "):
        return None
    script = re.match(r"(?:\$ )?(ci/[\w.-]+)", line)
    if script and script[1] not in tree.files:
        return f"'{script[1]}' is not there"
    package, example = re.search(r"cargo .*(?:-p|--package) ([\w-]+)", line), re.search(r"cargo .*--example (\w+)", line)
    if package and not tree.ends(f"{package[1]}/Cargo.toml"):
        return f"there is no package '{package[1]}'"
    if example and not tree.ends(f"examples/{example[1]}.rs"):
        return f"there is no example '{example[1]}'"
    return None


def counts(tree):
    """Numbers in prose that can be counted; tables of clauses, structures and terms."""
    clauses = re.findall(r"^//[/!] (\d+)\. `(\w+)`:", tree.text(CONTRACT), re.M)
    families = set(re.findall(r'^\s*\w+!?\s*.*?"([a-z0-9-]+)"', tree.text(FAMILIES), re.M))
    scenarios = [path for path in tree.files if re.fullmatch(r"scenarios/[^/]+\.toml", path)]
    for path in tree.pages():
        text = tree.text(path) if path != "CHANGELOG.md" else ""
        for number, line in split(text)[0]:
            for phrase, right in [(r"(?:numbered )?clauses", len(clauses)), (r"scenarios", len(scenarios))]:
                for before, said in re.findall(rf"\b(all )?(\d+|{'|'.join(WORDS)}) {phrase}\b", line):
                    if (before or "clauses" in phrase) and WORDS.get(said, said) not in (right, str(right)):
                        yield f"{path}:{number}: '{said} {phrase}', but there are {right}"
        rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", text, re.M)
        if rows and rows != clauses:
            yield f"{path}: the table of clauses differs from {CONTRACT}"
        rows = set(re.findall(r"^\| `([a-z0-9-]+)` \| `\w+[^`]*` \|", text, re.M))
        if {"list", "wheel", "ladder"} <= rows:
            yield from (f"{path}: the table of structures has no row `{name}`" for name in sorted(families - rows))
    cells = re.findall(r"^\| (?!term)([^|]+) \|", tree.text("GLOSSARY.md"), re.M)
    terms = [re.sub(r" \(`[^)]*`\)", "", term).strip() for cell in cells for term in re.split(r"[,/]", cell)]
    yield from (f"GLOSSARY.md: '{term}' stands in two rows" for term in sorted(set(terms)) if terms.count(term) > 1)


def crates(tree):
    """DESIGN has a row for each crate, with the crates that its manifest names."""
    right, said, crate = {}, {}, None
    for path in tree.files:
        if re.fullmatch(r"crates/\w+/[\w-]+/Cargo\.toml", path):
            manifest = tomllib.loads(tree.text(path))
            tables = [manifest, *manifest.get("target", {}).values()]
            names = {name for table in tables for name in table.get("dependencies", {}) if name.startswith("tickwright")}
            right[manifest["package"]["name"].removeprefix("tickwright-")] = {n.removeprefix("tickwright-") for n in names}
    head, *rows = (re.findall(r"^  crate +builds on +what it holds\n(?:  .*\n)+", tree.text("DESIGN.md"), re.M) or [""])[0].splitlines() or [""]
    for row in rows:
        crate = row[:head.index("builds on")].strip() or crate
        said.setdefault(crate, set()).update(re.findall(r"[\w-]{2,}", row[head.index("builds on"):head.index("what it")]))
    for crate in sorted(right.keys() | said.keys() if head else []):
        if said.get(crate) != right.get(crate):
            yield f"DESIGN.md: crate `{crate}` builds on {right.get(crate, 'nothing: there is none')}"


def ratios(tree):
    """README's ratios are those of the two records that the sentence before the table names."""
    text = tree.text("README.md")
    found = re.search(r"\| work, on (.+) timers \|.*\n.*\n((?:\|.*\n)+)", text)
    records = re.findall(r"`(records/[\w-]+)`", text[:found.start()])[-2:] if found else []
    number = r"\s+[\d.]+"
    hints = r"(?: \+ hints)?"
    row = (rf"^ ([\w-]+)(?:, with hints)?\s+(\d+[kM]?)\s+(?:published\s+)?\S+{hints}{number}\s+\S+{hints}{number}"
           rf"\s+([\d.]+){number}{number}(?:{number}|\s+-)\s+[a-zA-Z\n]")
    for at, record in enumerate(records, 1):
        measured = {(work, n): ratio for work, n, ratio in re.findall(row, tree.text(f"{record}.txt"), re.M)}
        for line in found[2].splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            work = re.search(r"`([\w-]+)`", cells[0])[1]
            right = " / ".join(measured.get((work, n), "-") for n in found[1].split(" / "))
            if cells[at] != right:
                yield f"README.md: {work} is {right} in {record}"


def problems(root, bounds=BOUNDS):
    tree = Tree(root, bounds)
    return [message for check in (widths, style, references, blocks, counts, crates, ratios) for message in check(tree)]


LIB, LONG = "crates/timers/tickwright-core/src/lib.rs", "word " * 25
GOOD = {
    "README.md": "# A\n\nThe two clauses.\nIn `records/one` and `records/two`:\n\n| work, on 1k / 1M timers | one | two |\n"
                 "|---|---|---|\n| hold (`hold`) | 0.84 / - | 0.85 / - |\n",
    "DESIGN.md": "```text\n  crate  builds on  what it holds\n  core   -          all\n  lab    core       more\n```\n",
    "GLOSSARY.md": "| term | meaning |\n|---|---|\n| tick (`Tick`) | a |\n| head, claim (of a node) | b |\n| claim | c |\n",
    "docs/SUMMARY.md": "- [A](a.md)\n- [F](firmware.md)\n- [Later]()\n",
    "docs/a.md": "# A page\n\n```rust\nfn main() {}\n```\n\n```sh\nci/pages.sh\n```\n\n| 1 | `one` | a |\n| 2 | `two` | b |\n",
    "docs/firmware.md": "```rust\nlet a = 1;\n```\n",
    "firmware/src/bin/tickless.rs": "fn f() {\n    let a = 1;\n}\n",
    "crates/timers/tickwright-core/Cargo.toml": '[package]\nname = "tickwright-core"\n',
    "crates/lab/tickwright-lab/Cargo.toml": '[package]\nname = "tickwright-lab"\n[dependencies]\ntickwright-core = "1"\n',
    "records/one.txt": " hold  1k  flat/slab  8.6  orx  10  0.84  0.80  1.00  0.90  not shown\n",
    "records/two.txt": " hold  1k  flat/slab  8.6  orx  10  0.85  0.80  1.00  0.90  held\n",
    "ci/pages.sh": "#!/bin/sh\n# Short.\n",
    CONTRACT: "//! 1. `one`: a.\n//! 2. `two`: b.\n",
    LIB: '#[cfg(doctest)]\n#[doc = include_str!("../../../../docs/a.md")]\nstruct A;\n/// Keeps clause 2.\nfn a() {}\n'
         "/// # Safety\n/// 1. It is linked.\npub unsafe trait Kept {}\n"
         "// SAFETY: 1. linked (promise 1 of `Kept`); 2. alone, by fact 1.\n",
}
# Each break: a file, what is replaced, by what, and a word of the message.
BREAKS = [
    ("README.md", "# A\n", "# A\n" + "line\n" * 120, "more than 120"),
    ("docs/a.md", "# A page\n", "# A page\n\n" + "word " * 9, "words of Markdown"),
    ("docs/a.md", "# A page\n", "# A page\n" + "\nIt is. It was.\n", "strings of short"),
    ("docs/a.md", "# A page\n", "# A page\n\nIt is so. So be it.\n", "begin with"),
    (LIB, "/// Keeps", f"/// {LONG}\n/// Keeps", "100 columns"),
    (LIB, "/// Keeps", f"/// | {LONG}|\n/// Keeps", "100 columns"),
    (LIB, "struct A;", f"struct A; // {LONG}", "100 columns"),
    ("ci/pages.sh", "# Short.", f"# {LONG}", "100 columns"),
    (LIB, "# Safety\n/// 1.", "# Safety 1.", "after a heading"),
    ("docs/SUMMARY.md", "- [A](a.md)\n", "", "does not list it"),
    (LIB, "clause 2", "clause 3", "clause 3 is not there"),
    (LIB, "promise 1", "promise 2", "promise 2 of `Kept`"),
    (LIB, "fact 1", "fact 7", "fact 7 is not there"),
    (LIB, "docs/a.md", "docs/b.md", "no test compiles"),
    ("docs/a.md", "```rust", "```rust,ignore", "no test compiles"),
    ("docs/a.md", "```rust", "```", "no check for ''"),
    ("docs/a.md", "```rust", "```c", "ci/ctest_installed.sh"),
    ("docs/a.md", "ci/pages.sh", "ci/other.sh", "is not there"),
    ("docs/a.md", "ci/pages.sh", "cargo run -p none", "no package"),
    ("docs/a.md", "```sh", "```toml", "does not parse"),
    ("docs/a.md", "```sh", "```json", "does not parse"),
    ("docs/firmware.md", "a = 1", "a = 2", "not in firmware"),
    ("docs/a.md", "| 1 | `one` | a |\n", "", "differs from"),
    ("README.md", "two clauses", "three clauses", "there are 2"),
    ("DESIGN.md", "  lab    core       more\n", "", "crate `lab` builds on"),
    ("DESIGN.md", "  lab    core", "  lab    -   ", "crate `lab` builds on"),
    ("DESIGN.md", "  lab", "  lib", "there is none"),
    ("README.md", "0.85 / -", "0.75 / -", "0.85"),
    ("GLOSSARY.md", "| head", "| tick", "two rows"),
]


def self_test(folder):
    """The made-up tree holds, and each break of it is seen."""
    def said(files):
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        return problems(folder, dict(zip(BOUNDS, (111, 1, 0))))

    subprocess.run(["git", "init", "-q", folder], check=True)
    assert said(GOOD) == [], said(GOOD)
    for path, old, new, word in BREAKS:
        assert old in GOOD[path], (path, old)
        found = said({**GOOD, path: GOOD[path].replace(old, new, 1)})
        assert any(word in message for message in found), (path, old, new, found)


with tempfile.TemporaryDirectory() as name:
    self_test(pathlib.Path(name))
found = problems(pathlib.Path(__file__).resolve().parent.parent)
sys.exit("\n".join(found) or print("pages: all hold"))
