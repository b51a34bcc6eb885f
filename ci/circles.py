#!/usr/bin/env python3
"""Finds circles of imports among the files and the folders of all crates. Cargo refuses circles of
crates.

First it finds each circle of small made-up trees. Then it prints a circle of files and one of
folders, with the line of each import, and exits with 1 if there is one.

File A imports file B if non-test code of A has a path, in a `use` or elsewhere, to an item of B.
Comments, strings and what is under `cfg(test)` or `cfg(all(test, ...))` are not read.
`mod child;` is no import, nor is a `pub use` of a name that the same file does not use: a path
through it leads to the file that it names. So a parent that only declares and re-exports its
children imports nothing, and nothing imports it. To name a module (`use super::x;`) is no import:
the paths that begin with it are. An inline module belongs to its file.

A folder is `x.rs` or `x/mod.rs` with all files in `x/`. It imports a sibling if one of its files
imports a file of the sibling.
"""
import graphlib
import pathlib
import re
import sys
import tempfile

BLANK = re.compile(r'//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|"(?:\\.|[^"\\])*"|\'(?:\\[^u]|\\u.\w*.|[^\'\\])\'', re.S)
TEST = re.compile(r"#!?\[\s*cfg\((?:all\()?test\b[^]]*\](?:\s*#\[[^]]*\])*")
USE = re.compile(r"(\bpub(?:\s*\([^)]*\))?\s+)?\buse\s+([^;]+);")
DEFINED = re.compile(r"\b(?:struct|enum|union|trait|fn|type|const|static|macro_rules!)\s+(\w+)")

def blank(text, begin, end):
    return text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]

def end_of(text, at, is_item=True):
    """The place behind the block, item, field or arm that begins at `at`."""
    depth = 0
    for at in range(at, len(text)):
        depth += (text[at] in "{([") - (text[at] in "})]")
        if depth < 0 or (depth == 0 and text[at] in ("};" if is_item else ",;")):
            return at + (depth == 0)
    return len(text)

def leaves(tree):
    """(path, name) of each leaf of a `use` tree."""
    while group := re.search(r"([\w:\s]*)\{([^{}]*)\}", tree):
        flat = ",".join(group[1] + part for part in group[2].split(",") if part.strip())
        tree = tree[:group.start()] + flat + tree[group.end():]
    for leaf in tree.split(","):
        path, _, name = leaf.partition(" as ")
        path = re.findall(r"\w+|\*", path)
        path = path[:-1] if len(path) > 1 and path[-1] == "self" else path
        yield path, name.strip() or path[-1]

class Module:
    """One module. Its paths have the place where they stand; `text` has the length of the file."""
    def __init__(self, file, parent, folder, names, text):
        self.file, self.parent, self.names, self.children = file, parent, names, {}
        while found := TEST.search(text):
            is_item = re.match(r"\s*(pub|unsafe|const|fn|mod|impl|struct|enum|trait|use|static|macro_rules)\b", text[found.end():])
            text = blank(text, found.start(), end_of(text, found.end(), bool(is_item)))
        while found := re.search(r"\bmod\s+(\w+)\s*([;{])", text):
            end, name = end_of(text, found.end() - 1), found[1]
            below, path = folder / name, file
            inner = blank(blank(text, 0, found.end()), end - 1, len(text))
            if found[2] == ";":
                path = below.with_suffix(".rs") if below.with_suffix(".rs").exists() else below / "mod.rs"
                inner = contents(path) if path.exists() else None
            if inner is not None:
                self.children[name] = Module(path, self, below, [*names, name], inner)
            text = blank(text, found.start(), end)
        self.uses = [(*leaf, use[1], use.start()) for use in USE.finditer(text) for leaf in leaves(use[2])]
        text = USE.sub(lambda use: blank(use[0], 0, len(use[0])), text)
        self.defined, self.words = set(DEFINED.findall(text)), set(re.findall(r"\w+", text))
        self.paths = [(p[0].split("::"), p.start()) for p in re.finditer(r"\w+(?:::\w+)+", text)]

def contents(file):
    return BLANK.sub(lambda found: blank(found[0], 0, len(found[0])), file.read_text())

