//! Waiting for the end of a thread.

use tickwright::time::Instant;

use crate::error::JoinError;
use crate::join_word::{Claim, JoinWord};
use crate::threads::Wait;

/// Waits until a thread has ended. The caller has claimed the thread, and stored in its record whom
/// to wake. `forever` waits until the caller is woken. `until` waits until then or until the given
/// time, and returns false if the time has come.
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
