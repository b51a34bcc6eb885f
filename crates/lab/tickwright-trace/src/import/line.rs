//! One line of a kernel's trace.
//!
//! ```text
//!   who         cpu   flags time            name         fields
//!   Xorg-1684   [000] d...  1140567.102754: timer_start: timer=ffff8800b20300f0 expires=45 ...
//!   sleep 16431 [001]       1058.786425:    timer:hrtimer_start: hrtimer=0xffffc900 expires=1 ...
//!   [1361214076.525092220] (+0.000002128) VM1 timer_start: { cpu_id = 0 }, { timer = 184, ... }
//! ```

use super::loss::loss;
use crate::event::Ns;

/// One of the kernel's two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Queue {
    /// `timer_list`: the wheel, whose ticks are jiffies.
    Wheel,
    /// `hrtimer`: a tree, whose ticks are ns of one of several clocks.
    HighResolution,
}

/// The number of a clock, with the values of `clock_gettime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockId(u8);

impl ClockId {
    pub(super) fn new(number: u64) -> Option<Self> {
        Some(Self(number.try_into().ok()?))
    }

    /// Reads the value of a field `clockid`: a name, or a number as babeltrace writes it.
    fn read(text: &str) -> Option<Self> {
        Some(Self(match text {
            "CLOCK_REALTIME" => 0,
            "CLOCK_MONOTONIC" => 1,
            "CLOCK_BOOTTIME" => 7,
            "CLOCK_TAI" => 11,
            other => other.parse().ok()?,
        }))
    }
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A new timer begins to use this address.
    Init,
    Start {
        expires: u64,
        /// The tick of the queue, if the line has one.
        now: Option<u64>,
        was_armed: Option<bool>,
    },
    /// The timer was detached: to expire, to be started again, or because it was cancelled.
    Cancel,
    Expire {
        now: Option<u64>,
    },
    /// The number of events that were lost (0: unknown).
    Lost(u64),
}

/// A line that is a timer event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'l> {
    /// The time of the line, on the clock of the trace.
    pub(super) time: Ns,
    pub(super) cpu: Option<u16>,
    pub(super) thread: &'l str,
    pub(super) queue: Queue,
    pub(super) address: u64,
    pub(super) function: &'l str,
    /// The clock of a new timer.
    pub(super) clock: Option<ClockId>,
    pub(super) said: Said,
}

impl Line<'_> {
    pub(super) const fn lost(count: u64) -> Self {
        let (time, queue, said) = (0, Queue::Wheel, Said::Lost(count));
        Self { time, cpu: None, thread: "", queue, address: 0, function: "", clock: None, said }
    }
}

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read<'l> {
    Event(Line<'l>),
    /// Something else.
    Other,
    /// A timer event that cannot be read.
    Unreadable,
}

/// The names of events. A name that contains another name comes before that other name.
const NAMES: [(&str, Queue, Said); 10] = [
    ("hrtimer_start: ", Queue::HighResolution, START),
    ("hrtimer_cancel: ", Queue::HighResolution, Said::Cancel),
    ("hrtimer_expire_entry: ", Queue::HighResolution, EXPIRE),
    ("hrtimer_init: ", Queue::HighResolution, Said::Init),
    ("hrtimer_setup: ", Queue::HighResolution, Said::Init),
    ("timer_start: ", Queue::Wheel, START),
    ("timer_cancel: ", Queue::Wheel, Said::Cancel),
    ("timer_expire_entry: ", Queue::Wheel, EXPIRE),
    ("timer_init: ", Queue::Wheel, Said::Init),
    ("timer_setup: ", Queue::Wheel, Said::Init),
];
const START: Said = Said::Start { expires: 0, now: None, was_armed: None };
const EXPIRE: Said = Said::Expire { now: None };

/// Returns the meaning of an event's name, without its values.
pub(super) fn named(event: &str) -> Option<(Queue, Said)> {
    let is_named = |(name, ..): &&(&str, Queue, Said)| name.strip_suffix(": ") == Some(event);
    NAMES.iter().find(is_named).map(|&(_, queue, said)| (queue, said))
}

/// Reads a line.
pub(super) fn read(line: &str) -> Read<'_> {
    let Some((head, queue, said, fields)) = split(line) else {
        let Some(lost) = loss(line) else { return Read::Other };
        return Read::Event(Line::lost(lost));
    };
    event(head, queue, said, fields).map_or(Read::Unreadable, Read::Event)
}

/// Returns why a line cannot be read and how to record readable lines, if the reason is clear.
pub(super) fn remedy(line: &str) -> Option<&'static str> {
    let bracketed = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    if bracketed.is_some_and(|(time, _)| time.bytes().filter(|&byte| byte == b':').count() == 2) {
        return Some("the times have no date; use babeltrace --clock-seconds");
    }
    if line.contains("us : ") || line.contains("us+: ") || line.contains("us!: ") {
        return Some("this is the latency format; record with echo 0 > options/latency-format in tracefs");
    }
    let hidden = ["timer=0000000000000000", "timer=0x0 ", "timer=(null)"];
    if hidden.iter().any(|hidden| line.contains(hidden)) {
        return Some("the kernel hides addresses; record as root, with kernel.kptr_restrict=0");
    }
    None
}

