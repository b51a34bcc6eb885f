#!/usr/bin/env python3
"""ci/unsafe.py [--save] [--self-test]: UNSAFE.md, ci/unsafe.txt and the code agree.

1. Each SAFETY comment outside tests with more than one fact numbers them, from 1 on.
2. Each test and file that UNSAFE.md names exists.
3. ci/unsafe.txt counts the unsafe sites of each file, tests apart. Files that it does not have, and
   counts that differ, are errors. `--save` writes it.
4. UNSAFE.md names each file with unsafe code outside tests, or its folder. Where several files
   have one name, a part of its path names it that no other has, or its crate and its name in one
   section.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNTS = ROOT / "ci" / "unsafe.txt"
SITE = re.compile(r"\bunsafe\s*(\{|impl\b|fn\b|trait\b|extern\b)")


def sources():
    paths = [*ROOT.glob("crates/*/**/*.rs"), *ROOT.glob("crates/*/**/*.c"), *ROOT.glob("ci/**/*.rs"), *ROOT.glob("firmware/**/*.rs")]
    for path in sorted(paths):
        words = path.relative_to(ROOT).as_posix()
        if "/target/" not in words:
            yield words, path.read_text()


def is_test(name):
    return re.search(r"/(tests|benches|fuzz)/|/tests\.rs$|/testing\.rs$|models\.rs$", name) is not None


def code(line):
    """A line without its comment and its texts."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return line.split("//")[0]


def sites(text):
    return sum(len(SITE.findall(code(line))) for line in text.splitlines())


def comments(text):
    """Comments that begin with SAFETY, with the number of their line."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if re.match(r"\s*// SAFETY:", line):
            words = [line.split("SAFETY:", 1)[1]]
            for more in lines[at + 1:]:
                if not re.match(r"\s*//(?![/!])", more) or "SAFETY:" in more:
                    break
                words.append(more.strip()[2:])
            yield at + 1, " ".join(words)


def misnumbered(words):
    facts = [int(n) for n in re.findall(r"(?:^|[\s.;:])(\d+)\. ", words)]
    if not facts:
        # One fact needs no number.
        return ";" in words or re.search(r"\.\s+\w", words) is not None
    return facts != list(range(1, len(facts) + 1))


def table(counts):
    return "".join(f"{count:3} {name}\n" for name, count in counts.items())


def names(words, name):
    """Whether words name a path, and not only a longer one that ends or begins with it."""
    return re.search(rf"(?<![\w/.-]){re.escape(name)}(?![\w-])", words) is not None


def is_named(prose, name, others):
    """Whether UNSAFE.md names a file, or its folder, so that none of `others` is meant."""
    parts = pathlib.PurePath(name).parts
    for length in range(1, len(parts) + 1):
        end = "/".join(parts[-length:])
        if not any(("/" + other).endswith("/" + end) for other in others) and names(prose, end):
            return True
    crate = parts[1] if len(parts) > 1 else ""
    ends = ["/".join(parts[-length:]) for length in range(1, len(parts))]
    folders = ["/".join(parts[begin:end]) + "/" for end in range(1, len(parts)) for begin in range(end)]
    for section in re.split(r"^## ", prose, flags=re.M):
        heading = section.partition("\n")[0]
        of_crate = f"`{crate}`" in heading or f"`{crate}/" in section or f"crates/{crate}/" in section
        if of_crate and any(names(section, end) for end in ends):
            return True
        if of_crate and any(f"`{folder}`" in section for folder in folders):
            return True
    return False


def wrong(prose, table_of_sites, files):
    """What is wrong, as lines."""
    found = []
    counts = {}
    functions = set()
    words_of_code = set()
    for name, text in files:
        words_of_code.update(re.findall(r"\w+", text))
        functions.update(re.findall(r"\bfn (\w+)", text))
        functions.update(re.findall(r"\bmod (\w+)", text))
        if name.endswith(".c"):
            functions.update(re.findall(r"^[a-z][\w *]{0,80}?\b(\w+)\(", text, re.M))
            continue
        for line, words in comments(text):
            if not is_test(name) and misnumbered(words):
                found.append(f"{name}:{line}: number the facts of this SAFETY comment from 1 on")
        if not is_test(name) and sites(text):
            counts[name] = sites(text)
    for cell in re.findall(r"`([a-z][a-z0-9_]*_[a-z0-9_]+)`", prose):
        known = cell in functions or any(pathlib.PurePath(name).stem == cell for name, _ in files)
        if not known and cell not in words_of_code:
            found.append(f"UNSAFE.md: there is no `{cell}` in the code")
    for path in re.findall(r"`((?:\w+/)+\w+\.rs)`", prose):
        if not any(("/" + name).endswith("/" + path) for name, _ in files):
            found.append(f"UNSAFE.md: there is no file {path}")
    for name in counts:
        if not is_named(prose, name, [other for other, _ in files if other != name]):
            found.append(f"UNSAFE.md: {name} has unsafe code and is not named")
    if table(counts) != table_of_sites:
        found.append("ci/unsafe.txt: the counts are not those of the code: ci/unsafe.py --save")
    return found, counts


def self_test():
    good = "// SAFETY: 1. It is there. 2. It stays.\nunsafe { read(p) }\nfn a_good_test() {}\n"
    name = "crates/a/src/b.rs"
    page, marks = f"`{name}`: `a_good_test`\n", table({name: 1})
    assert wrong(page, marks, [(name, good)])[0] == []
    for broken, text in [
        (page, good.replace("1. ", "")),
        (page, good.replace("2. ", "3. ")),
        (page, good.replace("a_good_test", "a_test")),
        (page, good + "unsafe impl Send for X {}\n"),
        (page.replace("b.rs`:", "c.rs`:"), good),
        ("nothing", good),
    ]:
        assert wrong(broken, marks, [(name, text)])[0], (broken, text)
    # Two crates have a file of one name: a section of the other crate does not name this one.
    two = [(name, good), ("crates/c/src/b.rs", good)]
    marks = table({name: 1, "crates/c/src/b.rs": 1})
    for prose, findings in [
        ("## `a`: `b.rs`\n\n## `c`: `b.rs`\n", 0),
        ("## `a`: `b.rs`\n", 1),
        ("`crates/a/src/b.rs`, `c/src/b.rs`\n", 0),
        ("`src/b.rs`\n", 2),
        ("`other_b.rs`\n", 2),
        ("## `a`: `src/`\n\n## `c`: `xb.rs`\n", 1),
    ]:
        found = wrong(prose, marks, two)[0]
        assert len(found) == findings, (prose, found)
    assert sites('let x = "unsafe {"; // unsafe {') == 0


def main():
    if "--self-test" in sys.argv:
        self_test()
    page, files = (ROOT / "UNSAFE.md").read_text(), list(sources())
    if "--save" in sys.argv:
        COUNTS.write_text(table(wrong(page, "", files)[1]))
    found, counts = wrong(page, COUNTS.read_text(), files)
    for line in found:
        print(line, file=sys.stderr)
    if found:
        sys.exit(f"unsafe: {len(found)} findings")
    print(f"unsafe: {sum(counts.values())} sites in {len(counts)} files, as UNSAFE.md and ci/unsafe.txt say")


main()
