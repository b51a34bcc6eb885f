"""The comments of source files: which lines have one, and the text of neighboring lines as one."""
import ast
import io
import re
import tokenize

# Strings come first, so that what looks like a comment in one is none.
C_LIKE = re.compile(
    r'(?P<string>r(?P<hashes>#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\\n])\')'
    r"|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)",
    re.S,
)
ENDS = (".rs", ".c", ".h", ".cc", ".py", ".sh", ".toml")


def lines(path, text):
    """The numbers of the lines of a source file that have a comment or are documentation."""
    if path.endswith(".py"):
        return _python(text)
    if path.endswith((".rs", ".c", ".h", ".cc")):
        return _c_like(text)
    return {number for number, line in enumerate(text.split("\n"), 1) if _shell(line)}


def _c_like(text):
    found = set()
    for match in C_LIKE.finditer(text):
        if match["string"] is not None:
            continue
        first = text.count("\n", 0, match.start()) + 1
        found.update(range(first, first + match[0].count("\n") + 1))
    return found


def _shell(line):
    """Whether a line of a shell script has a comment: a hash before a word, outside of quotes."""
    unquoted = re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", "", line)
    return re.search(r"(^|\s)#", unquoted) is not None


def _python(text):
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            found.add(token.start[0])
    documented = (ast.Module, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node):
            found.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return found


def paragraphs(text):
    """The comments of a Rust or C file, neighboring lines together, with their first line."""
    joined, first, last = [], 0, -1
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"\s*(?://[/!]?|/?\*+)\s?(.*)", line)
        if not match:
            continue
        if joined and number == last + 1:
            joined[-1][1].append(match[1])
        else:
            first = number
            joined.append((first, [match[1]]))
        last = number
    return [(first, parts) for first, parts in joined]
