#!/usr/bin/env python3
"""The manual pages of section 3, from the comments of the headers.

    man.py INCLUDE OUT    reads INCLUDE/*.h, writes one page a header (tickwright-queue.3), one a
                          function (tw_queue_insert.3) into OUT; INCLUDE is the folder `tickwright`.
                          The name of a type leads to the page of its header (tw_firing.3)

A comment of a function is a first paragraph, more paragraphs, a list `Returns:`, a list or a
sentence `Errors:`, and `Threads:`. A code of `Errors:` that has no text gets that of the table in
base.h. What is not of this form is an error, so a page never lacks a part in silence.
"""
import pathlib
import re
import sys
import textwrap

BASE = "base.h"
# The date of the pages: of the version.
DATE = "November 23, 2026"


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


def display(text, offset="indent"):
    """Lines as they are. All lose what all begin with, so that columns stay columns."""
    return [f".Bd -literal -offset {offset}", *(escape(line) for line in textwrap.dedent(text).splitlines()), ".Ed"]


def filled(sentence):
    """Lines of at most 79 columns. A function of the C library, as in `exit()`, is marked up."""
    pieces = re.split(r" ?\b(\w+)\(\)([.,:;]?) ?", sentence)
    for text, name, point in zip(pieces[::3], pieces[1::3] + [""], pieces[2::3] + [""]):
        yield from map(escape, textwrap.wrap(text, 79, break_long_words=False, break_on_hyphens=False))
        if name:
            yield f".Fn {name} {point}".rstrip()


def prose(lines):
    """Paragraphs, examples (indented by four and more) and lists (by two) as mdoc."""
    out, block = [], []

    def flush():
        if block:
            # A sentence begins a line, and no line is longer than 79 columns.
            text = re.sub(r"(?<=[^\s.][.:]) (?=[A-Z`])", "\n", " ".join(block))
            for sentence in text.splitlines():
                out.extend(filled(sentence))
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
            shown = []
            while at < len(lines) and (lines[at].startswith("  ") or not lines[at]):
                if not lines[at] and not (at + 1 < len(lines) and lines[at + 1].startswith("  ")):
                    break
                shown.append(lines[at])
                at += 1
            out += display("\n".join(shown), "indent" if line.startswith("    ") else "2n")
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
    errors, own = [], []
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
            own.append((code, f"{text.removeprefix('also ')}; or {general}" if text.startswith("also ") else text))
    threads = " ".join(piece("Threads:")).removeprefix("Threads: ").rstrip(".")
    # What this function alone may return comes first.
    return lines[:ends[0]], results, own + sorted(errors), threads


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
    head = [".\\\" Made from the header by man.py.", f".Dd {DATE}", f".Dt {title.upper()} 3", ".Os Tickwright"]
    return "\n".join(head + parts) + "\n"


def definition(behind):
    """The type that is defined behind a comment, up to its semicolon."""
    brace, end = behind.find("{"), behind.find(";") + 1
    if 0 <= brace < end:
        return behind[:behind.index(";", behind.index("\n}")) + 1]
    return behind[:end]


def types(found):
    """The types of a header: name, and the comment with the definition."""
    named = {}
    for lines, behind in found:
        if behind.startswith("typedef "):
            code = definition(behind)
            # The name of a pointer to a function is in the middle, of all others at the end.
            name = re.search(r"\(\*(\w+)\)|(\w+);$", code)
            named[name[1] or name[2]] = (lines, code)
    return named


def macros(behind):
    """What a program writes to use the macros behind a comment: names with their parameters; for a
    number the number too. What ends in `_` is the inside of another macro."""
    shown = []
    for line in behind.split("\n\n")[0].splitlines():
        macro = re.match(r"#define (\w+)(\([^)]*\))?(?: +([\w\"]+))?", line)
        if macro and not macro[1].endswith("_"):
            shown.append(macro[1] + macro[2] if macro[2] else f"{macro[1]} {macro[3] or ''}".rstrip())
    return shown


def mentioned(code, known):
    """The callbacks among the types that a declaration names, and the structs that these name."""
    calls = [name for name in re.findall(r"\w+", code) if name in known and "(*" in known[name][1]]
    told = [name for call in calls for name in re.findall(r"\w+", known[call][1])]
    structs = [name for name in told if name in known and "{" in known[name][1]]
    return list(dict.fromkeys(calls + structs))


