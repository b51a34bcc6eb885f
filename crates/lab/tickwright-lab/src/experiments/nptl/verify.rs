//! Verifies what the benchmark times: in a separate, untimed pass, every thread checks itself.

use core::ops::Range;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tickwright_threads::this_thread;

use super::column::{Cell, Column};
use super::model::{Knobs, Model};
use crate::clock::OsClock;

/// Results of the threads in a pass.
#[derive(Debug, Default)]
struct Seen {
    ids: BTreeSet<u64>,
    wrong: Option<String>,
}

/// Runs a cell in which each thread checks itself. A thread must have its own id, and must be
/// registered while it lives. The thread must run on its own stack, separate from the stack of the
/// thread that creates and joins it. Returns the number of threads that passed.
///
/// # Errors
/// If a check failed. The error describes the first failed check.
pub(crate) fn run(model: Model, knobs: &Knobs, cell: Cell, clock: OsClock) -> Result<u64, String> {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let notes = Arc::clone(&seen);
    // The creating thread, which later joins the created threads, calls this function.
    let bodies = move |_: usize, _: u64| {
        let (notes, creators) = (Arc::clone(&notes), this_thread::stack());
        move || {
            let looked = look(creators.as_ref());
            let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
            match looked {
                Ok(id) if notes.ids.insert(id) => 1,
                Ok(id) => {
                    notes.wrong.get_or_insert(format!("two threads have the id {id:#x}"));
                    0
                }
                Err(why) => {
                    notes.wrong.get_or_insert(why);
                    0
                }
            }
        }
    };
    let (sum, _) = Column::Ours(model).run(knobs, cell, &bodies, clock)?;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    match &seen.wrong {
        Some(why) => Err(format!("{}: {why}", model.name())),
        None if sum as u64 == cell.starts && seen.ids.len() as u64 == cell.starts => Ok(cell.starts),
        None => Err(format!("{}: {} threads were asked for, {sum} were joined", model.name(), cell.starts)),
    }
}

/// Checks the calling thread. Returns its id if all checks pass.
fn look(creators: Option<&Range<usize>>) -> Result<u64, String> {
    let here = 0u8;
    let address = (&raw const here).addr();
    let id = this_thread::current().ok_or("a thread does not know its id")?;
    let handle = this_thread::handle().ok_or("a thread does not know its runtime")?;
    if !handle.is_registered(id) {
        return Err(format!("{id} runs and is not registered"));
    }
    let own = this_thread::stack().ok_or("a thread does not know its stack")?;
    let creators = creators.ok_or("a creator does not know its stack")?;
    stands(address, &own, creators).map_err(|why| format!("{id} {why}"))?;
    Ok(id.to_bits())
}

/// Checks that `address` is on the thread's own stack, and that this stack is separate from its
/// creator's stack.
pub(super) fn stands(
    address: usize,
    own: &Range<usize>,
    creators: &Range<usize>,
) -> Result<(), &'static str> {
    if !own.contains(&address) {
        Err("does not stand on its own stack")
    } else if own.start < creators.end && creators.start < own.end {
        Err("shares its creator's stack")
    } else {
        Ok(())
    }
}
