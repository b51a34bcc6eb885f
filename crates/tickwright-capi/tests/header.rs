//! `tickwright.h` says what the library is: the same functions with the same signatures, the same
//! numbers, sizes and offsets.
//!
//! Rust's side is read from the sources, translated type by type, and compared by a C compiler.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tickwright_c::family::{FAMILIES, TW_FAMILY_COARSE, TW_FAMILY_WHEEL};
use tickwright_c::job::{self, tw_firing, tw_job, tw_timing};
use tickwright_c::odict::{self, tw_odict, tw_odlink};
use tickwright_c::queue::{tw_advance, tw_expired, tw_queue_size};
use tickwright_c::threads::{self, tw_thread_attr, tw_threads_attr};
use tickwright_c::timer::tw_timer;
use tickwright_c::watch::{tw_sched_counts, tw_sched_info};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// All sources in one text, with single spaces, so that line breaks do not matter.
fn sources() -> String {
    let mut texts = Vec::new();
    for file in fs::read_dir(here("src")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        texts.extend(text.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned));
    }
    texts.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A type of Rust's as C writes it. Types of the library have the same names in both.
fn c_type(rust: &str) -> String {
    let rust = rust.trim();
    for (pointer, c) in [("*mut ", " *"), ("*const ", " const *")] {
        if let Some(pointee) = rust.strip_prefix(pointer) {
            return c_type(pointee) + c;
        }
    }
    match rust {
        "c_int" => "int",
        "c_char" => "char",
        "c_void" => "void",
        "u64" => "uint64_t",
        "i64" => "int64_t",
        "usize" => "size_t",
        "isize" => "ptrdiff_t",
        named if named.starts_with("tw_") => named,
        other => panic!("no C type is known for '{other}': add it to the table"),
    }
    .to_owned()
}

/// The parameters of a signature as C writes them, and its result.
fn c_signature(signature: &str) -> (String, String) {
    let (parameters, rest) = signature.split_once(')').unwrap();
    let types: Vec<String> = parameters
        .split(',')
        .filter(|parameter| !parameter.trim().is_empty())
        .map(|parameter| c_type(parameter.split_once(':').unwrap().1))
        .collect();
    let result = rest.trim().strip_prefix("->").map_or("void".to_owned(), c_type);
    (if types.is_empty() { "void".to_owned() } else { types.join(", ") }, result)
}

/// What is exported, as declared: by itself, or among others in `exported!`, whose definition is no
/// function.
fn exported(sources: &str) -> impl Iterator<Item = &str> {
    let alone = sources.split("#[unsafe(no_mangle)] ").skip(1);
    let alone = alone.map(|piece| piece.split_once("extern \"C\" fn ").unwrap().1);
    let blocks = sources.split("exported!( fn ").skip(1).map(|piece| piece.split_once("} );").unwrap().0);
    alone.filter(|declared| !declared.starts_with('$')).chain(blocks.flat_map(|block| block.split("} fn ")))
}

/// What is exported: name, and the C type of a pointer to it.
fn functions(sources: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for declared in exported(sources) {
        let (name, rest) = declared.split_once('(').unwrap();
        let (parameters, result) = c_signature(rest.split_once('{').unwrap().0);
        found.insert(name.to_owned(), format!("{result} (*)({parameters})"));
    }
    found
}

/// The types of callbacks: name, and the C type.
fn callbacks(sources: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for piece in sources.split("pub type tw_").skip(1) {
        let (name, rest) = piece.split_once(" =").unwrap();
        let (_, signature) = rest.split_once("extern \"C-unwind\" fn(").unwrap();
        let (parameters, result) = c_signature(signature.split_once('>').map_or(signature, |_| {
            let end = signature.find(">;").unwrap();
            &signature[..end]
        }));
        found.insert(format!("tw_{name}"), format!("{result} (*)({parameters})"));
    }
    found
}

/// The functions that the header declares.
fn declared(header: &str) -> Vec<String> {
    let name = |line: &str| {
        let (before, _) = line.strip_prefix("TW_API ")?.split_once('(')?;
        Some(before.rsplit([' ', '*']).next()?.to_owned())
    };
    let mut names: Vec<String> = header.lines().filter_map(name).collect();
    names.sort_unstable();
    names
}

