//! The adapter for web pages. A single time-out of the host drives all our timers.

use std::sync::{OnceLock, Weak};

use tickwright::time::{Alarm, Instant, WebAlarm};

use crate::node::Core;
use crate::settings::TimerSettings;
use crate::sync::{Arc, Ordering};
use crate::timers::Timers;

/// Fires the timers of a core from the host's event loop.
struct Page {
    core: Weak<Core>,
    alarm: WebAlarm,
}

impl TimerSettings {
    /// Creates timers that the host's event loop fires. If the settings have a clock, it is
    /// ignored.
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
            // The pass can drop the last timer, and then also drops the page.
            if let Some(page) = of.upgrade() {
                page.get().into_iter().for_each(Page::run);
            }
        });
        let _ = page.set(Page { core: Arc::downgrade(&timers.core), alarm });
        timers
    }
}

impl Page {
    /// Sets the alarm to the time of the next timer. From then on, the hook is called when an
    /// earlier timer is filed.
    fn set_alarm(&self) {
        let Some(core) = self.core.upgrade() else { return };
        // Vacant timers would keep the core alive, so they are removed.
        if core.handles.load(Ordering::Acquire) == 0 {
            core.sweep();
        }
        let next = core.next();
        self.alarm.set((next < u64::MAX).then(|| Instant::from_nanos(core.time.start(next))));
    }

    fn run(&self) {
        let Some(core) = self.core.upgrade() else { return };
        let (fired, _) = core.pass();
        // If a waker has panicked, this call resumes its panic.
        self.set_alarm();
        fired.end();
    }
}
