//! A program like a test of tokio's timers with a paused clock. It differs only in the imports of
//! the timers, which are those that the page `docs/start/async.md` shows.

use tickwright_async::TimerSettings;
use tickwright_async::{Duration, Instant, interval, now, sleep, sleep_until, timeout};
use tokio::time::advance;

/// This program contains the import that the page shows.
#[test]
fn the_page_prints_the_import_of_this_program() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/start/async.md");
    let page = std::fs::read_to_string(page).unwrap();
    let import = page.lines().find_map(|line| line.strip_prefix("+use tickwright_async::"));
    let import = format!("use tickwright_async::{}", import.unwrap());
    assert!(include_str!("paused.rs").lines().any(|line| line == import), "{import}");
}

fn since(begun: Instant) -> Duration {
    now() - begun
}

#[tokio::test(start_paused = true)]
async fn a_pinned_sleep_in_a_select() {
    let _entered = TimerSettings::new().on_tokio().unwrap().enter();
    let begun = now();
    let deadline = sleep(Duration::from_millis(50));
    tokio::pin!(deadline);
    let mut every = interval(Duration::from_millis(20));
    let mut ticks = Vec::new();
    loop {
        tokio::select! {
            biased;
            () = &mut deadline => break,
            tick = every.tick() => ticks.push((tick - begun).as_millis()),
        }
    }
    assert_eq!(ticks, [0, 20, 40]);
    assert_eq!(since(begun).as_millis(), 50);
}

#[tokio::test(start_paused = true)]
async fn times_are_tokios_own() {
    let _entered = TimerSettings::new().on_tokio().unwrap().enter();
    for ms in [1, 2, 10, 999] {
        let (ours, theirs) = (now(), tokio::time::Instant::now());
        sleep(Duration::from_millis(ms)).await;
        assert_eq!(now() - ours, Duration::from_millis(ms));
        assert_eq!(theirs.elapsed(), Duration::from_millis(ms));
    }
    let ten = Duration::from_millis(10);
    assert!(timeout(ten, sleep(ten)).await.is_ok(), "the future is polled first");
    assert!(timeout(ten, tokio::time::sleep(ten * 2)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_poll_directly_after_advance_is_ready() {
    use core::future::{Future, poll_fn};
    let _entered = TimerSettings::new().on_tokio().unwrap().enter();
    let late = sleep_until(now() + Duration::from_millis(100));
    tokio::pin!(late);
    poll_fn(|cx| {
        assert!(late.as_mut().poll(cx).is_pending());
        core::task::Poll::Ready(())
    })
    .await;
    advance(Duration::from_millis(100)).await;
    poll_fn(|cx| late.as_mut().poll(cx)).await;
    assert!(late.is_elapsed());
}

/// On every worker, the functions without a handle use the runtime's clock.
#[test]
fn one_call_serves_all_workers() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let timers = TimerSettings::new().on_tokio().unwrap();
        timers.clone().set_global().unwrap();
        assert!(timers.clone().set_global().is_err(), "the process has timers now");
        let task =
            tokio::spawn(async { timeout(Duration::from_secs(3600), sleep(Duration::from_millis(1))).await });
        assert_eq!(task.await.unwrap(), Ok(()));
        assert!(tickwright_async::Timers::global().is_same(&timers));
    });
}

/// The part of the next test that runs in a separate process.
#[tokio::test(start_paused = true)]
#[ignore = "its output is what `timers_that_sleep_for_real_under_a_paused_clock_are_told_of` reads"]
async fn sleeps_for_real() {
    sleep(Duration::from_millis(1)).await;
    sleep(Duration::from_millis(1)).await;
}

#[cfg(debug_assertions)]
#[test]
fn timers_that_sleep_for_real_under_a_paused_clock_are_told_of() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", "sleeps_for_real", "--ignored", "--nocapture"]).output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("the clock of this tokio runtime is paused").count(), 1, "{said}");
}
