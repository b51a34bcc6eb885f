//! Where timers come from: the name of a callback, the call that armed it, and how many of them
//! there were.

use core::panic::Location;
use std::collections::HashMap;

/// The origin of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// What its callback is called; may be empty.
    pub name: &'static str,
    /// The file of the call that added it.
    pub file: &'static str,
    /// The line of that call.
    pub line: u32,
}

/// Something that says where a timer comes from: cheap to compare, and described once.
///
/// Two origins with equal keys are counted as one. A scheduler asks under its lock: it must not be
/// called back.
pub trait Origin {
    /// Tells origins apart.
    fn key(&self) -> [usize; 3];
    /// What it is called. Asked for once per key.
    fn site(&self) -> Site;
}

/// The address of a text of the program tells it from others; so equal texts at two addresses are
/// two origins.
impl Origin for Site {
    fn key(&self) -> [usize; 3] {
        [self.name.as_ptr().addr(), self.file.as_ptr().addr(), self.line as usize]
    }

    fn site(&self) -> Site {
        *self
    }
}

impl Site {
    /// The calling line, and `name` for the callback.
    #[track_caller]
    #[must_use]
    pub fn here(name: &'static str) -> Self {
        let caller = Location::caller();
        Self { name, file: caller.file(), line: caller.line() }
    }
}

/// What was counted for one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SiteCounts {
    /// The origin.
    pub site: Site,
    /// Timers that came from there.
    pub added: u64,
    /// Runs of their callbacks.
    pub fired: u64,
    /// Runs that ended in a panic.
    pub panicked: u64,
}

/// How many origins are told apart; what comes after is counted as one, called "(others)".
const MOST: usize = 1024;
const _: () = assert!(MOST <= NONE as usize);
/// Recent origins are found without hashing.
const RECENT: usize = 64;
/// In place of the number of an origin: none is noted there. Any key may be an origin's.
const NONE: u16 = u16::MAX;

/// The origins seen so far, by number.
pub(super) struct Sites {
    rows: Vec<SiteCounts>,
    known: HashMap<[usize; 3], u16>,
    recent: [([usize; 3], u16); RECENT],
    /// The one before: a loop that adds timers asks for the same again.
    last: ([usize; 3], u16),
}

impl Sites {
    /// `None` without memory.
    pub(super) fn new() -> Option<Self> {
        let others = Site { name: "(others)", file: "", line: 0 };
        let mut rows = Vec::new();
        rows.try_reserve(1).ok()?;
        rows.push(SiteCounts { site: others, added: 0, fired: 0, panicked: 0 });
        Some(Self { rows, known: HashMap::new(), recent: [([0; 3], NONE); RECENT], last: ([0; 3], NONE) })
    }

    /// The number of an origin.
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
            // Without memory it is one of the others too.
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

    /// Those that added any.
    pub(super) fn counts(&self) -> impl Iterator<Item = SiteCounts> + '_ {
        self.rows.iter().filter(|row| row.added > 0).copied()
    }
}
