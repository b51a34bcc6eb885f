"""A small tree that every check accepts, and breaks of it that a check must see."""
import subprocess

GOOD = {
    "README.md": (
        "# A\n\nThe two clauses and [more](docs/a.md#a-part). See [the map](docs/SUMMARY.md).\n"
        "In `records/one` and `records/two`:\n\n"
        "| work, on 1k / 1M timers | one | two |\n|---|---|---|\n| hold (`hold`) | 0.84 / - | 0.85 / - |\n"
    ),
    "UNSAFE.md": "The test `a_timer_is_kept` in `lib.rs` fails.\n",
    "crates/tickwright/src/shard/proof.rs": "//! The test `a_timer_is_kept` fails.\n",
    "docs/SUMMARY.md": "- [A](a.md)\n- [Later]()\n",
    "docs/a.md": (
        "# A page\n\n## A part\n\n```rust\nfn main() {}\n```\n\n```sh\nci/pages.sh\n```\n\n"
        "| a row | " + "may be long " * 12 + "|\n\n| 1 | `one` | a |\n| 2 | `two` | b |\n"
    ),
    "DESIGN.md": (
        "# D\n\n```text\n  crate  builds on  what it holds\n  core   -          all\n  lab    core       more\n```\n"
    ),
    "GLOSSARY.md": "| term | meaning |\n|---|---|\n| tick (`Tick`) | a |\n| head, claim (of a node) | b |\n| claim | c |\n",
    "crates/tickwright-core/Cargo.toml": '[package]\nname = "tickwright-core"\n',
    "crates/tickwright-lab/Cargo.toml": (
        '[package]\nname = "tickwright-lab"\n[dependencies]\ntickwright-core = "1"\n'
    ),
    "records/one.txt": " hold  1k  flat/slab  8.6  orx  10  0.84  0.80  1.00  0.90  not shown\n",
    "records/two.txt": " hold  1k  flat/slab  8.6  orx  10  0.85  0.80  1.00  0.90  held\n",
    "ci/pages.sh": "#!/bin/sh\n# Short.\n",
    "crates/tickwright-core/src/contract.rs": "//! 1. `one`: a.\n//! 2. `two`: b.\n",
    "crates/tickwright-core/src/lib.rs": (
        '#[cfg(doctest)]\n#[doc = include_str!("../../../docs/a.md")]\nstruct A;\n'
        "/// Keeps clause 2.\nfn a_timer_is_kept() {}\n"
        "/// # Safety\n/// 1. It is linked.\npub unsafe trait Kept {}\n"
        "// SAFETY: 1. linked (promise 1 of `Kept`); 2. alone, by fact 1.\n"
    ),
}
LIB = "crates/tickwright-core/src/lib.rs"
PROOF = "crates/tickwright/src/shard/proof.rs"
LONG = "word " * 25

# Each break: its name, a file, what is replaced, by what, and a word of the message.
BREAKS = [
    ("a long README", "README.md", "# A\n", "# A\n" + "line\n" * 130, "more than 130"),
    ("a long line of a page", "docs/a.md", "# A page\n", f"# A page\n\n{LONG}\n", "100 columns"),
    ("a long comment of Rust", LIB, "/// Keeps", f"/// {LONG}\n/// Keeps", "100 columns"),
    ("a long comment after code", LIB, "struct A;", f"struct A; // {LONG}", "100 columns"),
    ("a long comment of a script", "ci/pages.sh", "# Short.", f"# {LONG}", "100 columns"),
    ("a link to no file", "README.md", "docs/a.md#", "docs/b.md#", "leads to no file"),
    ("a link to no heading", "README.md", "#a-part", "#b-part", "leads to no heading"),
    ("a draft outside of the summary", "README.md", "(docs/SUMMARY.md)", "()", "without a target"),
    ("a page that is not listed", "docs/SUMMARY.md", "- [A](a.md)\n", "", "does not list it"),
    ("a clause that is not there", LIB, "clause 2", "clause 3", "clause 3 is not there"),
    ("a promise that is not there", LIB, "promise 1", "promise 2", "promise 2 of `Kept`"),
    ("a fact that is not there", LIB, "fact 1", "fact 7", "fact 7 is not there"),
    ("facts that do not count from 1", LIB, "2. alone", "3. alone", "follows fact 1"),
    ("Rust that is no test", LIB, "docs/a.md", "docs/b.md", "no test compiles"),
    ("a block that is ignored", "docs/a.md", "```rust", "```rust,ignore", "are ignored"),
    ("a block without a language", "docs/a.md", "```rust", "```", "without a language"),
    ("C that is not compiled", "docs/a.md", "```rust", "```c", "ci/ctest_installed.sh"),
    ("a script that is not there", "docs/a.md", "ci/pages.sh", "ci/other.sh", "is not there"),
    ("a table of TOML that does not parse", "docs/a.md", "```sh", "```toml", "toml that does not"),
    ("JSON that does not parse", "docs/a.md", "```sh", "```json", "does not parse"),
    ("a clause that a table lacks", "docs/a.md", "| 1 | `one` | a |\n", "", "differs from"),
    ("a wrong number", "README.md", "two clauses", "three clauses", "has 2"),
    ("a crate without a row", "DESIGN.md", "  lab    core       more\n", "", "no row `lab`"),
    ("a crate on another one", "DESIGN.md", "  lab    core", "  lab    -   ", "builds on"),
    ("a crate that is not there", "DESIGN.md", "  lab", "  lib", "no crate `lib`"),
    ("a ratio that was not measured", "README.md", "0.85 / -", "0.75 / -", "0.85"),
    ("a term in two rows", "GLOSSARY.md", "| head", "| tick", "two rows"),
    ("a test that is not there", "UNSAFE.md", "a_timer_is_kept", "a_timer_is_lost", "nothing is named"),
    ("a file that is not there", "UNSAFE.md", "`lib.rs`", "`none.rs`", "there is no file"),
    ("a test that a proof alone names", PROOF, "a_timer_is_kept", "a_timer_is_lost", "nothing is named"),
]


def run(folder, problems):
    """Makes the tree, requires that it holds and that each break is seen; the exit code."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    write(folder, GOOD)
    failed = [f"the whole tree: {message}" for message in problems(folder)]
    for name, path, old, new, word in BREAKS:
        if old not in GOOD[path]:
            failed.append(f"{name}: the break changes nothing")
            continue
        write(folder, {**GOOD, path: GOOD[path].replace(old, new, 1)})
        said = problems(folder)
        if not any(word in message for message in said):
            failed.append(f"{name}: not seen; said was {said}")
    write(folder, {**GOOD, "ci/pages.txt": f"columns {LIB} 1\n"})
    if not any("--save" in message for message in problems(folder)):
        failed.append("a count that is too high: not seen")
    for message in failed:
        print(f"pages: self-test: {message}")
    if not failed:
        print(f"pages: self-test: a whole tree holds, and {len(BREAKS) + 1} breaks are seen")
    return 1 if failed else 0


def write(folder, files):
    """Writes the files of the tree, and takes away the one that only a break has."""
    (folder / "ci").mkdir(parents=True, exist_ok=True)
    (folder / "ci/pages.txt").unlink(missing_ok=True)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
