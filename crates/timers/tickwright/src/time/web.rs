//! An alarm for a page. It uses a time-out of the host, which is a browser, a browser's worker, or
//! Node.js.

use core::fmt;
use std::sync::Weak;

use wasm_bindgen::prelude::{Closure, JsValue};

use super::{Alarm, Clock, Instant, SystemClock, timeout_ms};
use crate::sync::{Arc, Mutex, lock};

#[wasm_bindgen::prelude::wasm_bindgen]
extern "C" {
    /// Returns the milliseconds since the page or worker began. The result never decreases.
    #[wasm_bindgen(js_namespace = performance)]
    pub(super) fn now() -> f64;
    /// Returns the milliseconds since 1970-01-01 UTC, as a whole number.
    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    pub(super) fn date() -> f64;
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(function: &JsValue, milliseconds: i32) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(id: &JsValue);
}

/// An [`Alarm`] that uses `setTimeout` of the page. Its times are times of
/// [`SystemClock::Monotonic`]. For the target `wasm32-unknown-unknown`, with the feature `web`.
///
/// ```text
/// let alarm = WebAlarm::new(move || drop(scheduler.upgrade().map(|timers| timers.run_queue())));
/// ```
///
/// When the alarm goes off, the host's event loop calls the function that was passed to `new`. The
/// function must set the alarm again, as [`run_queue`](crate::scheduler::Scheduler::run_queue)
/// does. Dropping the value stops the alarm.
///
/// The alarm is never early. If the host's call comes too early, the alarm sets another time-out
/// for the remaining time. A time-out of a host is at most 2^31 - 1 ms (24.8 days), so a longer
/// wait consists of several time-outs. The alarm is late by up to 1 ms, because the time-out is
/// rounded up, and by any delay of the host. On a visible page, if the callback of a time-out sets
/// the next time-out, and so on, each time-out from the fifth on takes at least 4 ms. A hidden page
/// gets only one wake-up per second, or one per minute.
///
/// A module with WebAssembly threads (`+atomics`) that uses this type does not compile, because the
/// time-out belongs to a single worker.
pub struct WebAlarm(Arc<Shared>);

struct Shared {
    run: Box<dyn Fn() + Send + Sync>,
    /// The function that the host calls, which calls `rung`.
    call: JsValue,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    at: Option<Instant>,
    /// The time-out of the host. It is `Some` if and only if `at` is `Some`.
    id: Option<JsValue>,
}

impl WebAlarm {
    /// Creates an alarm that is not set. `run` is called whenever the alarm goes off.
    #[must_use]
    pub fn new(run: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new_cyclic(|shared: &Weak<Shared>| {
            let shared = Weak::clone(shared);
            let call = Closure::<dyn Fn()>::new(move || {
                if let Some(shared) = shared.upgrade() {
                    shared.rung();
                }
            });
            // The host frees the closure when nothing can call it anymore.
            Shared { run: Box::new(run), call: call.into_js_value(), state: Mutex::default() }
        }))
    }
}

impl Shared {
    /// Sets a time-out of the host for the moment when the clock shows `at`, or the longest
    /// possible time-out if `at` is later than that.
    fn wait_until(&self, at: Instant) -> JsValue {
        set_timeout(&self.call, timeout_ms(SystemClock::Monotonic.now(), Some(at)))
    }

    fn rung(&self) {
        let mut state = lock(&self.state);
        let Some(at) = state.at else { return };
        if SystemClock::Monotonic.now() < at {
            state.id = Some(self.wait_until(at));
            return;
        }
        *state = State::default();
        drop(state);
        (self.run)();
    }
}

impl Alarm for WebAlarm {
    /// Costs two calls of the host's functions.
    fn set(&self, at: Option<Instant>) {
        let mut state = lock(&self.0.state);
        if let Some(id) = state.id.take() {
            clear_timeout(&id);
        }
        *state = State { at, id: at.map(|at| self.0.wait_until(at)) };
    }
}

impl Drop for WebAlarm {
    fn drop(&mut self) {
        self.set(None);
    }
}

impl fmt::Debug for WebAlarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebAlarm").field("at", &lock(&self.0.state).at).finish_non_exhaustive()
    }
}
