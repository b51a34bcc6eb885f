//! One line of strace.
//!
//! ```text
//!   [pid 7] 1795218604.80 poll([], 0, 5) = 0 (Timeout) <0.005>
//!   7       1795218604.80 poll([], 0, 5 <unfinished ...>
//!   7       1795218604.81 <... poll resumed>) = 0 (Timeout) <0.005>
//!   7<sh>   1795218604.82 --- SIGALRM {si_signo=SIGALRM, si_code=SI_KERNEL} ---
//!   task    stamp         body
//! ```

use crate::event::Ns;

/// When a line was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// `-ttt`: since 1970.
    Unix(Ns),
    /// `-r`: since the line before.
    Since(Ns),
    /// `-t` and `-tt`: the time of day.
    OfDay,
    /// There is none.
    Missing,
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body<'l> {
    /// The name of a call, and the text after its parenthesis.
    Call { name: &'l [u8], rest: &'l [u8] },
    /// The first half of a call. `child` is the thread that the call made, if the line names one.
    Begin { name: &'l [u8], rest: &'l [u8], child: Option<u32> },
    /// The second half.
    Resume { name: &'l [u8], rest: &'l [u8] },
    /// The text between the dashes.
    Signal(&'l [u8]),
    /// The thread ended.
    Exit,
    /// Something else.
    Other,
}

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'l> {
    /// The thread, if the line has its number.
    pub(super) task: Option<u32>,
    /// The thread's name, where strace wrote it (`-Y`).
    pub(super) name: &'l [u8],
    pub(super) stamp: Stamp,
    pub(super) body: Body<'l>,
}

/// A stamp below this many seconds comes from `-r`: strace did not exist in 1973.
const EARLIEST: u64 = 100_000_000;

/// A number above this is no thread id.
const LARGEST_TASK: u64 = 1 << 22;

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Line<'_> {
    let (task, name, rest) = task(line.trim_ascii_end());
    let (stamp, rest) = stamp(rest.trim_ascii_start());
    Line { task, name, stamp, body: body(rest) }
}

/// Parses the thread at the start of a line.
fn task(line: &[u8]) -> (Option<u32>, &[u8], &[u8]) {
    let (inner, end): (_, &[u8]) = match line.strip_prefix(b"[pid ") {
        Some(inner) => (inner.trim_ascii_start(), b"]"),
        None => (line.trim_ascii_start(), b" "),
    };
    let Some((number, rest)) = digits(inner) else { return (None, b"", line) };
    let (name, rest) = match rest.strip_prefix(b"<") {
        Some(named) => match find(named, &[b'>', end[0]]) {
            Some(at) => (&named[..at], &named[at + 1..]),
            None => return (None, b"", line),
        },
        None => (&b""[..], rest),
    };
    match rest.strip_prefix(end) {
        Some(rest) if number <= LARGEST_TASK => (Some(number as u32), name, rest),
        _ => (None, b"", line),
    }
}

/// Parses the stamp that follows the thread.
fn stamp(line: &[u8]) -> (Stamp, &[u8]) {
    let length = line.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'.' | b':')).count();
    let (text, rest) = line.split_at(length);
    let rest = match rest.strip_prefix(b" ") {
        Some(rest) if !text.is_empty() => rest.trim_ascii_start(),
        _ => return (Stamp::Missing, line),
    };
    if text.get(2) == Some(&b':') {
        return (Stamp::OfDay, rest);
    }
    let Some(ns) = seconds(text) else { return (Stamp::Missing, line) };
    if ns < EARLIEST as Ns * 1_000_000_000 {
        return (Stamp::Since(ns), rest);
    }
    // `-ttt -r` writes both stamps.
    let rest = match rest.strip_prefix(b"(+") {
        Some(both) => find(both, b") ").map_or(rest, |at| both[at + 2..].trim_ascii_start()),
        None => rest,
    };
    (Stamp::Unix(ns), rest)
}

fn body(text: &[u8]) -> Body<'_> {
    match text.first() {
        Some(b'+') if text.starts_with(b"+++ ") => Body::Exit,
        Some(b'-') if text.starts_with(b"--- ") => Body::Signal(text[4..].trim_ascii_start()),
        Some(b'<') => resumed(text).unwrap_or(Body::Other),
        Some(b'a'..=b'z' | b'_') => call(text).unwrap_or(Body::Other),
        _ => Body::Other,
    }
}

fn resumed(text: &[u8]) -> Option<Body<'_>> {
    let text = text.strip_prefix(b"<... ")?;
    let (name, rest) = word(text)?;
    Some(Body::Resume { name, rest: rest.strip_prefix(b" resumed>")? })
}

