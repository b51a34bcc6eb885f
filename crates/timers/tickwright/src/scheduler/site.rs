//! The origins of timers, and the counts for each origin. An origin is the name of a callback and
//! the place of the call that added the timer.

use core::panic::Location;
use std::collections::HashMap;

/// The origin of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The name of the timer's callback. It can be empty.
    pub name: &'static str,
    /// The file of the call that added the timer.
    pub file: &'static str,
    /// The line of that call.
    pub line: u32,
}

/// Describes where a timer comes from. The key is cheap to compare, and the description is built
/// only once per key.
///
/// Origins with equal keys are counted as one. The scheduler calls both methods under its lock, so
/// the methods must not call the scheduler.
pub trait Origin {
    /// Returns the key, which distinguishes origins.
    fn key(&self) -> [usize; 3];
    /// Returns the description of the origin. The scheduler calls this once per key.
    fn site(&self) -> Site;
}

/// The key contains the addresses of the texts, so equal texts at different addresses are different
/// origins.
impl Origin for Site {
    fn key(&self) -> [usize; 3] {
        [self.name.as_ptr().addr(), self.file.as_ptr().addr(), self.line as usize]
    }

    fn site(&self) -> Site {
        *self
    }
}

impl Site {
    /// Creates an origin from the calling line and the callback's name.
    #[track_caller]
    #[must_use]
    pub fn here(name: &'static str) -> Self {
        let caller = Location::caller();
        Self { name, file: caller.file(), line: caller.line() }
    }
}

/// The counts of one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SiteCounts {
    /// The origin.
    pub site: Site,
    /// How many timers were added with this origin so far, including timers that were removed.
    pub added: u64,
    /// How often the callbacks of these timers ran.
    pub fired: u64,
    /// How many of these runs ended in a panic.
    pub panicked: u64,
}

/// The number of origins that are counted separately. All later origins are counted together, under
/// the name "(others)".
const MOST: usize = 1024;
const _: () = assert!(MOST <= NONE as usize);
/// The number of cells of a small cache of recent origins, which are found without hashing.
const RECENT: usize = 64;
/// Marks an unused cell of the cache. The mark takes the place of the origin's number, because no
/// key can serve as a mark: an origin can have any key.
const NONE: u16 = u16::MAX;

/// The origins seen so far, by number.
pub(super) struct Sites {
    rows: Vec<SiteCounts>,
    known: HashMap<[usize; 3], u16>,
    recent: [([usize; 3], u16); RECENT],
    /// The last origin that was looked up, because a loop that adds timers looks up the same origin
    /// repeatedly.
    last: ([usize; 3], u16),
}

impl Sites {
    /// Creates an empty table. Returns `None` if there is no memory.
    pub(super) fn new() -> Option<Self> {
        let others = Site { name: "(others)", file: "", line: 0 };
        let mut rows = Vec::new();
        rows.try_reserve(1).ok()?;
        rows.push(SiteCounts { site: others, added: 0, fired: 0, panicked: 0 });
        Some(Self { rows, known: HashMap::new(), recent: [([0; 3], NONE); RECENT], last: ([0; 3], NONE) })
    }

    /// Returns the number of an origin.
    #[inline]
    pub(super) fn number(&mut self, origin: &impl Origin) -> u16 {
        let key = origin.key();
        if self.last.0 != key || self.last.1 == NONE {
            self.last = (key, self.look_up(key, origin));
        }
        self.last.1
    }

    #[inline(never)]
    fn look_up(&mut self, key: [usize; 3], origin: &impl Origin) -> u16 {
        let mixed = key[0] ^ key[1].rotate_left(7) ^ key[2].wrapping_mul(31);
        let recent = (mixed ^ mixed >> 6 ^ mixed >> 12) % RECENT;
        let (last, number) = self.recent[recent];
        if last == key && number != NONE {
            return number;
        }
        let number = match self.known.get(&key).copied() {
            Some(number) => number,
            None if self.rows.len() >= MOST => return 0,
            // If there is no memory, the origin counts as "(others)", too.
            None if self.rows.try_reserve(1).is_err() || self.known.try_reserve(1).is_err() => return 0,
            None => {
                let number = self.rows.len() as u16;
                self.rows.push(SiteCounts { site: origin.site(), added: 0, fired: 0, panicked: 0 });
                self.known.insert(key, number);
                number
            }
        };
        self.recent[recent] = (key, number);
        number
    }

    #[inline]
    pub(super) fn row(&mut self, number: u16) -> &mut SiteCounts {
        &mut self.rows[usize::from(number)]
    }

    pub(super) fn site(&self, number: u16) -> Site {
        self.rows[usize::from(number)].site
    }

    /// Returns the counts of each origin that has added at least one timer.
    pub(super) fn counts(&self) -> impl Iterator<Item = SiteCounts> + '_ {
        self.rows.iter().filter(|row| row.added > 0).copied()
    }
}
