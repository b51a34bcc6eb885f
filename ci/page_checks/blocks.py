"""Code blocks of README and of the book: each is compiled, run or parsed by a test."""
import json
import re

from page_checks.tree import split

try:
    from tomllib import loads as parse_toml
except ImportError:  # before Python 3.11
    parse_toml = str

# Blocks that show what a program prints, or a picture.
SHOWN = {"text", "console"}
PARSERS = {"json": json.loads, "toml": parse_toml}
SHELLS = {"sh", "bash", "console"}
DOCTEST = re.compile(r'#\[doc = include_str!\("(?:\.\./)+([^"]+\.md)"\)\]')


def problems(tree):
    """What is wrong, as lines `path:line: what`; README's blocks that are ignored count apart."""
    included = _doctests(tree)
    found = []
    for path, block in _blocks(tree):
        what = _problem(tree, included, path, block)
        if what:
            found.append(f"{path}:{block.line}: {what}")
    return found


def ignored(tree):
    """How many Rust blocks of each page no compiler sees; pages without one are left out."""
    found = {}
    for path, block in _blocks(tree):
        if block.language == "rust" and {"ignore", "text"} & set(block.words):
            found[path] = found.get(path, 0) + 1
    return found


def _blocks(tree):
    for path in tree.pages():
        if path == "README.md" or path.startswith("docs/"):
            for block in split(tree.text(path))[1]:
                yield path, block


def _doctests(tree):
    """The pages whose Rust blocks are tests of a crate."""
    found = set()
    for path in tree.with_ends(".rs"):
        text = tree.text(path)
        if "cfg(doctest)" in text or path.endswith("/pages.rs"):
            found.update(DOCTEST.findall(text))
    return found


def _problem(tree, included, path, block):
    language, text = block.language, "\n".join(block.lines)
    if not block.lines or not text.strip():
        return "an empty block"
    if language == "":
        return "a block without a language: say rust, c, sh, console, json, toml or text"
    if language == "rust":
        # ci/docs.sh compares the blocks of its page with a program that runs.
        if path not in included and path not in _text(tree, "ci/docs.sh"):
            return "Rust that no test compiles: include the page under cfg(doctest) in a crate's lib.rs"
        return None
    if language == "c":
        return None if f"/{path}" in _text(tree, "ci/ctest_installed.sh") else "C that ci/ctest_installed.sh does not compile"
    if language in SHELLS:
        return _shell(tree, block)
    if language in PARSERS:
        try:
            PARSERS[language](text)
        except ValueError as error:
            return f"{language} that does not parse: {error}"
        return None
    return None if language in SHOWN else f"no check for '{language}'"


def _shell(tree, block):
    """Commands of the checkout that are not there. The lab's own test parses `tickwright ...`."""
    for line in block.lines:
        command = line.removeprefix("$ ") if block.language == "console" else line
        if block.language == "console" and not line.startswith("$ "):
            continue
        script = re.match(r"(ci/[\w.-]+)", command)
        if script and script[1] not in tree.files:
            return f"'{script[1]}' is not there"
        cargo = command if command.startswith("cargo ") else ""
        example = re.search(r"--example (\w+)", cargo)
        package = re.search(r"(?:-p|--package) ([\w-]+)", cargo)
        if package and f"crates/{package[1]}/Cargo.toml" not in tree.files:
            return f"there is no package '{package[1]}'"
        if example and not any(file.endswith(f"examples/{example[1]}.rs") for file in tree.files):
            return f"there is no example '{example[1]}'"
    return None


def _text(tree, path):
    return tree.text(path) if path in tree.files else ""