/// Splits a line into the text before the event's name, the event, and the text after it.
fn split(line: &str) -> Option<(&str, Queue, Said, &str)> {
    let mut from = 0;
    // The name of a thread can contain the name of an event. Only the real name of the event has a
    // time before it.
    while let Some(at) = line[from..].find("timer_").map(|at| at + from) {
        from = at + "timer_".len();
        let begin = if line[..at].ends_with("hr") { at - 2 } else { at };
        let name = NAMES.iter().find(|(name, ..)| line[begin..].starts_with(name));
        let Some(&(name, queue, said)) = name else { continue };
        let head = line[..begin].strip_suffix("timer:").unwrap_or(&line[..begin]).trim_end();
        if head.ends_with(':') || head.starts_with('[') {
            return Some((head, queue, said, &line[begin + name.len()..]));
        }
    }
    None
}

fn event<'l>(head: &'l str, queue: Queue, said: Said, fields: &'l str) -> Option<Line<'l>> {
    let key = if queue == Queue::Wheel { "timer" } else { "hrtimer" };
    // If the kernel hides addresses, every timer has address 0.
    let address = number(field(fields, key)?).filter(|&address| address != 0)?;
    let said = match said {
        Said::Start { .. } => {
            let expires = decimal(field(fields, "expires")?)?;
            // The field `timeout` counts from the queue's tick.
            let now = match field(fields, "[timeout") {
                Some(timeout) => {
                    let timeout: i64 = timeout.trim_end_matches(']').parse().ok()?;
                    // Both differences are modulo 2^64, so `expires - now` equals the time-out even
                    // after a wrap.
                    Some(expires.wrapping_sub(timeout.cast_unsigned()))
                }
                None => field(fields, "now").and_then(decimal),
            };
            Said::Start { expires, now, was_armed: field(fields, "was_armed").map(|armed| armed != "0") }
        }
        Said::Expire { .. } => Said::Expire { now: Some(decimal(field(fields, "now")?)?) },
        other => other,
    };
    let function = field(fields, "function").unwrap_or("");
    let clock = field(fields, "clockid").and_then(ClockId::read);
    // The name of a thread can begin with a bracket too.
    let bracketed = head.strip_prefix('[').and_then(|rest| seconds(rest.split_once(']')?.0));
    let (time, cpu, thread) = match bracketed {
        Some(time) => (time, field(fields, "cpu_id").and_then(|cpu| cpu.parse().ok()), ""),
        None => who(head)?,
    };
    Some(Line { time, cpu, thread, queue, address, function, clock, said })
}

/// Parses time, processor and thread from the text before the name: `comm-pid (tgid) [cpu] flags
/// time:`.
fn who(head: &str) -> Option<(Ns, Option<u16>, &str)> {
    let head = head.strip_suffix(':')?.trim_end();
    let (before, time) = head.rsplit_once(char::is_whitespace)?;
    let open = before.rfind('[')?;
    let (cpu, _) = before[open + 1..].split_once(']')?;
    let mut thread = before[..open].trim();
    if let Some((name, _)) = thread.rsplit_once(" (").filter(|(_, group)| group.ends_with(')')) {
        thread = name.trim_end();
    }
    Some((seconds(time)?, cpu.trim().parse().ok(), thread))
}

/// Parses seconds such as `1058.786425`, with any number of decimals, into ns.
fn seconds(text: &str) -> Option<Ns> {
    let (whole, part) = text.split_once('.')?;
    if part.is_empty() || part.len() > 9 || !part.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let whole: Ns = whole.parse().ok()?;
    let part = part.parse::<Ns>().ok()? * 10_i64.pow(9 - part.len() as u32);
    whole.checked_mul(1_000_000_000)?.checked_add(part)
}

/// Returns the value of `key=value` or `key = value`.
fn field<'l>(fields: &'l str, key: &str) -> Option<&'l str> {
    let mut from = 0;
    while let Some(at) = fields[from..].find(key).map(|at| at + from) {
        from = at + key.len();
        let is_word = fields[..at].bytes().next_back().is_none_or(|byte| matches!(byte, b' ' | b'{'));
        let value = fields[from..].trim_start().strip_prefix('=');
        if let Some(value) = value.filter(|_| is_word) {
            let value = value.trim_start();
            let end = value.find([' ', ',', '}', '\n']).unwrap_or(value.len());
            return Some(&value[..end]).filter(|value| !value.is_empty());
        }
    }
    None
}

fn decimal(text: &str) -> Option<u64> {
    text.parse().ok()
}

