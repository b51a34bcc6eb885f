//! Timers in a web page: one with a callback, and one with a future. `docs/start/web.md` says how
//! to build it.
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

use tickwright::scheduler::Scheduler;
use tickwright_async::{Duration, sleep, timeout};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(start)]
fn start() -> Result<(), JsError> {
    let timers = Scheduler::spawn("timers")?;
    timers.every(Duration::from_secs(1), |_| log("alive"))?;
    wasm_bindgen_futures::spawn_local(async move {
        sleep(Duration::from_millis(2500)).await;
        let reply = timeout(Duration::from_secs(1), core::future::pending::<()>());
        log(if reply.await.is_err() { "no reply" } else { "a reply" });
        drop(timers); // and with it the callback
    });
    Ok(())
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console)]
    fn log(text: &str);
}
