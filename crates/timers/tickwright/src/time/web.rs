//! The alarm of a page: a time-out of the host, which is a browser, a worker of it, or node.

use core::fmt;
use std::sync::Weak;

use wasm_bindgen::prelude::{Closure, JsValue};

use super::{Alarm, Clock, Instant, SystemClock, timeout_ms};
use crate::sync::{Arc, Mutex, lock};

#[wasm_bindgen::prelude::wasm_bindgen]
extern "C" {
    /// Milliseconds since the page or worker began. It never runs back.
    #[wasm_bindgen(js_namespace = performance)]
    pub(super) fn now() -> f64;
    /// Milliseconds since 1970-01-01 UTC, without a fraction.
    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    pub(super) fn date() -> f64;
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(function: &JsValue, milliseconds: i32) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(id: &JsValue);
}

/// An [`Alarm`] that is a `setTimeout` of the page, by [`SystemClock::Monotonic`]. For the target
/// `wasm32-unknown-unknown`, with the feature `web`.
///
/// ```text
/// let alarm = WebAlarm::new(move || drop(scheduler.upgrade().map(|timers| timers.run_queue())));
/// ```
///
/// The host calls the function when the alarm goes off, from its event loop. The function sets the
/// alarm again, as [`run_queue`](crate::scheduler::Scheduler::run_queue) does. The drop stops the
/// alarm.
///
/// The alarm is never early: a host that calls too early is asked to wait for the rest. One wait of
/// a host is at most 2^31 - 1 ms (24.8 days), so the alarm of a longer one wakes and waits again.
/// It is late by up to 1 ms, because the time-out is rounded up, and by what the host adds. In a
/// page that is visible, a time-out that a time-out sets waits for at least 4 ms from the fifth one
/// on. A hidden page gets one wake-up a second, or one a minute.
///
/// A module with threads of WebAssembly (`+atomics`) does not compile with this type: the time-out
/// belongs to one worker.
pub struct WebAlarm(Arc<Shared>);

struct Shared {
    run: Box<dyn Fn() + Send + Sync>,
    /// The function of the host that calls `rung`.
    call: JsValue,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    at: Option<Instant>,
    /// The time-out of the host. It is there while `at` is.
    id: Option<JsValue>,
}

impl WebAlarm {
    /// Makes an alarm that is not set. `run` is called when the alarm goes off.
    #[must_use]
    pub fn new(run: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new_cyclic(|shared: &Weak<Shared>| {
            let shared = Weak::clone(shared);
            let call = Closure::<dyn Fn()>::new(move || {
                if let Some(shared) = shared.upgrade() {
                    shared.rung();
                }
            });
            // The host frees the closure when nothing can call it any more.
            Shared { run: Box::new(run), call: call.into_js_value(), state: Mutex::default() }
        }))
    }
}

impl Shared {
    /// Asks the host to call when the clock shows `at`, or as late as a host can.
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
    /// Costs two calls of the host.
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
