//! The ring between a recorded process and its recorder: a file that both map.
//!
//! ```text
//!   page 0..1      header: who writes, head, tail, lost; see `Header`
//!   page 1..9      a copy of /proc/self/maps, made when the process began
//!   page 9..       CAPACITY slots of 64 bytes
//!
//!   tail ──────── head           tail: the recorder's; all before it was read
//!    │ committed │ reserved │    head: the writers'; each takes the next position
//! ```
//!
//! # Invariants
//! 1. `head - tail` is at most the number of slots: a writer that finds the ring full counts a loss
//!    and reserves no slot, so a slot is overwritten only after its record was read.
//! 2. The slot of position `p` is committed when its sequence is `p + 1`. The writer stores the
//!    sequence last, with release; the recorder loads it first, with acquire.
//! 3. A writer takes no lock and waits for no thread. A signal handler that interrupts a writer
//!    takes the next position.
//!
//! This file is compiled into the recorded process's library and into the recorder.

use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// The first word of a ring: `twring` and the version of this layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"twring\0\x01");

/// How many records fit into the ring of a process; their slots take 4 MiB.
pub const CAPACITY: usize = 1 << 16;

/// The bytes of the copy of `/proc/self/maps`.
pub const MAPS: usize = 8 * PAGE;

const PAGE: usize = 4096;

/// The environment variable that names the folder of the rings.
pub const FOLDER: &core::ffi::CStr = c"TICKWRIGHT_RECORD";

/// The header: facts about the process, and the two ends of its ring.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Header {
    /// [`MAGIC`], once all other fields of the header are written.
    pub magic: AtomicU64,
    /// The id of the process.
    pub pid: AtomicU64,
    /// The time at which the process began to record, on `CLOCK_MONOTONIC`, in ns.
    pub started_ns: AtomicU64,
    /// The cost of one record in picoseconds, which the process measured when it began.
    pub cost_ps: AtomicU64,
    /// How many slots have memory, from the first on.
    pub populated: AtomicU64,
    /// How many bytes of [`MAPS`] are used.
    pub maps_bytes: AtomicU64,
    /// How many records found no room.
    pub lost: AtomicU64,
    /// The time of the last lost record, to place the loss in the trace.
    pub lost_at_ns: AtomicU64,
    /// How many positions writers have reserved.
    pub head: Line,
    /// How many records the recorder has read.
    pub tail: Line,
}

/// A counter that has a cache line to itself.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Line(pub AtomicU64);

/// A slot: the memory of one record, and its sequence.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Slot {
    sequence: AtomicU64,
    words: [AtomicU64; 7],
}

/// A whole ring, with the layout of its file.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Ring {
    /// The header, which is page 0.
    pub header: Header,
    _rest: [u8; PAGE - size_of::<Header>()],
    /// The copy of `/proc/self/maps`; a recorder reads it from the file.
    pub maps: [AtomicU64; MAPS / 8],
    /// The records.
    pub slots: [Slot; CAPACITY],
}

/// The bytes of a file with a ring.
pub const BYTES: usize = size_of::<Ring>();
/// The bytes before the slots.
pub const FRONT: usize = PAGE + MAPS;
/// Where the copy of `/proc/self/maps` begins.
pub const MAPS_AT: usize = PAGE;

const _: () = assert!(BYTES == FRONT + CAPACITY * 64 && size_of::<Slot>() == 64);

/// One operation on one timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// When the operation happened, on `CLOCK_MONOTONIC`, in ns.
    pub time_ns: u64,
    /// For [`op::ARM`], the time at which the timer is due, on the same clock.
    pub deadline_ns: u64,
    /// For [`op::ARM`], the timer's period in ns; 0 if the timer expires once.
    pub period_ns: u64,
    /// The timer's name within its source: an address, a descriptor or an id. 0 for waits.
    pub id: u64,
    /// The return address of the call.
    pub site: u64,
    /// The thread that made the call.
    pub thread: u32,
    /// The processor on which the thread ran.
    pub cpu: u16,
    /// A number of [`source`].
    pub source: u8,
    /// A number of [`op`].
    pub op: u8,
}

/// What happened to the timer of a record.
pub mod op {
    /// The timer was armed or moved, or a wait began.
    pub const ARM: u8 = 0;
    /// The timer was cancelled, or a wait ended before its time-out.
    pub const STOP: u8 = 1;
    /// The timer expired, or a wait ended by its time-out.
    pub const FIRE: u8 = 2;
}