def neighbors(name, names, most=8):
    """The functions that are declared nearest to one; variants with a place of the call are not."""
    others = [other for other in names if other == name or not other.endswith("_from")]
    at = others.index(name)
    first = max(0, min(at - most // 2, len(others) - most - 1))
    return sorted(other for other in others[first:first + most + 1] if other != name)


def references(names):
    return [f".Xr {name} 3 ," for name in names[:-1]] + [f".Xr {names[-1]} 3"]


def function_page(header, name, lines, behind, known, library, found):
    where = f"{header}: {name}"
    named = types(found)
    overview = f"tickwright-{header.removesuffix('.h')}"
    text, results, errors, threads = split(lines, where, known)
    result, _, parameters = prototype(declaration(behind), where)
    parts = [".Sh NAME", f".Nm {name}", f".Nd {summary(text)}", ".Sh LIBRARY", f"lib{library} (pkg-config {library})"]
    parts += [".Sh SYNOPSIS", f".In tickwright/{header}", f".Ft \"{result}\"", f".Fo {name}"]
    parts += [f".Fa \"{parameter}\"" for parameter in parameters]
    parts += [".Fc", ".Sh DESCRIPTION", *prose(text)]
    for other in mentioned(" ".join(parameters), named):
        about, code = named[other]
        parts += [f".Ss {other}", *display(code), *prose(about)]
    if results:
        parts += [".Sh RETURN VALUES", ".Bl -tag -width Ds"]
        for word, meaning in results:
            # The values of a type are on the page of the header.
            parts += [f".It {word}", *(["see", f".Xr {overview} 3"] if word in named else prose([meaning]))]
        parts += [".El"]
    if errors:
        parts += [".Sh ERRORS", "A negated", ".Xr errno 3 ,", "and nothing was changed:", ".Bl -tag -width Ds"]
        for code, meaning in errors:
            parts += [f".It {code}", *prose([meaning])]
        parts += [".El"]
    parts += [".Sh THREADS", *prose([threads[0].upper() + threads[1:] + "."])]
    names = [prototype(declaration(behind), header)[1] for _, behind in found if behind.startswith("TW_API ")]
    parts += [".Sh SEE ALSO", *references([overview, *neighbors(name, names)])]
    return page(name, parts)


def header_page(header, text, library):
    """The overview: the header's own comment, its types and macros, and its functions."""
    stem = header.removesuffix(".h")
    found = list(tokens(text))
    lines = found[0][0]
    parts = [".Sh NAME", f".Nm tickwright-{stem}", f".Nd {summary(lines)}"]
    parts += [".Sh LIBRARY", f"lib{library} (pkg-config {library})", ".Sh SYNOPSIS", f".In tickwright/{header}"]
    parts += [".Sh DESCRIPTION", *prose(lines)]
    # A comment that begins with the name of a macro is shown. One on the macro's inside is not.
    loose = [lines for lines, behind in found[1:] if lines[0].startswith("TW_")]
    explained = {re.match(r"\w+", lines[0])[0] for lines in loose}
    shown = []
    for lines, behind in found[1:]:
        uses = macros(behind) if behind.startswith("#define TW_") else []
        if lines in loose:
            shown += [*prose(lines), ".Pp"]
        elif behind.startswith("typedef "):
            shown += [*prose(lines), *display(definition(behind)), ".Pp"]
        elif uses and not explained.intersection(re.match(r"\w+", use)[0] for use in uses):
            shown += [*prose(lines), *display("\n".join(uses)), ".Pp"]
    if shown:
        parts += [".Sh TYPES AND MACROS", *shown]
    while parts[-1] == ".Pp":
        parts.pop()
    names = [prototype(declaration(behind), header)[1] for _, behind in found if behind.startswith("TW_API ")]
    parts += [".Sh SEE ALSO"]
    others = [f"tickwright-{other}" for other in ("base", "heap", "odict", "queue", "sched", "thread") if other != stem]
    parts += references(others + sorted(names))
    return page(f"tickwright-{stem}", parts)


def main(include, out):
    include, out = pathlib.Path(include), pathlib.Path(out)
    known = table((include / BASE).read_text())
    for path in sorted(include.glob("*.h")):
        text = path.read_text()
        library = "tickwright-threads" if path.name == "thread.h" else "tickwright"
        (out / f"tickwright-{path.stem}.3").write_text(header_page(path.name, text, library))
        found = list(tokens(text))
        for name in types(found):
            (out / f"{name}.3").write_text(f".so man3/tickwright-{path.stem}.3\n")
        declared = 0
        for lines, behind in found:
            if behind.startswith("TW_API "):
                declared += 1
                name = prototype(declaration(behind), path.name)[1]
                (out / f"{name}.3").write_text(function_page(path.name, name, lines, behind, known, library, found))
        if declared != len(re.findall(r"^TW_API ", text, re.M)):
            fail(path.name, "a function has no comment of its own")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
