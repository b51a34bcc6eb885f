"""Numbers and names in prose that a program can count or find."""
import re

from page_checks.tree import split

WORDS = {word: number for number, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve".split())}
NUMBER = r"(\d[\d,]*|" + "|".join(WORDS) + r")"
CONTRACT = "crates/tickwright-core/src/contract.rs"
FAMILIES = "crates/tickwright-core/src/family/mod.rs"
EXPERIMENTS = ("xenomai", "linux", "asterisk", "helenos", "nptl")
# Pages that name tests and files of today. CHANGELOG and records name those of their day.
NAMING = ("UNSAFE.md", "crates/tickwright/src/shard/proof.rs")


def problems(tree):
    """What is wrong, as lines `path:line: what`."""
    return _numbers(tree) + _structures(tree) + _clauses(tree) + _names(tree)


def _counted(tree):
    """Phrases, as expressions with one number, and the right number of each."""
    clauses = len(re.findall(r"^//! \d+\. `\w+`:", tree.text(CONTRACT), re.M)) if CONTRACT in tree.files else 0
    folder = "crates/tickwright-lab/src/experiments/"
    experiments = sum(f"{folder}{name}.rs" in tree.files for name in EXPERIMENTS)
    scenarios = len([path for path in tree.files if re.fullmatch(r"scenarios/[^/]+\.toml", path)])
    return [
        (rf"\b{NUMBER} (?:numbered )?clauses\b", clauses, CONTRACT),
        (rf"\b[Tt]he {NUMBER} experiments\b", experiments, folder),
        (rf"\ball {NUMBER} scenarios\b", scenarios, "scenarios/"),
    ]


def _numbers(tree):
    counted = _counted(tree)
    found = []
    for path in tree.pages():
        if path == "CHANGELOG.md":
            continue
        for number, line in split(tree.text(path))[0]:
            for phrase, right, where in counted:
                for match in re.finditer(phrase, line):
                    said = WORDS.get(match[1].lower(), None)
                    said = int(match[1].replace(",", "")) if said is None else said
                    if said != right:
                        found.append(f"{path}:{number}: '{match[0]}', but {where} has {right}")
    return found


def _structures(tree):
    """A page with a table of structures has a row for each family."""
    if FAMILIES not in tree.files:
        return []
    families = re.findall(r'^\s*\w+!?\s*.*?"([a-z0-9-]+)"', tree.text(FAMILIES), re.M)
    found = []
    for path in tree.pages():
        rows = set(re.findall(r"^\| `([a-z0-9-]+)` \| `\w+[^`]*` \|", tree.text(path), re.M))
        if {"list", "wheel", "adaptive"} <= rows:
            found += [f"{path}: the table of structures has no row `{family}`"
                      for family in sorted(set(families) - rows)]
    return found


def _clauses(tree):
    """A page with a table of clauses has each of them, with its number and name."""
    if CONTRACT not in tree.files:
        return []
    clauses = re.findall(r"^//! (\d+)\. `(\w+)`:", tree.text(CONTRACT), re.M)
    found = []
    for path in tree.pages():
        rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", tree.text(path), re.M)
        if rows and rows != clauses:
            wrong = sorted(set(clauses) ^ set(rows), key=lambda clause: int(clause[0]))
            found.append(f"{path}: the table of clauses differs from {CONTRACT}: {wrong[:3]}")
    return found


def _names(tree):
    """Tests and files that a page names are there."""
    pages = [path for path in NAMING if path in tree.files]
    if not pages:
        return []
    defined = set()
    for path in set(tree.with_ends(".rs", ".c", ".cc", ".py", ".sh")).difference(NAMING):
        defined.update(re.findall(r"\b\w+\b", tree.text(path)))
    found = []
    for path in pages:
        for number, line in split(tree.text(path))[0]:
            for name in re.findall(r"`([^`]+)`", line):
                what = _unknown(tree, defined, name)
                if what:
                    found.append(f"{path}:{number}: {what}")
    return found


def _unknown(tree, defined, name):
    if re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+){2,}", name) and name not in defined:
        return f"nothing is named '{name}'"
    file = re.fullmatch(r"[\w./-]+\.(?:rs|sh|py|c|cc|h)", name)
    if file and not any(f"/{path}".endswith(f"/{name}") for path in tree.files):
        return f"there is no file '{name}'"
    return None
