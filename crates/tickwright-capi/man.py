#!/usr/bin/env python3
"""The manual pages of section 3, from the comments of the headers.

    man.py INCLUDE OUT    reads INCLUDE/*.h, writes one page a header (tickwright-queue.3), one a
                          function (tw_queue_insert.3) into OUT; INCLUDE is the folder `tickwright`

A comment of a function is a first paragraph, more paragraphs, a list `Returns:`, a list or a
sentence `Errors:`, and `Threads:`. A code of `Errors:` that has no text gets that of the table in
base.h. What is not of this form is an error, so a page never lacks a part in silence.
"""
import pathlib
import re
import sys
import textwrap

BASE = "base.h"


def fail(where, what):
    sys.exit(f"man.py: {where}: {what}")


def comment_text(comment):
    """The lines of a comment without its frame."""
    body = comment.removeprefix("/*").removesuffix("*/")
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in body.splitlines()]
    lines[0] = lines[0].strip()
    return [line.rstrip() for line in lines]


def tokens(text):
    """The header's comments, each with the declaration behind it."""
    for found in re.finditer(r"/\*.*?\*/", text, re.S):
        behind = text[found.end():]
        if text[:found.start()].rpartition("\n")[2].strip():
            continue  # beside a field
        yield comment_text(found.group()), behind.lstrip("\n")


def escape(line):
    """A line of prose for mdoc: no escapes, no macro at its start."""
    line = line.replace("\\", "\\e")
    return "\\&" + line if line.startswith((".", "'")) else line


def prose(lines):
    """Paragraphs, examples (indented by four and more) and lists (by two) as mdoc."""
    out, block = [], []

    def flush():
        if block:
            # A sentence begins a line.
            text = re.sub(r"(?<=[^\s.][.:]) (?=[A-Z`])", "\n", " ".join(block))
            out.extend(escape(line) for line in text.splitlines())
            block.clear()

    at = 0
    while at < len(lines):
        line = lines[at]
        if not line:
            flush()
            if out and out[-1] not in (".Pp",) and at + 1 < len(lines):
                out.append(".Pp")
        elif re.fullmatch(r"[A-Z][A-Z :,-]+", line):
            flush()
            if out and out[-1] == ".Pp":
                out.pop()
            out.append(f".Ss {line.capitalize()}")
            if at + 1 < len(lines) and not lines[at + 1]:
                at += 1
        elif line.startswith("  "):
            flush()
            if out and out[-1] == ".Pp":
                out.pop()
            out.append(".Bd -literal -offset indent" if line.startswith("    ") else ".Bd -literal -offset 2n")
            while at < len(lines) and (lines[at].startswith("  ") or not lines[at]):
                if not lines[at] and not (at + 1 < len(lines) and lines[at + 1].startswith("  ")):
                    break
                out.append(escape(lines[at].removeprefix("    ") if lines[at].startswith("    ") else lines[at].removeprefix("  ")))
                at += 1
            out.append(".Ed")
            at -= 1
        else:
            block.append(line.strip())
        at += 1
    flush()
    while out and out[-1] == ".Pp":
        out.pop()
    return out


def items(lines, where):
    """A list of `name  text`, whose texts go on on deeper lines."""
    found = []
    for line in lines:
        new = re.match(r"^  (\S+)  +(\S.*)$", line)
        if new:
            found.append([new.group(1), new.group(2)])
        elif line.startswith("   ") and found:
            found[-1][1] += " " + line.strip()
        else:
            fail(where, f"this is no entry of a list: {line!r}")
    return found


def table(base):
    """The codes of base.h with their meaning."""
    lines = next(lines for lines, _ in tokens(base))
    start = next(at for at, line in enumerate(lines) if line.startswith("  -E"))
    end = next(at for at in range(start, len(lines)) if not lines[at])
    return dict(items(lines[start:end], BASE))


def split(lines, where, known):
    """The parts of a function's comment: prose, results, errors, threads."""
    at = {}
    for number, line in enumerate(lines):
        for part in ("Returns:", "Errors:", "Threads:"):
            if line.startswith(part):
                at[part] = number
    if "Threads:" not in at:
        fail(where, "no `Threads:`")
    ends = sorted(at.values()) + [len(lines)]

    def piece(part):
        if part not in at:
            return []
        start = at[part]
        return [line for line in lines[start:ends[ends.index(start) + 1]] if line]

    results = items(piece("Returns:")[1:], where)
    errors = []
    said = piece("Errors:")
    if said:
        rest = next((number for number, line in enumerate(said) if line.startswith("  ")), len(said))
        sentence = " ".join(said[:rest])
        special = dict(items(said[rest:], where))
        codes = re.findall(r"-E[0-9A-Z]+", sentence)
        for code in codes:
            if code not in known:
                fail(where, f"{code} is not in the table of {BASE}")
            errors.append((code, known[code]))
        for code, text in special.items():
            general = known.get(code)
            if general is None:
                fail(where, f"{code} is not in the table of {BASE}")
            errors.append((code, f"{general}; {text}" if text.startswith("also ") else text))
    threads = " ".join(piece("Threads:")).removeprefix("Threads: ").rstrip(".")
    return lines[:ends[0]], results, sorted(errors), threads


def declaration(behind):
    return " ".join(behind.split(";")[0].split())


