//! Checks that the headers match the libraries: they must have the same functions with the same
//! signatures, and the same numbers, sizes and offsets.
//!
//! The tests read the declarations from the Rust sources, and translate each type to C. A C
//! compiler then compares them with the headers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tickwright_boundary::code;
use tickwright_c::family::{FAMILIES, TW_FAMILY_COARSE, TW_FAMILY_WHEEL};
use tickwright_c::job::{self, tw_firing, tw_job, tw_timing};
use tickwright_c::odict::{self, tw_odict, tw_odlink};
use tickwright_c::queue::{tw_advance, tw_expired, tw_queue_bytes};
use tickwright_c::scheduler::tw_sched_options;
use tickwright_c::timer::tw_timer;
use tickwright_c::watch::{tw_sched_counts, tw_sched_info};
use tickwright_threads_c::runtime::{self, tw_runtime_options};
use tickwright_threads_c::thread::tw_thread_options;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns all headers, each with its name.
fn headers() -> Vec<(String, String)> {
    let parts = fs::read_dir(here("include/tickwright")).unwrap().map(|file| file.unwrap().path());
    let files = parts.chain([here("include/tickwright.h")]);
    files.map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap())).collect()
}

/// Returns the lines of code in a folder and its subfolders.
fn lines_of_code(folder: &Path) -> Vec<String> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| {
        if path.is_dir() {
            return lines_of_code(&path);
        }
        let text = fs::read_to_string(path).unwrap();
        text.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect()
    };
    paths.flat_map(of).collect()
}

