//! Checks that the ABI of both libraries matches the record in `abi/`. The record contains the
//! functions with their types, the sizes and offsets of structs, and the numbers of enums and
//! macros.
//!
//! The record for a SONAME only grows. If a line of it must be changed or removed, the library
//! needs another SONAME, because existing programs rely on that line. To add new lines, run
//! `TICKWRIGHT_ABI=save cargo test -p tickwright-capi --test abi`.
#![cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]

use core::fmt::Write;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns a header without its comments.
fn code(header: &str) -> String {
    let mut rest = header;
    let mut code = String::new();
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").expect("a comment ends").1;
    }
    code + rest
}

/// Returns the name of each `typedef KIND name {..} name;` and the text between its braces.
fn bodies<'c>(code: &'c str, kind: &str) -> Vec<(&'c str, &'c str)> {
    let begun = format!("typedef {kind} ");
    code.split(&begun)
        .skip(1)
        .filter_map(|piece| {
            let (name, body) = piece.split_once('{')?;
            (!name.contains(';')).then(|| (name.trim(), body.split_once('}').unwrap().0))
        })
        .collect()
}

/// Returns the name in a declaration, which is its last word, without brackets.
fn name(declaration: &str) -> &str {
    let declaration = declaration.split('[').next().unwrap().trim();
    declaration.rsplit([' ', '*']).next().unwrap()
}

/// Returns a C program that prints the sizes, offsets and numbers of a header, one per line.
fn program(code: &str) -> String {
    let mut c = String::from("#include <stdio.h>\n#include <tickwright.h>\nint main(void)\n{\n");
    for (of, body) in bodies(code, "struct") {
        // A struct whose first field is its size can get more fields, so its size is not recorded.
        // Instead the program asserts that its last field ends exactly at the end of the struct.
        if body.trim_start().starts_with("size_t size;") {
            let last = name(body.trim_end().strip_suffix(';').unwrap().rsplit(';').next().unwrap());
            writeln!(
                c,
                "_Static_assert(offsetof({of}, {last}) + sizeof((({of} *)0)->{last}) == sizeof({of}), \"padding\");"
            )
            .unwrap();
        } else {
            writeln!(c, "printf(\"size {of} %zu\\n\", sizeof({of}));").unwrap();
        }
        for field in body.split(';').filter(|field| !field.trim().is_empty()) {
            let field = name(field);
            writeln!(
                c,
                "printf(\"field {of}.{field} %zu %zu\\n\", offsetof({of}, {field}), sizeof((({of} *)0)->{field}));"
            )
            .unwrap();
        }
    }
    for (of, body) in bodies(code, "enum") {
        writeln!(c, "printf(\"size {of} %zu\\n\", sizeof({of}));").unwrap();
        for number in body.split(',').filter(|number| !number.trim().is_empty()) {
            let number = number.split('=').next().unwrap().trim();
            writeln!(c, "printf(\"number {of}.{number} %d\\n\", (int){number});").unwrap();
        }
    }
    for line in code.lines() {
        let Some((of, _)) = line.strip_prefix("#define TW_").and_then(|rest| rest.split_once(' ')) else {
            continue;
        };
        if of.ends_with("_BYTES") || of == "DEFAULT" {
            writeln!(c, "printf(\"macro TW_{of} %zu\\n\", (size_t)TW_{of});").unwrap();
        } else if of == "HEAP_BYTES(capacity)" {
            writeln!(c, "printf(\"macro TW_HEAP_BYTES(1000) %zu\\n\", TW_HEAP_BYTES(1000));").unwrap();
        }
    }
    c + "return 0;\n}\n"
}

/// Returns the functions and the callback types of a header, each on one line.
fn prototypes(code: &str) -> impl Iterator<Item = String> {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let functions = code
        .split("\nTW_API ")
        .skip(1)
        .map(move |rest| format!("function {}", plain(rest.split(';').next().unwrap())));
    let callbacks = code
        .split("\ntypedef ")
        .skip(1)
        .filter_map(|rest| rest.split_once(';'))
        .filter(|(declaration, _)| declaration.contains("_fn)("))
        .map(move |(declaration, _)| format!("callback {}", plain(declaration)));
    functions.chain(callbacks)
}

/// Returns the ABI that these headers declare.
fn abi(headers: &[&str]) -> BTreeSet<String> {
    let texts =
        headers.iter().map(|name| fs::read_to_string(here(&format!("include/tickwright/{name}.h"))).unwrap());
    let code = code(&texts.collect::<String>());
    let folder = std::env::temp_dir().join(format!("tickwright-abi-{}-{}", std::process::id(), headers[0]));
    fs::create_dir_all(&folder).unwrap();
    let (source, binary) = (folder.join("abi.c"), folder.join("abi"));
    fs::write(&source, program(&code)).unwrap();
    let compiler = std::env::var_os("CC").unwrap_or("cc".into());
    let compiled = Command::new(compiler)
        .arg("-std=c11")
        .arg("-I")
        .arg(here("include"))
        .arg("-o")
        .args([&binary, &source])
        .output();
    let compiled = compiled.expect("a C compiler is there, as `cc` or named by CC");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let said = Command::new(&binary).output().expect("it runs").stdout;
    fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8(said).unwrap();
    said.lines().map(str::to_owned).chain(prototypes(&code)).collect()
}

fn compare(library: &str, headers: &[&str]) {
    let soname = fs::read_to_string(here("../tickwright-boundary/SONAME")).unwrap();
    let record = here(&format!("abi/{library}.so.{}", soname.trim()));
    let now = abi(headers);
    assert!(now.len() > 30, "{now:?}");
    if std::env::var_os("TICKWRIGHT_ABI").is_some_and(|save| save == "save") {
        fs::write(&record, now.iter().map(|line| line.clone() + "\n").collect::<String>()).unwrap();
    }
    let then = fs::read_to_string(&record);
    let then: BTreeSet<String> = then
        .unwrap_or_else(|error| panic!("{}: {error}", record.display()))
        .lines()
        .map(str::to_owned)
        .collect();
    let gone: Vec<_> = then.difference(&now).collect();
    assert!(gone.is_empty(), "changed or gone, so the number in SONAME must rise: {gone:#?}");
    let new: Vec<_> = now.difference(&then).collect();
    assert!(new.is_empty(), "new, so run with TICKWRIGHT_ABI=save and commit abi/: {new:#?}");
}

#[test]
fn the_abi_of_the_timers_is_the_recorded_one() {
    compare("libtickwright", &["base", "queue", "heap", "odict", "sched"]);
}

#[test]
fn the_abi_of_the_threads_is_the_recorded_one() {
    compare("libtickwright-threads", &["thread"]);
}