/// Where a timer comes from.
pub mod source {
    /// The names of the sources, by number.
    pub const NAMES: [&str; 12] = [
        "libevent",
        "libuv",
        "libev",
        "timerfd",
        "posix-timer",
        "itimer",
        "poll",
        "epoll",
        "select",
        "sleep",
        "cond",
        "sem",
    ];
    /// Events of libevent with a time-out.
    pub const LIBEVENT: u8 = 0;
    /// Timers of libuv.
    pub const LIBUV: u8 = 1;
    /// Timers of libev.
    pub const LIBEV: u8 = 2;
    /// `timerfd_settime`; the id is the descriptor.
    pub const TIMERFD: u8 = 3;
    /// `timer_settime`.
    pub const POSIX: u8 = 4;
    /// `setitimer` and `alarm`; the id is the number of the interval timer.
    pub const ITIMER: u8 = 5;
    /// Time-outs of `poll` and `ppoll`.
    pub const POLL: u8 = 6;
    /// Time-outs of `epoll_wait` and its variants.
    pub const EPOLL: u8 = 7;
    /// Time-outs of `select` and `pselect`.
    pub const SELECT: u8 = 8;
    /// `nanosleep` and its variants.
    pub const SLEEP: u8 = 9;
    /// `pthread_cond_timedwait` and its variants.
    pub const COND: u8 = 10;
    /// `sem_timedwait` and its variants.
    pub const SEM: u8 = 11;
}

impl Record {
    fn words(&self) -> [u64; 7] {
        let [low, high] = self.cpu.to_le_bytes();
        let tag = [low, high, self.source, self.op];
        let who = u64::from(self.thread) << 32 | u64::from(u32::from_le_bytes(tag));
        [self.time_ns, self.deadline_ns, self.period_ns, self.id, self.site, who, 0]
    }

    fn of(words: [u64; 7]) -> Self {
        let [time_ns, deadline_ns, period_ns, id, site, who, _] = words;
        let [low, high, source, op, ..] = who.to_le_bytes();
        let cpu = u16::from_le_bytes([low, high]);
        Self { time_ns, deadline_ns, period_ns, id, site, thread: (who >> 32) as u32, cpu, source, op }
    }
}

/// Appends a record. The call takes no lock and allocates nothing. A signal handler is allowed to
/// call it. Returns whether the ring had room; if not, the record is counted as lost.
#[inline]
pub fn push(header: &Header, slots: &[Slot], record: &Record) -> bool {
    let Some(at) = reserve(header, slots.len() as u64, header.head.0.load(Relaxed)) else {
        header.lost_at_ns.store(record.time_ns, Relaxed);
        header.lost.fetch_add(1, Relaxed);
        return false;
    };
    let slot = &slots[at as usize & (slots.len() - 1)];
    for (word, value) in slot.words.iter().zip(record.words()) {
        word.store(value, Relaxed);
    }
    slot.sequence.store(at + 1, Release);
    true
}

/// Reserves the next position. Returns `None` if all slots are in use. `at` is the head that the
/// caller loaded, perhaps long ago.
#[inline]
pub(crate) fn reserve(header: &Header, slots: u64, mut at: u64) -> Option<u64> {
    let (head, tail) = (&header.head.0, &header.tail.0);
    loop {
        // The tail's acquire pairs with the recorder's release: the recorder has read the slot.
        if at.wrapping_sub(tail.load(Acquire)) < slots {
            match head.compare_exchange_weak(at, at + 1, Relaxed, Relaxed) {
                Ok(_) => return Some(at),
                Err(now) => at = now,
            }
            continue;
        }
        // A thread could have been preempted since it loaded the head, and the tail can have passed
        // that head; the difference is then huge. If the head has not moved since, it was current
        // when the tail was loaded, so the ring was full.
        let now = head.load(Relaxed);
        if now == at {
            return None;
        }
        at = now;
    }
}

/// The result of one read by the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the recorder's side")]
pub struct Portion {
    /// How many records the recorder read.
    pub records: usize,
    /// Whether the recorder read up to the head. If not, a writer has reserved a slot but not
    /// committed it.
    pub is_whole: bool,
}

/// Reads at most `slots.len()` records in order, and frees the slots of these records. Stops at the
/// first record that is not committed.
#[allow(dead_code, reason = "the recorder's side")]
pub fn drain(header: &Header, slots: &[Slot], mut each: impl FnMut(Record)) -> Portion {
    let tail = header.tail.0.load(Relaxed);
    let mut at = tail;
    // Slots from the head on can be without memory. A head that is out of range counts as an empty
    // ring.
    let taken = header.head.0.load(Acquire).wrapping_sub(tail);
    let taken = if taken <= slots.len() as u64 { taken } else { 0 };
    while at.wrapping_sub(tail) < taken {
        let slot = &slots[at as usize & (slots.len() - 1)];
        if slot.sequence.load(Acquire) != at.wrapping_add(1) {
            break;
        }
        each(Record::of(slot.words.each_ref().map(|word| word.load(Relaxed))));
        at = at.wrapping_add(1);
    }
    header.tail.0.store(at, Release);
    let records = at.wrapping_sub(tail);
    Portion { records: records as usize, is_whole: records == taken }
}

/// Frees a slot that a dead process reserved but never committed. Returns whether there was such a
/// slot.
#[allow(dead_code, reason = "the recorder's side")]
pub fn skip(header: &Header) -> bool {
    let tail = header.tail.0.load(Relaxed);
    let is_behind = header.head.0.load(Acquire).wrapping_sub(tail).wrapping_sub(1) < u64::MAX / 2;
    if is_behind {
        header.tail.0.store(tail.wrapping_add(1), Release);
    }
    is_behind
}