def resolve(module, path, seen=(), qualified=False):
    """The module whose item `path` names, seen from `module`. None: it is foreign or a module."""
    first, rest = path[0], path[1:]
    if first in ("crate", "super", "self") or first in module.children:
        while first == "crate" and module.parent:
            module = module.parent
        module = module.parent if first == "super" else module.children.get(first, module)
        return resolve(module, rest, seen, True) if module and rest else None
    if first == "*" or first in module.defined:
        return module
    # Each use is followed once, because `use other_crate::*` names each path again.
    for use in module.uses:
        to, name = use[:2]
        if (module, use) not in seen and (name == first or (name == "*" and len(to) > 1)):
            found = resolve(module, to + rest if name == first else to[:-1] + path, (*seen, (module, use)))
            if name == first or (found and first in found.defined):
                return found
    return module if qualified else None

def imports(module, crates):
    """(module, imported module, where) for each import in a module and its children."""
    used = [(to, at) for to, name, public, at in module.uses if not public or name in module.words]
    for path, at in used + module.paths:
        foreign = path[0] in crates and path[0] not in module.children
        found = crates[path[0]] if foreign else resolve(module, path)
        if found and found.file != module.file:
            yield module, found, 1 + module.file.read_text().count("\n", 0, at)
    for child in module.children.values():
        yield from imports(child, crates)

def report(top, names):
    """A circle of files and one of folders, as lines."""
    roots = [Module(file, None, file.parent, [name], contents(file)) for name in names
             for file in sorted(top.glob(f"**/{name}/src/*")) if file.name in ("lib.rs", "main.rs")]
    crates = {root.names[0].replace("-", "_"): root for root in reversed(roots)}
    files, folders, where = {}, {}, {}
    for a, b, line in (found for root in roots for found in imports(root, crates)):
        same = next((i for i, (x, y) in enumerate(zip(a.names, b.names)) if x != y), 0)
        graphs = [(files, [str(m.file.relative_to(top)) for m in (a, b)])]
        if same:
            graphs.append((folders, ["/".join([m.names[0], "src", *m.names[1:]][:same + 2]) for m in (a, b)]))
        for graph, (one, other) in graphs:
            graph.setdefault(one, set()).add(other)
            where.setdefault((one, other), f"line {line} of {a.file.name}")
    lines = []
    for graph in (files, folders):
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            # In it each node is imported by the next one.
            circle = error.args[1][::-1]
            lines += ["a circle of imports:"]
            lines += [f"    {one} -> {other}    ({where[one, other]})" for one, other in zip(circle, circle[1:])]
    return lines

TREE = {"lib.rs": "mod low;\nmod high;\nmod inner;\npub use high::High;\n",
        "low.rs": "// use crate::High;\npub struct Low;\n#[cfg(test)]\nmod t { use crate::High; }\n",
        "high.rs": "use crate::{inner, low::Low};\npub struct High(Low, inner::One);\n",
        "inner/mod.rs": "mod one;\nmod two;\npub(crate) use one::One;\n",
        "inner/one.rs": "pub struct One;\nfn f() -> &'static str { \"crate::high::High\" }\n",
        "inner/two.rs": "pub struct Two(super::One, crate::low::Low);\n"}
LINES = [("", "", False), ("low.rs", "use crate::High;\n", True), ("inner/mod.rs", "struct S(One);\n", False),
         ("low.rs", "mod m { use super::super::High; }\n", True), ("low.rs", "use crate::inner::One;\n", True),
         ("inner/one.rs", "fn g(_: crate::High) {}\n", True), ("inner/one.rs", "use super::two::Two;\n", True)]

def self_test():
    """The tree has no circle. Each line that closes one, in a file or between folders, is found."""
    for path, line, is_circle in LINES:
        with tempfile.TemporaryDirectory() as top:
            for name, text in TREE.items():
                file = pathlib.Path(top, "made-up/src", name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text + (line if name == path else ""))
            if bool(report(pathlib.Path(top), ["made-up"])) != is_circle:
                sys.exit(f"{line!r} in {path!r}: is a circle: {is_circle}")

self_test()
crates = pathlib.Path(__file__).resolve().parent.parent / "crates"
found = report(crates, sorted(path.parent.name for path in crates.glob("*/*/Cargo.toml")))
sys.exit("\n".join(found) or print("circles: none among the files of all crates"))