def prototype(text, where):
    """Result, name and parameters of a prototype."""
    found = re.fullmatch(r"TW_API (.*?)(\w+)\((.*)\)", text)
    if not found:
        fail(where, f"no prototype: {text}")
    depth, parameters, current = 0, [], ""
    for char in found.group(3):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parameters.append(current.strip())
            current = ""
        else:
            current += char
    return found.group(1).strip(), found.group(2), parameters + [current.strip()]


def summary(lines):
    """The first sentence, without its full stop, on one line."""
    text = " ".join(lines).split("  ")[0]
    sentence = re.split(r"(?<=[a-z0-9)`])[.;](?: |$)", text)[0].replace("`", "")
    # A page is found by this line, so it is short: up to a comma or colon before its 70th
    # character.
    while len(sentence) > 70 and re.search(r"[,:] ", sentence):
        sentence = sentence[:max(sentence.rfind(", "), sentence.rfind(": "))]
    return sentence[0].lower() + sentence[1:] if sentence[1:2].islower() or sentence[1:2] == " " else sentence


def page(title, parts):
    head = [".\\\" Made from the header by man.py.", ".Dd $Mdocdate$", f".Dt {title.upper()} 3", ".Os Tickwright"]
    return "\n".join(head + parts) + "\n"


def function_page(header, name, lines, behind, known, library):
    where = f"{header}: {name}"
    text, results, errors, threads = split(lines, where, known)
    result, _, parameters = prototype(declaration(behind), where)
    parts = [".Sh NAME", f".Nm {name}", f".Nd {summary(text)}", ".Sh LIBRARY", f"lib{library} (pkg-config {library})"]
    parts += [".Sh SYNOPSIS", f".In tickwright/{header}", f".Ft \"{result}\"", f".Fo {name}"]
    parts += [f".Fa \"{parameter}\"" for parameter in parameters]
    parts += [".Fc", ".Sh DESCRIPTION", *prose(text)]
    if results:
        parts += [".Sh RETURN VALUES", ".Bl -tag -width Ds"]
        for word, meaning in results:
            parts += [f".It {word}", *prose([meaning])]
        parts += [".El"]
    if errors:
        parts += [".Sh ERRORS", "A negated", ".Xr errno 3 ,", "and nothing was changed:", ".Bl -tag -width Ds"]
        for code, meaning in errors:
            parts += [f".It {code}", *prose([meaning])]
        parts += [".El"]
    parts += [".Sh THREADS", *prose([threads[0].upper() + threads[1:] + "."])]
    parts += [".Sh SEE ALSO", f".Xr tickwright-{header.removesuffix('.h')} 3"]
    return page(name, parts)


def header_page(header, text, library):
    """The overview: the header's own comment, its types and macros, and its functions."""
    stem = header.removesuffix(".h")
    found = list(tokens(text))
    lines = found[0][0]
    parts = [".Sh NAME", f".Nm tickwright-{stem}", f".Nd {summary(lines)}"]
    parts += [".Sh LIBRARY", f"lib{library} (pkg-config {library})", ".Sh SYNOPSIS", f".In tickwright/{header}"]
    parts += [".Sh DESCRIPTION", *prose(lines)]
    types = [(lines, behind) for lines, behind in found[1:] if behind.startswith(("typedef ", "#define TW_"))]
    loose = [lines for lines, behind in found[1:] if lines[0].startswith("TW_")]
    if types or loose:
        parts += [".Sh TYPES AND MACROS"]
    for lines, behind in types:
        if lines in loose:
            continue
        brace, end = behind.find("{"), behind.find(";") + 1
        if behind.startswith("#define"):
            code = behind.split("\n\n")[0]
        elif 0 <= brace < end:
            code = behind[:behind.index(";", behind.index("\n}")) + 1]
        else:
            code = behind[:end]
        parts += [*prose(lines), ".Bd -literal -offset indent", *(escape(line) for line in code.splitlines()), ".Ed", ".Pp"]
    for lines in loose:
        parts += [*prose(lines), ".Pp"]
    while parts[-1] == ".Pp":
        parts.pop()
    names = [prototype(declaration(behind), header)[1] for _, behind in found if behind.startswith("TW_API ")]
    parts += [".Sh SEE ALSO"]
    others = [f".Xr tickwright-{other} 3" for other in ("base", "heap", "odict", "queue", "sched", "thread") if other != stem]
    references = others + [f".Xr {name} 3" for name in sorted(names)]
    parts += [reference + " ," for reference in references[:-1]] + references[-1:]
    return page(f"tickwright-{stem}", parts)


def main(include, out):
    include, out = pathlib.Path(include), pathlib.Path(out)
    known = table((include / BASE).read_text())
    for path in sorted(include.glob("*.h")):
        text = path.read_text()
        library = "tickwright-threads" if path.name == "thread.h" else "tickwright"
        (out / f"tickwright-{path.stem}.3").write_text(header_page(path.name, text, library))
        declared = 0
        for lines, behind in tokens(text):
            if behind.startswith("TW_API "):
                declared += 1
                name = prototype(declaration(behind), path.name)[1]
                (out / f"{name}.3").write_text(function_page(path.name, name, lines, behind, known, library))
        if declared != len(re.findall(r"^TW_API ", text, re.M)):
            fail(path.name, "a function has no comment of its own")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