fn call(text: &[u8]) -> Option<Body<'_>> {
    let (name, rest) = word(text)?;
    let rest = rest.strip_prefix(b"(")?;
    for half in [&b"<unfinished ...>"[..], b"<detached ...>"] {
        if let Some(rest) = rest.strip_suffix(half) {
            return Some(Body::Begin { name, rest, child: None });
        }
    }
    // On a terminal, strace interrupts the line of a call with a message that its child appeared.
    if rest.ends_with(b" attached") {
        let note = b"strace: Process ";
        if let Some((at, (child, _))) =
            find(rest, note).and_then(|at| Some((at, digits(&rest[at + note.len()..])?)))
        {
            return Some(Body::Begin { name, rest: &rest[..at], child: u32::try_from(child).ok() });
        }
    }
    Some(Body::Call { name, rest })
}

/// Splits a name from the text after it.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = text.iter().take_while(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')).count();
    (length > 0).then(|| text.split_at(length))
}

/// Splits a decimal number from the text after it.
pub(super) fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut number = 0_u64;
    for digit in &text[..length] {
        number = number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    (length > 0).then_some((number, &text[length..]))
}

/// Parses a text such as `1795218604.800863`, with up to nine decimals or none, into ns.
pub(super) fn seconds(text: &[u8]) -> Option<Ns> {
    let (whole, rest) = digits(text)?;
    let mut ns = i64::try_from(whole).ok()?.checked_mul(1_000_000_000)?;
    if !rest.is_empty() {
        let decimals = rest.strip_prefix(b".")?;
        let (part, rest) = digits(decimals)?;
        if !rest.is_empty() || decimals.len() > 9 {
            return None;
        }
        ns = ns.checked_add(part as Ns * 10_i64.pow(9 - decimals.len() as u32))?;
    }
    Some(ns)
}

/// Where `what` is.
pub(super) fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|some| some == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: Ns = 1_795_218_604_800_863_000;

    #[test]
    fn threads_and_stamps() {
        let of = |line: &'static str| {
            let line = read(line.as_bytes());
            (line.task, line.name, line.stamp)
        };
        let none = &b""[..];
        assert_eq!(of("1795218604.800863 close(3) = 0"), (None, none, Stamp::Unix(NS)));
        assert_eq!(of("77 1795218604.800863 close(3) = 0"), (Some(77), none, Stamp::Unix(NS)));
        assert_eq!(of("[pid  77] 1795218604.800863 close(3)"), (Some(77), none, Stamp::Unix(NS)));
        let named = (Some(77), &b"a b"[..], Stamp::Unix(NS));
        assert_eq!(of("77<a b> 1795218604.800863 close(3)"), named);
        assert_eq!(of("[pid 77<a b>] 1795218604.800863 close(3)"), named);
        assert_eq!(of("77      0.000150 close(3) = 0"), (Some(77), none, Stamp::Since(150_000)));
        assert_eq!(of("     0.000150 close(3) = 0"), (None, none, Stamp::Since(150_000)));
        assert_eq!(of("77 09:30:00.123456 close(3)"), (Some(77), none, Stamp::OfDay));
        assert_eq!(of("09:30:00 close(3)"), (None, none, Stamp::OfDay));
        assert_eq!(of("77 close(3)"), (Some(77), none, Stamp::Missing));
        assert_eq!(of("1795218604 close(3)").2, Stamp::Unix(NS - 800_863_000));
    }

    #[test]
    fn bodies() {
        let of = |line: &'static [u8]| body(line);
        assert_eq!(of(b"poll([], 0, 5) = 0"), Body::Call { name: b"poll", rest: b"[], 0, 5) = 0" });
        let begin = Body::Begin { name: b"poll", rest: b"[], 0, 5 ", child: None };
        assert_eq!(of(b"poll([], 0, 5 <unfinished ...>"), begin);
        assert_eq!(of(b"poll([], 0, 5 <detached ...>"), begin);
        let made = Body::Begin { name: b"fork", rest: b"", child: Some(9) };
        assert_eq!(of(b"fork(strace: Process 9 attached"), made);
        assert_eq!(of(b"<... poll resumed> ) = 0"), Body::Resume { name: b"poll", rest: b" ) = 0" });
        assert_eq!(of(b"--- SIGALRM {} ---"), Body::Signal(b"SIGALRM {} ---"));
        assert_eq!(of(b"+++ exited with 0 +++"), Body::Exit);
        for other in [&b""[..], b"+", b"<", b"<... ", b"poll", b" > /lib/libc.so(poll+0x1)", b"\xff\0"] {
            assert_eq!(body(other), Body::Other);
        }
    }

    #[test]
    fn both_stamps() {
        let line = read(b"1795218604.800863 (+     0.000042) poll([], 0, 5) = 0");
        assert_eq!((line.stamp, body(b"poll([], 0, 5) = 0")), (Stamp::Unix(NS), line.body));
    }
}