/// What a C compiler shall confirm.
fn confirmations() -> String {
    let sources = sources();
    let mut c = String::from("#include <tickwright.h>\n#include <string.h>\n");
    let mut line = |text: String| c = c.clone() + &text + "\n";
    for (name, of) in functions(&sources).iter().map(|(name, of)| (format!("&{name}"), of)) {
        line(format!("_Static_assert(_Generic({name}, {of}: 1, default: 0), \"{name} is {of}\");"));
    }
    for (name, of) in callbacks(&sources) {
        line(format!("_Static_assert(_Generic(({name})0, {of}: 1, default: 0), \"{name} is {of}\");"));
    }
    let mut equal = |left: String, right: usize| {
        line(format!("_Static_assert((size_t){left} == {right}u, \"{left} is {right}\");"));
    };
    for &(name, number, _) in FAMILIES {
        equal(name.to_owned(), usize::try_from(number).unwrap());
    }
    equal("sizeof(tw_timer)".into(), size_of::<tw_timer>());
    equal("_Alignof(tw_timer)".into(), align_of::<tw_timer>());
    equal("sizeof(tw_odlink)".into(), size_of::<tw_odlink>());
    equal("_Alignof(tw_odlink)".into(), align_of::<tw_odlink>());
    equal("sizeof(tw_odict)".into(), size_of::<tw_odict>());
    equal("_Alignof(tw_odict)".into(), align_of::<tw_odict>());
    for &(name, number, _) in &odict::SEEKS {
        equal(name.to_owned(), usize::try_from(number).unwrap());
    }
    equal("sizeof(tw_expired)".into(), size_of::<tw_expired>());
    equal("offsetof(tw_expired, timer)".into(), core::mem::offset_of!(tw_expired, timer));
    equal("offsetof(tw_expired, deadline)".into(), core::mem::offset_of!(tw_expired, deadline));
    equal("offsetof(tw_expired, expiry)".into(), core::mem::offset_of!(tw_expired, expiry));
    equal("sizeof(tw_advance)".into(), size_of::<tw_advance>());
    equal("offsetof(tw_advance, delivered)".into(), core::mem::offset_of!(tw_advance, delivered));
    equal("offsetof(tw_advance, moved)".into(), core::mem::offset_of!(tw_advance, moved));
    macro_rules! alike {
        ($($type:ident { $($field:ident),+ })+) => { $(
            equal(concat!("sizeof(", stringify!($type), ")").into(), size_of::<$type>());
            $(equal(
                concat!("offsetof(", stringify!($type), ", ", stringify!($field), ")").into(),
                core::mem::offset_of!($type, $field),
            );)+
        )+ };
    }
    alike! {
        tw_firing { sched, id, due, now, overruns, token }
        tw_timing { base, missed, when, period, slack, since }
        tw_job { call, data, cleanup, token, flags, timing }
        tw_sched_info { id, int_id, state, due, interval, token, data }
        tw_sched_counts {
            timers, pending, high_water, armed, fired, cancelled, overruns, passes, steps, heap_bytes, late_mean,
            late_half, late_most, late_max
        }
        tw_thread_attr { stack_size, guard_size, name, detached }
        tw_threads_attr { workers, stack_size, guard_size, kept_stacks }
    }
    for &(name, number) in job::NUMBERS.iter().chain(threads::NUMBERS) {
        equal(name.to_owned(), usize::try_from(number).unwrap());
    }
    for (at, part) in ["MAJOR", "MINOR", "PATCH"].iter().enumerate() {
        let number = env!("CARGO_PKG_VERSION").split('.').nth(at).unwrap().parse().unwrap();
        equal(format!("TW_VERSION_{part}"), number);
    }
    for &(name, number, _) in FAMILIES {
        let heap = name.contains("HEAP");
        for capacity in if heap { &[0, 1, 2, 3, 4, 5, 9, 1000, 1 << 20][..] } else { &[0] } {
            let bytes = match number {
                TW_FAMILY_WHEEL => "TW_WHEEL_BYTES".to_owned(),
                TW_FAMILY_COARSE => "TW_COARSE_BYTES".to_owned(),
                _ if heap => format!("TW_HEAP_BYTES({capacity})"),
                _ => "TW_QUEUE_BYTES".to_owned(),
            };
            let size = tw_queue_size(number, *capacity);
            assert!(size > 0);
            line(format!("_Static_assert({bytes} >= {size}, \"{bytes} is enough for {name}\");"));
        }
    }
    c
}

#[test]
fn header_and_library_have_the_same_functions() {
    let ours: Vec<String> = functions(&sources()).into_keys().collect();
    assert!(ours.len() > 25, "{ours:?}");
    let header = fs::read_to_string(here("include/tickwright.h")).unwrap();
    assert_eq!(declared(&header), ours);
}

#[test]
fn every_function_of_the_header_speaks_of_threads() {
    let header = fs::read_to_string(here("include/tickwright.h")).unwrap();
    for (before, after) in header.match_indices("TW_API ").map(|(at, _)| header.split_at(at)) {
        let name = after.lines().next().unwrap();
        if name.contains('(') {
            let comment = &before[before.rfind("/*").unwrap()..];
            assert!(comment.contains("Threads: "), "{name}");
        }
    }
}

#[test]
fn a_c_compiler_confirms_signatures_numbers_and_sizes() {
    let folder = std::env::temp_dir().join(format!("tickwright-header-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (source, object) = (folder.join("confirm.c"), folder.join("confirm.o"));
    fs::write(&source, confirmations()).unwrap();
    let compiler = std::env::var_os("CC").unwrap_or("cc".into());
    let output = Command::new(compiler)
        .args(["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-c", "-I"])
        .arg(here("include"))
        .arg("-o")
        .args([&object, &source])
        .output()
        .expect("a C compiler is there, as `cc` or named by CC");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    fs::remove_dir_all(&folder).unwrap();
    assert!(output.status.success(), "{said}");
}
