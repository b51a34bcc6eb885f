//! A shadow of each timer, for the loom models: what the timer should be doing.
//!
//! The shard calls it at each point where an operation takes effect. The shadow moves on, compares,
//! and notes the first thing that is wrong. It is outside of the model's memory, so it hides no
//! race. Without `cfg(loom)` it has no size and no code.

#[cfg(not(loom))]
pub(super) use absent::Ghost;
#[cfg(loom)]
pub(super) use present::Ghost;

#[cfg(not(loom))]
mod absent {
    use tickwright_core::Tick;

    #[derive(Debug)]
    pub(crate) struct Ghost;

    impl Ghost {
        pub(crate) fn new() -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) fn armed(&self, _deadline: Tick, _was_pending: bool) {}
        #[inline(always)]
        pub(crate) fn kept(&self) {}
        #[inline(always)]
        pub(crate) fn fired(&self, _deadline: Tick, _now: Tick) {}
        #[inline(always)]
        pub(crate) fn ended(&self) {}
        #[inline(always)]
        pub(crate) fn withdrawn(&self, _was_pending: bool, _dead: bool) {}
    }
}

#[cfg(loom)]
mod present {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use tickwright_core::Tick;

    #[derive(Debug, Default)]
    struct Shadow {
        deadline: Option<Tick>,
        dead: bool,
        running: bool,
        complaint: Option<String>,
    }

    impl Shadow {
        /// The first thing that was wrong. Noted, not panicked about: the schedule ends in order,
        /// and the model asks then.
        fn require(&mut self, right: bool, complaint: &str) {
            if !right && self.complaint.is_none() {
                self.complaint = Some(complaint.into());
            }
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct Ghost(Mutex<Shadow>);

    impl Ghost {
        pub(crate) fn new() -> Self {
            Self::default()
        }

        fn shadow(&self) -> MutexGuard<'_, Shadow> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// An arming call has taken effect.
        pub(crate) fn armed(&self, deadline: Tick, was_pending: bool) {
            let mut shadow = self.shadow();
            let (dead, pending) = (shadow.dead, shadow.deadline.is_some());
            shadow.require(!dead, "armed after shutdown");
            shadow.require(pending || !was_pending, "LOST: an idle timer is reported re-armed");
            shadow.require(was_pending || !pending, "a pending timer is reported started");
            shadow.deadline = Some(deadline);
        }

        /// An arming call has found the timer pending, and good as it is.
        pub(crate) fn kept(&self) {
            let mut shadow = self.shadow();
            let pending = shadow.deadline.is_some();
            shadow.require(pending, "LOST: an idle timer is found pending");
        }

        /// The shard has taken the timer to fire it.
        pub(crate) fn fired(&self, deadline: Tick, now: Tick) {
            let mut shadow = self.shadow();
            shadow.require(deadline <= now, &format!("EARLY: {deadline} at {now}"));
            let last = shadow.deadline.take();
            shadow.require(last.is_some(), "fires without being armed");
            shadow.require(last == Some(deadline), "fires with a deadline that is not its last");
            let running = shadow.running;
            shadow.require(!running, "two callbacks of one timer at once");
            shadow.running = true;
        }

        /// Its callback has ended.
        pub(crate) fn ended(&self) {
            self.shadow().running = false;
        }

        /// A cancel or shutdown has taken effect.
        pub(crate) fn withdrawn(&self, was_pending: bool, dead: bool) {
            let mut shadow = self.shadow();
            let pending = shadow.deadline.take().is_some();
            shadow.require(pending == was_pending, "a cancel reports what is not so");
            shadow.dead |= dead;
        }

        /// What the timer should be pending for, or what was wrong.
        pub(crate) fn verdict(&self) -> Result<Option<Tick>, String> {
            let shadow = self.shadow();
            shadow.complaint.clone().map_or(Ok(shadow.deadline), Err)
        }
    }
}
