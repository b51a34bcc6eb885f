//! Tests of timers that a sleep of tokio drives. The timers follow tokio's paused clock.

mod common;

use core::future::{Future, poll_fn};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;

use common::ms;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tickwright_async::{Interval, TimerSettings, Timers};
use tokio::time::{Instant, advance};

fn timers() -> Timers {
    TimerSettings::new().resolution(Duration::from_nanos(8)).on_tokio().unwrap()
}

#[test]
fn there_are_none_outside_of_a_runtime() {
    assert!(TimerSettings::new().on_tokio().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_moves_by_itself() {
    let timers = timers();
    let start = Instant::now();
    timers.sleep(Duration::from_secs(3600)).await;
    assert_eq!(start.elapsed(), Duration::from_secs(3600));
    timers.sleep(ms(5)).await;
    assert_eq!(start.elapsed(), Duration::from_secs(3600) + ms(5));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_advanced_fires() {
    let timers = timers();
    let waiting = tokio::spawn({
        let timers = timers.clone();
        async move { timers.sleep(ms(100)).await }
    });
    tokio::task::yield_now().await;
    advance(ms(99)).await;
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    advance(ms(1)).await;
    waiting.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn sleeps_of_both_kinds_end_in_order() {
    let timers = timers();
    let start = Instant::now();
    let ours = async {
        for _ in 0..10 {
            timers.sleep(ms(20)).await;
        }
        start.elapsed()
    };
    let theirs = async {
        for _ in 0..20 {
            tokio::time::sleep(ms(10)).await;
        }
        start.elapsed()
    };
    assert_eq!(tokio::join!(ours, theirs), (ms(200), ms(200)));
}

#[tokio::test(start_paused = true)]
async fn an_earlier_timer_wakes_the_driver() {
    let timers = timers();
    let start = Instant::now();
    let long = timers.timeout(Duration::from_secs(60), core::future::pending::<()>());
    let short = async {
        tokio::task::yield_now().await;
        timers.sleep(ms(3)).await;
        start.elapsed()
    };
    let (long, short) = tokio::join!(long, short);
    assert!(long.is_err());
    assert_eq!((short, start.elapsed()), (ms(3), Duration::from_secs(60)));
}

#[tokio::test]
async fn a_clock_that_runs_is_not_early() {
    let timers = timers();
    for span in [0, 1, 5] {
        let start = std::time::Instant::now();
        timers.sleep(ms(span)).await;
        assert!(start.elapsed() >= ms(span));
    }
}

#[tokio::test(start_paused = true)]
async fn the_driver_ends_with_the_last_handle_and_timer() {
    let timers = timers();
    let armed = tokio::spawn({
        let timers = timers.clone();
        async move { timers.timeout(ms(50), core::future::pending::<()>()).await }
    });
    tokio::task::yield_now().await;
    drop(timers);
    assert!(armed.await.unwrap().is_err(), "what is pending fires");
    let metrics = tokio::runtime::Handle::current().metrics();
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(metrics.num_alive_tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_timer_is_armed_when_the_driver_has_ended() {
    let timers = timers();
    let (first, second) = (timers.sleep(ms(5)), timers.sleep(ms(10)));
    drop(timers);
    let metrics = tokio::runtime::Handle::current().metrics();
    for sleep in [first, second] {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(metrics.num_alive_tasks(), 0, "no timer is pending");
        let ended = tokio::time::timeout(Duration::from_secs(1), sleep).await;
        assert!(ended.is_ok(), "the driver is started again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_waker_does_not_end_the_driver() {
    struct Panicking;
    impl std::task::Wake for Panicking {
        fn wake(self: std::sync::Arc<Self>) {
            panic!("of a waker, as the test wants it");
        }
    }
    let timers = timers();
    let waker = core::task::Waker::from(std::sync::Arc::new(Panicking));
    let mut sleep = Box::pin(timers.sleep(ms(5)));
    assert!(sleep.as_mut().poll(&mut core::task::Context::from_waker(&waker)).is_pending());
    timers.sleep(ms(10)).await;
    timers.sleep(ms(10)).await;
    assert!(sleep.is_elapsed());
}

#[test]
#[should_panic(expected = "enable_time")]
fn a_runtime_without_a_timer_is_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _entered = runtime.enter();
    let _ = TimerSettings::new().on_tokio();
}

/// While the task ends on a worker, this thread files a far timer and then a near timer.
#[test]
fn no_timer_is_lost_while_the_driver_ends_and_starts() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    for round in 0..500_u32 {
        let timers = {
            let _entered = runtime.enter();
            TimerSettings::new().on_tokio().unwrap()
        };
        let mut far = timers.sleep(Duration::from_secs(3600));
        let mut near = timers.sleep(Duration::from_millis(1));
        let task = common::Counter::new();
        drop(timers);
        // The delays range from zero to more than the task needs to end and to start again.
        let spin = |times: u32| (0..times).for_each(|_| core::hint::spin_loop());
        spin(round % 50 * 100);
        assert!(task.poll(core::pin::Pin::new(&mut far)).is_pending());
        spin(round % 7 * 2000);
        // The deadline has possibly passed already.
        if task.poll(core::pin::Pin::new(&mut near)).is_pending() {
            let begun = std::time::Instant::now();
            while task.count() == 0 {
                assert!(begun.elapsed() < Duration::from_secs(30), "round {round}: nobody woke the task");
                std::thread::yield_now();
            }
        }
    }
}

/// Runs a task that is always late, and another task that yields to the runtime in a loop. Returns
/// the greatest number of ticks of the late task between two turns of the other task.
async fn most_between_two_turns<F: Future>(
    timers: &Timers,
    work: impl FnOnce(Interval, Arc<Ticks>) -> F,
) -> usize {
    let ticks = Arc::new(Ticks::default());
    let other = tokio::spawn({
        let ticks = Arc::clone(&ticks);
        async move {
            let (mut most, mut last) = (0, 0);
            while last < MANY {
                tokio::task::yield_now().await;
                let now = ticks.0.load(Ordering::Relaxed);
                most = most.max(now - last);
                last = now;
            }
            most
        }
    });
    let start = timers.now() - Duration::from_secs(3600);
    work(timers.interval_at(start, ms(1)), ticks).await;
    other.await.unwrap()
}

#[derive(Default)]
struct Ticks(AtomicUsize);

/// The number of ticks in two turns, plus one tick before the first wait. The runtime runs tasks
/// that yield in reverse order, so each task has two turns between two turns of the other task.
const TWO_TURNS: usize = 2 * 16 + 1;

/// More ticks than are allowed between two turns.
const MANY: usize = 3000;

impl Ticks {
    fn tick(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) + 1 < MANY
    }
}

/// Returns timers with the clock of the runtime, and timers with the clock of the machine.
fn both() -> [Timers; 2] {
    [timers(), TimerSettings::new().driven(|| {})]
}

#[tokio::test]
async fn an_interval_that_is_behind_lets_a_task_of_the_runtime_run() {
    for timers in both() {
        let most = most_between_two_turns(&timers, async |mut behind, ticks| {
            while ticks.tick() {
                behind.tick().await;
            }
        })
        .await;
        assert!((2..=TWO_TURNS).contains(&most), "{most}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_spawned_task_that_is_always_late_returns_to_the_runtime() {
    for timers in both() {
        let most = most_between_two_turns(&timers, async |mut behind, ticks| {
            let late = async move {
                while ticks.tick() {
                    behind.tick().await;
                }
            };
            tokio::spawn(late).await.unwrap();
        })
        .await;
        assert!((2..=TWO_TURNS).contains(&most), "{most}");
    }
}

/// There are more late timers than are held back in the case that nothing shows when a task
/// returns.
#[tokio::test]
async fn a_task_of_tokio_returns_whatever_it_waits_for() {
    for timers in both() {
        let most = most_between_two_turns(&timers, async |_, ticks| {
            let late = |_| timers.interval_at(timers.now() - Duration::from_secs(3600), ms(1));
            let mut late: Vec<_> = (0..50).map(late).collect();
            let mut any = |cx: &mut Context<'_>| late.iter_mut().any(|every| every.poll_tick(cx).is_ready());
            while ticks.tick() {
                poll_fn(|cx| if any(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
            }
        })
        .await;
        assert!((2..=TWO_TURNS + 8).contains(&most), "{most}");
        let most = most_between_two_turns(&timers, async |_, ticks| {
            let mut futures: FuturesUnordered<_> = (0..100).map(|_| timers.sleep(Duration::ZERO)).collect();
            while ticks.tick() {
                futures.next().await;
                futures.push(timers.sleep(Duration::ZERO));
            }
        })
        .await;
        assert!((2..=TWO_TURNS + 8).contains(&most), "{most}");
    }
}

/// tokio does not count the polls of such a task, so only the thread's budget makes it return.
#[tokio::test]
async fn a_task_without_a_budget_of_tokio_returns_too() {
    let most = most_between_two_turns(&timers(), async |mut behind, ticks| {
        let late = async {
            while ticks.tick() {
                behind.tick().await;
            }
        };
        tokio::task::coop::unconstrained(late).await;
    })
    .await;
    assert!((2..=TWO_TURNS).contains(&most), "{most}");
}

/// In each turn, the future spends all of tokio's budget before the deadline is polled.
#[tokio::test]
async fn a_time_out_beside_a_future_that_spends_the_budget_is_given_up() {
    for timers in both() {
        for _ in 0..40 {
            let greedy = async {
                loop {
                    tokio::task::coop::consume_budget().await;
                }
            };
            let given_up = timers.timeout(Duration::ZERO, greedy);
            let mut turns = 0;
            let mut given_up = core::pin::pin!(given_up);
            poll_fn(|cx| {
                turns += 1;
                given_up.as_mut().poll(cx)
            })
            .await
            .unwrap_err();
            assert!(turns <= 3, "{turns}");
        }
    }
}
