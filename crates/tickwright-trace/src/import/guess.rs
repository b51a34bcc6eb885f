//! Finds out what wrote a source.

use core::fmt;

use super::{line, strace};

/// What wrote a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The Linux kernel: ftrace, trace-cmd report, perf script, babeltrace.
    Kernel,
    /// Chrome, Edge, Electron, Node's inspector.
    Chrome,
    /// strace.
    Strace,
    /// CSV with the columns of [`text`](crate::text).
    Csv,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "text of the Linux kernel's timer events",
            Self::Chrome => "a trace of a browser or of Node",
            Self::Strace => "lines of strace",
            Self::Csv => "CSV",
        })
    }
}

/// Files that no importer reads, by their first bytes, and what to do with them.
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
    /// Finds out what wrote a source, from its beginning (see
    /// [`Unpacked::beginning`](super::Unpacked::beginning)). Each parser tries the lines, and the
    /// parser that understands the most wins. If none understands any, it is the kernel's: a trace
    /// of the kernel may begin with other events.
    ///
    /// # Errors
    /// No importer reads such a file; the error says what to do.
    pub fn guess(beginning: &[u8]) -> Result<Self, &'static str> {
        if let Some((_, why)) = OTHERS.iter().find(|(first, _)| beginning.starts_with(first)) {
            return Err(why);
        }
        let mut shown = beginning.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
        match (shown.next(), shown.next()) {
            (Some(b'{'), _) | (Some(b'['), Some(b'{' | b']') | None) => return Ok(Self::Chrome),
            _ => {}
        }
        // A row may be quoted. Only the first one counts.
        let mut csv = csv::ReaderBuilder::new().flexible(true).from_reader(beginning);
        if csv.headers().is_ok_and(|names| names.iter().any(|name| name.trim() == "time_ns")) {
            return Ok(Self::Csv);
        }
        let (mut of_kernel, mut of_strace) = (0, 0);
        for bytes in beginning.split(|&byte| byte == b'\n') {
            of_strace += u64::from(strace::is_line(bytes));
            let text = String::from_utf8_lossy(bytes);
            of_kernel += u64::from(!matches!(line::read(text.trim_end()), line::Read::Other));
        }
        Ok(if of_strace > of_kernel { Self::Strace } else { Self::Kernel })
    }
}
