//! Waiting for the end of a thread.

use tickwright::clock::Instant;

use crate::error::JoinError;
use crate::join_word::{Claim, JoinWord};
use crate::threads::Wait;

/// Waits until a thread has ended which the caller has claimed, and whose record says whom to wake.
/// `forever` waits until woken; `until` waits until woken, and returns false when the time has
/// come.
#[inline]
pub(crate) fn wait_for_end(
    word: &JoinWord,
    generation: u32,
    wait: Wait,
    forever: impl Fn(),
    until: impl Fn(Instant) -> bool,
) -> Result<(), JoinError> {
    if word.expect(generation) == Claim::Finished {
        return Ok(());
    }
    while !word.is_finished(generation) {
        match wait {
            Wait::Until(at) if !until(at) => {
                return match word.withdraw(generation) {
                    Claim::Finished => Ok(()),
                    Claim::Running => Err(JoinError::TimedOut),
                };
            }
            Wait::Until(_) => {}
            Wait::No | Wait::Forever => forever(),
        }
    }
    Ok(())
}
