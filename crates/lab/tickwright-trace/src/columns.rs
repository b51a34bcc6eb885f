//! The events of a block, column by column.
//!
//! ```text
//!   count | times | kinds | timers | threads | processors | queues | sites | delays | periods
//! ```
//! Each column has one number for each event. The last two columns have one number for each event
//! that arms a timer. A time is stored as the difference from the previous event's time. A deadline
//! is stored as a delay: the deadline minus the event's time. Neighbors in a column are alike, so
//! the columns compress well.

use crate::event::{Event, Ns, What};
use crate::number::{put, put_signed, take, take_as, take_signed};

/// The most events of a block.
pub(crate) const MOST: usize = 4096;

/// Appends the columns of some events. Differences are modulo 2^64.
pub(crate) fn encode(events: &[Event], bytes: &mut Vec<u8>) {
    put(bytes, events.len() as u64);
    let mut before = 0;
    for event in events {
        put_signed(bytes, event.time.wrapping_sub(before));
        before = event.time;
    }
    let kind = |what| match what {
        What::Arm { .. } => 0,
        What::Rearm { .. } => 1,
        What::Cancel => 2,
        What::Fire => 3,
    };
    bytes.extend(events.iter().map(|event| kind(event.what)));
    events.iter().for_each(|event| put(bytes, event.timer));
    events.iter().for_each(|event| put(bytes, event.thread.into()));
    events.iter().for_each(|event| put(bytes, event.cpu.into()));
    events.iter().for_each(|event| put(bytes, event.base.into()));
    events.iter().for_each(|event| put(bytes, event.site.into()));
    let armed = || events.iter().filter_map(|event| Some((event.time, event.what.armed()?)));
    armed().for_each(|(time, (deadline, _))| put_signed(bytes, deadline.wrapping_sub(time)));
    armed().for_each(|(_, (_, period))| put(bytes, period));
}

/// Reads columns into `events`. Returns `None` if the columns are damaged.
pub(crate) fn decode(mut bytes: &[u8], events: &mut Vec<Event>) -> Option<()> {
    let bytes = &mut bytes;
    events.clear();
    let count = take_as::<usize>(bytes).filter(|&count| count <= MOST)?;
    let mut time: Ns = 0;
    for _ in 0..count {
        time = time.wrapping_add(take_signed(bytes)?);
        events.push(Event::new(time, 0, What::Cancel));
    }
    let (kinds, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    for event in events.iter_mut() {
        event.timer = take(bytes)?;
    }
    for event in events.iter_mut() {
        event.thread = take_as(bytes)?;
    }
    for event in events.iter_mut() {
        event.cpu = take_as(bytes)?;
    }
    for event in events.iter_mut() {
        event.base = take_as(bytes)?;
    }
    for event in events.iter_mut() {
        event.site = take_as(bytes)?;
    }
    for (event, kind) in events.iter_mut().zip(kinds) {
        event.what = match kind {
            0 | 1 => {
                let deadline = event.time.wrapping_add(take_signed(bytes)?);
                match kind {
                    0 => What::Arm { deadline, period: 0 },
                    _ => What::Rearm { deadline, period: 0 },
                }
            }
            2 => What::Cancel,
            3 => What::Fire,
            _ => return None,
        };
    }
    for event in events.iter_mut() {
        if let What::Arm { period, .. } | What::Rearm { period, .. } = &mut event.what {
            *period = take(bytes)?;
        }
    }
    bytes.is_empty().then_some(())
}
