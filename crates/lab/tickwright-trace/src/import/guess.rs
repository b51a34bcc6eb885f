//! Has the list of the formats that can be imported, and finds out which program wrote a source.

use core::fmt;

use super::{line, perfetto};

/// The kind of program that wrote an input file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The Linux kernel: ftrace, trace-cmd report, perf script, babeltrace.
    Kernel,
    /// Perfetto, as on Android: the same events as protobuf.
    Perfetto,
    /// Chrome, Edge, Electron, Node's inspector.
    Chrome,
    /// CSV with the columns of [`text`](crate::text).
    Csv,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "text of the Linux kernel's timer events",
            Self::Perfetto => "a trace of Perfetto",
            Self::Chrome => "a trace of a browser or of Node",
            Self::Csv => "CSV",
        })
    }
}

/// Files that no importer reads: their first bytes, and what the user can do with such a file.
const OTHERS: [(&[u8], &str); 9] = [
    (b"\x89TWT", "it is a trace already: use it as it is"),
    (b"\xfd7zXZ", "it is packed with xz: use `xz -dc FILE | tickwright import -`"),
    (b"\x28\xb5\x2f\xfd", "it is packed with zstd: use `zstd -dc FILE | tickwright import -`"),
    (b"BZh", "it is packed with bzip2: use `bzip2 -dc FILE | tickwright import -`"),
    (b"\x04\x22\x4d\x18", "it is packed with lz4: use `lz4 -dc FILE | tickwright import -`"),
    (b"PERFILE2", "it is binary: use `perf script -i FILE | tickwright import -`"),
    (b"\x17\x08\x44tracing", "it is binary: use `trace-cmd report FILE | tickwright import -`"),
    (b"\xff\xfe", "it is UTF-16: use `iconv -f UTF-16 -t UTF-8 FILE | tickwright import -`"),
    (b"\xfe\xff", "it is UTF-16: use `iconv -f UTF-16 -t UTF-8 FILE | tickwright import -`"),
];

impl Source {
    /// Finds out which program wrote a source, from the source's beginning (see
    /// [`Unpacked::beginning`](super::Unpacked::beginning)). If no parser understands the
    /// beginning, the source counts as the kernel's, because a kernel's trace can begin with events
    /// that are not timer events.
    ///
    /// # Errors
    /// If no importer reads such a file. The error says what to do.
    pub fn guess(beginning: &[u8]) -> Result<Self, &'static str> {
        if let Some((_, why)) = OTHERS.iter().find(|(first, _)| beginning.starts_with(first)) {
            return Err(why);
        }
        if perfetto::is_perfetto(beginning) {
            return Ok(Self::Perfetto);
        }
        let mut shown = beginning.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
        match (shown.next(), shown.next()) {
            (Some(b'{'), _) | (Some(b'['), Some(b'{' | b']') | None) => return Ok(Self::Chrome),
            _ => {}
        }
        // A row can be quoted. Only the names in the first row decide.
        let mut csv = csv::ReaderBuilder::new().flexible(true).from_reader(beginning);
        let names = csv.headers().cloned().unwrap_or_default();
        if names.iter().any(|name| name.trim() == "time_ns") {
            return Ok(Self::Csv);
        }
        let text = String::from_utf8_lossy(beginning);
        let is_of_kernel = |text: &str| !matches!(line::read(text.trim_end()), line::Read::Other);
        if text.lines().any(is_of_kernel) {
            return Ok(Self::Kernel);
        }
        if text.lines().any(is_system_call) {
            return Err(SYSTEM_CALLS);
        }
        // The importer of CSV says which column is misspelt.
        Ok(if is_heading(&names) { Self::Csv } else { Self::Kernel })
    }
}

/// Why such a source is refused: a wait does not show a program's own timers, and the kernel's
/// trace has the program's other timers too.
const SYSTEM_CALLS: &str = "it lists system calls, which show waits and not timers: as root, record the timers \
                            of the kernel instead with `perf record -a -e 'timer:hrtimer_*' -- PROGRAM`, then use \
                            `perf script | tickwright import -`";

/// Returns whether the first row of a file can be the heading of a CSV: at least three words.
fn is_heading(names: &csv::StringRecord) -> bool {
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || " _-".contains(letter);
    let is_word = |name: &str| {
        name.trim_start().starts_with(|first: char| first.is_ascii_alphabetic())
            && name.chars().all(is_of_word)
    };
    names.len() >= 3 && names.iter().all(is_word)
}

/// Returns whether a line is a call as strace prints it:
/// `7 1700000000.5 poll([], 0, 5) = 0 (Timeout)`.
fn is_system_call(line: &str) -> bool {
    let Some((head, rest)) = line.split_once('(') else { return false };
    let name = head.rsplit(' ').next().unwrap_or(head);
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    is_name && (rest.contains(") = ") || rest.trim_end().ends_with("<unfinished ...>"))
}
