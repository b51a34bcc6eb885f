//! A page: one time-out of its host drives all our timers.

use std::sync::{OnceLock, Weak};

use tickwright::time::{Alarm, Instant, WebAlarm};

use crate::node::Core;
use crate::settings::TimerSettings;
use crate::sync::{Arc, Ordering};
use crate::timers::Timers;

/// What fires the timers of a core.
struct Page {
    core: Weak<Core>,
    alarm: WebAlarm,
}

impl TimerSettings {
    /// Creates timers that the host's event loop fires. A clock that is set is ignored.
    pub(crate) fn start_or_retry(mut self) -> Timers {
        self.clock = None;
        let page = Arc::new(OnceLock::<Page>::new());
        let hook = {
            let page = Arc::clone(&page);
            move || page.get().into_iter().for_each(Page::set_alarm)
        };
        let timers = self.driven(hook);
        let of = Arc::downgrade(&page);
        let alarm = WebAlarm::new(move || {
            // The pass may drop the last timer, and the page with it.
            if let Some(page) = of.upgrade() {
                page.get().into_iter().for_each(Page::run);
            }
        });
        let _ = page.set(Page { core: Arc::downgrade(&timers.core), alarm });
        timers
    }
}

impl Page {
    /// Sets the alarm to the next timer. From then on, filing an earlier timer calls the hook.
    fn set_alarm(&self) {
        let Some(core) = self.core.upgrade() else { return };
        // Vacant timers hold the core.
        if core.handles.load(Ordering::Acquire) == 0 {
            core.sweep();
        }
        let next = core.next();
        self.alarm.set((next < u64::MAX).then(|| Instant::from_nanos(core.time.start(next))));
    }

    fn run(&self) {
        let Some(core) = self.core.upgrade() else { return };
        let (fired, _) = core.pass();
        // This call resumes the panic of a waker.
        self.set_alarm();
        fired.end();
    }
}
