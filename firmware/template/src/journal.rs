//! The events that have fired but are not printed yet. The alarm records lines, and the main
//! program takes them.

use core::cell::RefCell;

use critical_section::Mutex;
use tickwright_mcu::Tick;

use crate::event::Event;

/// An event that fired.
#[derive(Clone, Copy)]
pub struct Line {
    /// The tick for which the event's timer was armed.
    pub expiry: Tick,
    pub event: &'static Event,
    /// What the event did: see `Event::fire`.
    pub value: u32,
}

/// Lines in the order in which they were recorded.
pub struct Lines {
    lines: [Option<Line>; 8],
    len: usize,
    /// The number of lines that found no room, because `main` took too long.
    pub lost: u32,
}

impl Lines {
    const EMPTY: Self = Self { lines: [None; 8], len: 0, lost: 0 };

    /// Returns the lines, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().flatten()
    }
}

static NOTED: Mutex<RefCell<Lines>> = Mutex::new(RefCell::new(Lines::EMPTY));

/// Records a line. If there is no room, counts the line as lost.
pub fn note(line: Line) {
    critical_section::with(|cs| {
        let noted = &mut *NOTED.borrow_ref_mut(cs);
        match noted.lines.get_mut(noted.len) {
            Some(free) => {
                *free = Some(line);
                noted.len += 1;
            }
            None => noted.lost = noted.lost.saturating_add(1),
        }
    });
}

/// Takes all lines.
pub fn take() -> Lines {
    critical_section::with(|cs| NOTED.replace(cs, Lines::EMPTY))
}