/// Returns all sources of both libraries as one text. All white space is replaced by single spaces,
/// so that line breaks do not matter.
fn sources() -> String {
    let lines =
        ["src", "../../threads/tickwright-threads-capi/src"].map(|folder| lines_of_code(&here(folder)));
    lines.concat().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the C name of a Rust type. A type of the library has the same name in both languages.
fn c_type(rust: &str) -> String {
    let rust = rust.trim();
    for (pointer, c) in [("*mut ", " *"), ("*const ", " const *")] {
        if let Some(pointee) = rust.strip_prefix(pointer) {
            return c_type(pointee) + c;
        }
    }
    match rust {
        "c_int" => "int",
        "c_uint" => "unsigned",
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

/// Converts a signature to C. Returns the parameters and the result type.
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

/// Returns the declarations of exported functions, which are written directly or inside of
/// `exported!`. The definition of `exported!` itself is skipped.
fn exported(sources: &str) -> impl Iterator<Item = &str> {
    let alone = sources.split("#[unsafe(no_mangle)] ").skip(1);
    let alone = alone.map(|piece| piece.split_once("extern \"C\" fn ").unwrap().1);
    let blocks = sources.split("exported!( fn ").skip(1).map(|piece| piece.split_once("} );").unwrap().0);
    alone.filter(|declared| !declared.starts_with('$')).chain(blocks.flat_map(|block| block.split("} fn ")))
}

/// Returns the exported functions, each with the C type of a pointer to it.
fn functions(sources: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for declared in exported(sources) {
        let (name, rest) = declared.split_once('(').unwrap();
        let (parameters, result) = c_signature(rest.split_once('{').unwrap().0);
        found.insert(name.to_owned(), format!("{result} (*)({parameters})"));
    }
    found
}

/// Returns the callback types, each with its C type.
fn callbacks(sources: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for piece in sources.split("pub type tw_").skip(1) {
        let (name, rest) = piece.split_once(" =").unwrap();
        let declared = rest.split_once(';').unwrap().0;
        if !declared.contains("extern") {
            continue;
        }
        let (_, signature) = rest.split_once("extern \"C-unwind\" fn(").unwrap();
        let (parameters, result) = c_signature(signature.split_once('>').map_or(signature, |_| {
            let end = signature.find(">;").unwrap();
            &signature[..end]
        }));
        found.insert(format!("tw_{name}"), format!("{result} (*)({parameters})"));
    }
    found
}

/// Returns the functions that a header declares, each with the comment before it.
fn declared(header: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    for (at, _) in header.match_indices("\nTW_API ") {
        let (before, after) = header.split_at(at);
        let name = after.split_once('(').unwrap().0.rsplit([' ', '*', '\n']).next().unwrap();
        found.push((name.to_owned(), &before[before.rfind("/*").unwrap()..]));
    }
    found
}

#[test]
fn a_function_that_fills_a_struct_names_its_initializer() {
    let headers = headers();
    let mut checked = 0;
    for (_, header) in &headers {
        for (name, rest) in
            header.split("typedef struct tw_").skip(1).filter_map(|rest| rest.split_once(" {"))
        {
            if !rest.trim_start().starts_with("size_t size;") {
                continue;
            }
            let initializer = format!("TW_{}_INIT", name.to_uppercase());
            for (file, header) in &headers {
                for (function, comment) in declared(header) {
                    let at = header.find(&format!("{function}(")).unwrap();
                    let parameters = header[at..].split_once(';').unwrap().0;
                    let fills = parameters
                        .split(['(', ','])
                        .any(|parameter| parameter.trim_start().starts_with(&format!("tw_{name} *")));
                    if fills && !parameters.contains("size_t size") {
                        assert!(
                            comment.contains(&initializer),
                            "{file}: {function} does not name {initializer}"
                        );
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked >= 5, "{checked}");
}

/// Returns the assertions that a C compiler must confirm.
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
        tw_expired { size, timer, deadline, expiry }
        tw_advance { size, delivered, moved }
        tw_sched_options { size, family, clock, tick_ns, capacity, flags }
        tw_firing { size, sched, id, due_ns, now_ns, overruns, token }
        tw_timing { base, missed, when_ns, period_ns, slack_ns, since_ns, reserved }
        tw_job { size, call, data, cleanup, token, flags, timing }
        tw_sched_info { size, id, int_id, state, due_ns, interval_ns, token, data }
        tw_sched_counts {
            size, timers, pending, high_water, armed, fired, canceled, overruns, passes, steps, heap_bytes,
            late_mean_ns, late_half_ns, late_most_ns, late_max_ns
        }
        tw_runtime_options { size, workers, stack_size, guard_size, kept_stacks }
        tw_thread_options { size, stack_size, guard_size, name, detached, flags }
    }
    for number in [
        "tw_family",
        "tw_clock",
        "tw_sched_flags",
        "tw_odict_how",
        "tw_base",
        "tw_missed",
        "tw_job_flags",
        "tw_state",
        "tw_cancel",
        "tw_model",
    ] {
        equal(format!("sizeof({number})"), size_of::<core::ffi::c_int>());
    }
    for &(name, number) in job::NUMBERS.iter().chain(runtime::NUMBERS) {
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
            let size = tw_queue_bytes(number, *capacity);
            assert!(size > 0);
            line(format!("_Static_assert({bytes} >= {size}, \"{bytes} is enough for {name}\");"));
        }
    }
    c
}

#[test]
fn headers_and_libraries_have_the_same_functions() {
    let ours: Vec<String> = functions(&sources()).into_keys().collect();
    assert!(ours.len() > 80, "{ours:?}");
    let headers = headers();
    let mut theirs: Vec<String> =
        headers.iter().flat_map(|(_, header)| declared(header)).map(|(name, _)| name).collect();
    theirs.sort_unstable();
    assert_eq!(theirs, ours);
}

/// Returns the codes in a comment, such as `-EINVAL`, from its lists and its text.
fn codes(comment: &str) -> impl Iterator<Item = &str> {
    comment.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').filter(|word| word.starts_with("-E"))
}

#[test]
fn every_comment_has_its_results_and_its_threads() {
    let headers = headers();
    let base = &headers.iter().find(|(name, _)| name.ends_with("base.h")).unwrap().1;
    let table = &base[..base.find("NAMES").unwrap()];
    let known: Vec<&str> = codes(table).collect();
    assert!(known.len() > 15, "{known:?}");
    for (file, header) in &headers {
        for (name, comment) in declared(header) {
            assert!(comment.contains("\n * Threads: "), "{file}: {name} does not speak of threads");
            let returns = ["int", "ptrdiff_t"].map(|of| header.contains(&format!("TW_API {of} {name}(")));
            let listed = comment.contains("\n * Returns:\n");
            assert!(listed || returns == [false; 2], "{file}: {name} has no list of results");
            for code in codes(comment) {
                assert!(known.contains(&code), "{file}: {name}: {code} is not in the table of base.h");
            }
        }
    }
}

/// Returns each function of the headers with each code that its comment lists.
fn refusals_of_headers() -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (_, header) in headers() {
        for (name, comment) in declared(&header) {
            let listed = codes(comment).filter(|code| ["-ENOMEM", "-EMFILE", "-EAGAIN"].contains(code));
            found.extend(listed.map(|code| (name.clone(), code[1..].to_owned())));
        }
    }
    found
}

/// Returns the rows `{ "tw_function", CODE }` of the C tests. A C test fails if a function never
/// returns the code of a row. See `ctest/refusals.h`.
fn refusals_of_tests() -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for file in fs::read_dir(here("ctest")).unwrap().map(|file| file.unwrap().path()) {
        let name = file.file_name().unwrap().to_string_lossy();
        if !(name.starts_with("no_") && name.ends_with(".c")) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let (_, rows) = text.split_once("#define REFUSALS").expect(&name);
        let (rows, program) = rows.split_once("#include \"refusals.h\"").expect(&name);
        assert!(program.contains("each_refusal_came("), "{name} does not check its rows");
        for row in rows.split("{ \"").skip(1) {
            let (function, rest) = row.split_once("\", ").unwrap();
            found.insert((function.to_owned(), rest.split_once(" }").unwrap().0.to_owned()));
        }
    }
    found
}

#[test]
fn a_test_provokes_each_lack_of_memory_descriptors_and_threads() {
    let listed = refusals_of_headers();
    assert!(listed.len() > 35, "{listed:?}");
    let provoked = refusals_of_tests();
    let missing: Vec<_> = listed.difference(&provoked).collect();
    assert!(missing.is_empty(), "in no REFUSALS of ctest/no_*.c: {missing:?}");
    let unlisted: Vec<_> = provoked.difference(&listed).collect();
    assert!(unlisted.is_empty(), "in no comment of a header: {unlisted:?}");
}

#[test]
fn every_code_has_a_text_and_stands_in_the_table() {
    let headers = headers();
    let base = &headers.iter().find(|(name, _)| name.ends_with("base.h")).unwrap().1;
    let in_table = codes(&base[..base.find("NAMES").unwrap()]).count();
    let with_text = (1..200).filter(|code| code::text(-code) != c"no code of this library").count();
    assert_eq!(in_table, with_text);
}

#[test]
fn no_line_of_a_header_is_longer_than_100_columns() {
    for (file, header) in headers() {
        for (at, line) in header.lines().enumerate() {
            assert!(line.chars().count() <= 100, "{file}:{}: {line}", at + 1);
        }
    }
}

/// Programs that a compiler must accept, each with a replacement that is a mistake. The compiler
/// must reject the program after the replacement.
const MISTAKES: &[(&str, &str)] = &[
    ("size_t bytes(void) { return tw_queue_bytes(TW_FAMILY_LIST, 0); }", "TW_FAMILY_LIST=>TW_CLOCK_VIRTUAL"),
    (
        "struct s { tw_timer t; }; struct s *of(tw_timer *t) { return TW_CONTAINER(t, struct s, t); }",
        "of(tw_timer=>of(tw_odlink",
    ),
    (
        "struct s { tw_timer t; }; struct s *of(tw_timer *t) { return TW_CONTAINER(t, struct s, t); }",
        "of(tw_timer=>of(const tw_timer",
    ),
    (
        "struct s { tw_timer t; }; const struct s *of(const tw_timer *t) { return TW_CONTAINER(t, struct s, t); }",
        "const struct s *of=>struct s *of",
    ),
];

#[test]
fn mistakes_with_types_do_not_compile() {
    for &(right, mistake) in MISTAKES {
        let (from, to) = mistake.split_once("=>").unwrap();
        let wrong = right.replacen(from, to, 1);
        assert_ne!(right, wrong);
        for language in [["-xc", "-std=c11"], ["-xc++", "-std=c++11"]] {
            let text = |text: &str| format!("#include <tickwright.h>\n{text}\n");
            let (taken, said) = compiles(&text(right), &language);
            assert!(taken, "{language:?}: {right}: {said}");
            assert!(!compiles(&text(&wrong), &language).0, "{language:?}: {wrong}");
        }
    }
}

/// Returns whether a compiler accepts a text without warnings, and the output of the compiler.
fn compiles(text: &str, language: &[&str]) -> (bool, String) {
    use core::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("tickwright-header-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (source, object) = (folder.join("confirm"), folder.join("confirm.o"));
    fs::write(&source, text).unwrap();
    let compiler = std::env::var_os("CC").unwrap_or("cc".into());
    let output = Command::new(compiler)
        .args(language)
        .args(["-pedantic", "-Wall", "-Wextra", "-Werror", "-c", "-I"])
        .arg(here("include"))
        .arg("-o")
        .args([&object, &source])
        .output()
        .expect("a C compiler is there, as `cc` or named by CC");
    fs::remove_dir_all(&folder).unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_c_compiler_confirms_signatures_numbers_and_sizes() {
    let (taken, said) = compiles(&confirmations(), &["-xc", "-std=c11"]);
    assert!(taken, "{said}");
}