/// Parses an address: `0xffff`, `ffff`, or decimal as babeltrace writes it.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        // A number of 17 digits or more is decimal.
        None if text.len() > 16 => decimal(text),
        None => u64::from_str_radix(text, 16).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Line<'_> {
        match read(line) {
            Read::Event(line) => line,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn ftrace() {
        let text = " irq/51-DLL075B:-194     [000] d..1.  7542.707710: timer_start: timer=00000000630ae178 \
                    function=process_timeout expires=4296778179 [timeout=250] bucket_expiry=4296778184 cpu=0 idx=121 flags=";
        let line = parsed(text);
        assert_eq!((line.time, line.cpu, line.thread), (7_542_707_710_000, Some(0), "irq/51-DLL075B:-194"));
        assert_eq!((line.queue, line.address, line.function), (Queue::Wheel, 0x630a_e178, "process_timeout"));
        let said = Said::Start { expires: 4_296_778_179, now: Some(4_296_777_929), was_armed: None };
        assert_eq!(line.said, said);
        let text = "   Xorg-1684  (  1680) [003] d... 1140567.102754: timer_start: timer=ffff8800b20300f0 \
                    function=intel_uncore_fw_release_timer [i915] expires=4579967822 [timeout=1] flags=0x00000001";
        let line = parsed(text);
        assert_eq!((line.thread, line.cpu), ("Xorg-1684", Some(3)));
        assert_eq!(line.function, "intel_uncore_fw_release_timer");
        let text = "          <idle>-0       [001] ..s1... 100.004008: timer_expire_entry: \
                    timer=0000000049d1e620 function=tcp_write_timer now=4311720608 baseclk=4311720608";
        assert_eq!(parsed(text).said, Said::Expire { now: Some(4_311_720_608) });
    }

    #[test]
    fn trace_cmd_and_perf() {
        let text = "   phc2sys-1615  [010]    74.518353: hrtimer_start: hrtimer=0xffffa6f9413a3940 \
                    function=hrtimer_wakeup/0x0 expires=74484232878 softexpires=74484231878";
        let line = parsed(text);
        assert_eq!((line.queue, line.function), (Queue::HighResolution, "hrtimer_wakeup/0x0"));
        assert_eq!(line.said, Said::Start { expires: 74_484_232_878, now: None, was_armed: None });
        let text = "           sleep 16431 [001]  1058.786425:        timer:hrtimer_start: hrtimer=0xffffc90003373d90 \
                    function=hrtimer_wakeup expires=1058835889488 softexpires=1058835839488 mode=0x1 was_armed=1";
        let line = parsed(text);
        assert_eq!((line.thread, line.address), ("sleep 16431", 0xffff_c900_0337_3d90));
        assert_eq!(line.said, Said::Start { expires: 1_058_835_889_488, now: None, was_armed: Some(true) });
    }

    #[test]
    fn babeltrace() {
        let text = "[1361214076.525092220] (+0.000002128) VM1 timer_start: { cpu_id = 2 }, \
                    { timer = 18446612132819818688, function = 18446744071579262592, expires = 42, now = 39 }";
        let line = parsed(text);
        assert_eq!((line.time, line.cpu), (1_361_214_076_525_092_220, Some(2)));
        assert_eq!((line.address, line.function), (18_446_612_132_819_818_688, "18446744071579262592"));
        assert_eq!(line.said, Said::Start { expires: 42, now: Some(39), was_armed: None });
    }

    #[test]
    fn what_is_no_event_and_what_cannot_be_read() {
        for other in
            ["", "# tracer: nop", "a-1 [000] d... 1.5: sched_switch: x=1", "timer_start: timer=1 expires=2"]
        {
            assert_eq!(read(other), Read::Other, "{other}");
        }
        for cut in [
            "a-1 [000] d... 1.5: timer_start: timer=00 function=f expires=",
            "a-1 [000] d... 1.5: timer_start: timer=",
            "a-1 [000] d... x.5: timer_start: timer=00 expires=1",
            "a-1 d... 1.5: timer_start: timer=00 expires=1",
            "[1.5 x timer_cancel: { timer = 5 }",
            "a-1 [000] d... 1.5: timer_cancel: timer=0000000000000000",
        ] {
            assert_eq!(read(cut), Read::Unreadable, "{cut}");
        }
        let named = "timer_start: -7 [001] d... 1.5: timer_cancel: timer=00000000000000ff";
        assert_eq!((parsed(named).said, parsed(named).thread), (Said::Cancel, "timer_start: -7"));
        let bracket = parsed("[a]-7 [001] d... 1.5: timer_cancel: timer=00000000000000ff");
        assert_eq!((bracket.thread, bracket.time), ("[a]-7", 1_500_000_000));
        assert_eq!(parsed("CPU:3 [LOST 1234 EVENTS]").said, Said::Lost(1234));
    }
}
