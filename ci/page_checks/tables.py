"""Tables of pages that repeat what other files say: crates, measured ratios, terms."""
import re
import tomllib

DESIGN, README, GLOSSARY = "DESIGN.md", "README.md", "GLOSSARY.md"


def problems(tree):
    """What is wrong, as lines `path: what`."""
    return _crates(tree) + _ratios(tree) + _terms(tree)


def _short(name):
    return name.removeprefix("tickwright-")


def _built_on(tree):
    """{crate: the crates of this workspace that it builds on}, from the manifests."""
    found = {}
    for path in tree.files:
        if re.fullmatch(r"crates/[\w-]+/Cargo\.toml", path):
            manifest = tomllib.loads(tree.text(path))
            tables = [manifest, *manifest.get("target", {}).values()]
            names = {name for table in tables for name in table.get("dependencies", {})}
            ours = {_short(name) for name in names if name.startswith("tickwright")}
            found[_short(manifest["package"]["name"])] = ours
    return found


def _crates(tree):
    """DESIGN has a row for each crate, with what its manifest names, on one or more lines."""
    text = tree.text(DESIGN) if DESIGN in tree.files else ""
    head = re.search(r"^  crate +builds on +what it holds\n((?:  .*\n)+)", text, re.M)
    if not head:
        return []
    lines = head[0].splitlines()
    on, end = lines[0].index("builds on"), lines[0].index("what it holds")
    said, crate = {}, None
    for line in lines[1:]:
        crate = line[:on].strip() or crate
        said.setdefault(crate, set()).update(re.findall(r"[\w-]{2,}", line[on:end]))
    right = _built_on(tree)
    found = [f"{DESIGN}: the table of crates has no row `{crate}`" for crate in sorted(right.keys() - said.keys())]
    found += [f"{DESIGN}: there is no crate `{crate}`" for crate in sorted(said.keys() - right.keys())]
    found += [f"{DESIGN}: crate `{crate}` builds on {sorted(right[crate])}"
              for crate in sorted(said.keys() & right.keys()) if said[crate] != right[crate]]
    return found


def _measured(tree, path):
    """{(work, timers): ratio} of the table `The best of ours beside the best of others`."""
    number, row = r"\s+[\d.]+", r"^ (\S+)\s+(\d+[kM]?)\s+\S+{0}\s+\S+{0}\s+([\d.]+){0}{0}{0}\s+[a-zA-Z]"
    return {(work, n): ratio for work, n, ratio in re.findall(row.format(number), tree.text(path), re.M)}


def _ratios(tree):
    """The README's ratios are those of the records that the sentence before the table names."""
    text = tree.text(README) if README in tree.files else ""
    found = re.search(r"\| work, on (.+) timers \|.*\n.*\n((?:\|.*\n)+)", text)
    if not found:
        return []
    records = [f"{name}.txt" for name in re.findall(r"`(records/[\w-]+)`", text[:found.start()])[-2:]]
    populations, wrong = found[1].split(" / "), []
    for row in found[2].splitlines():
        what, *cells = [cell.strip() for cell in row.strip("|").split("|")]
        work = re.search(r"`([\w-]+)`", what)[1]
        for record, cell in zip(records, cells):
            measured = _measured(tree, record)
            right = " / ".join(measured.get((work, n), "-") for n in populations)
            if cell != right:
                wrong.append(f"{README}: {work} is {right} in {record}")
    return wrong


def _terms(tree):
    """No term stands in two rows of the glossary."""
    if GLOSSARY not in tree.files:
        return []
    cells = re.findall(r"^\| (?!term)([^|]+) \|", tree.text(GLOSSARY), re.M)
    terms = [re.sub(r" \(`[^)]*`\)", "", term).strip() for cell in cells for term in re.split(r"[,/]", cell)]
    return [f"{GLOSSARY}: '{term}' stands in two rows" for term in sorted(set(terms)) if terms.count(term) > 1]
