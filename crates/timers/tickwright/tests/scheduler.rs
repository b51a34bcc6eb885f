//! Tests of the scheduler on the virtual clock. The test's own thread runs the queue.

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex};

use tickwright::scheduler::{
    Boxed, Callback, Cancelled, Firing, Missed, Next, Origin, Plain, Refusal, RunError, Scheduler, Settings,
    Site, State, Structure, TimerId, Timing, WouldDeadlock,
};
use tickwright::time::{Instant, Ticks, VirtualHost};
use tickwright::{BoundedHeap, Wheel};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn scheduler(host: &VirtualHost, structure: Structure) -> Scheduler<Boxed> {
    Scheduler::new(Settings::new().clock(host.monotonic()).structure(structure))
}

fn exact() -> impl Iterator<Item = Structure> {
    Structure::all().into_iter().filter(Structure::is_exact)
}

/// The log to which the callbacks write.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u32>>>);

impl Log {
    fn note(&self, what: u32) -> Boxed {
        let log = self.clone();
        Boxed::once(move |_| log.push(what))
    }

    fn push(&self, what: u32) {
        self.0.lock().unwrap().push(what);
    }

    fn take(&self) -> Vec<u32> {
        core::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A test of Asterisk checks this for its own scheduler. Here every structure must pass.
#[test]
fn waits_for_the_earliest_and_runs_equals_in_the_order_of_adding() {
    for structure in exact() {
        let host = VirtualHost::new();
        let mut scheduler = scheduler(&host, structure);
        let log = Log::default();
        assert_eq!(scheduler.timeout(), None);
        assert_eq!(scheduler.timeout_ms(), -1);
        let ids = [100_000, 10_000, 1_000].map(|delay| {
            let id = scheduler.add(ms(delay), log.note(0)).unwrap();
            assert_eq!(scheduler.timeout_ms(), delay as i32);
            id
        });
        for (id, then) in ids.iter().rev().zip([10_000, 100_000, -1]) {
            assert!(matches!(scheduler.try_cancel(*id), Cancelled::Removed(_)));
            assert_eq!(scheduler.timeout_ms(), then);
        }
        for number in 0..15 {
            let delay = if number % 2 == 0 { 300 } else { 0 };
            scheduler.add(ms(delay), log.note(number)).unwrap();
        }
        host.advance(ms(50));
        assert_eq!(scheduler.run_queue(), Ok(7));
        assert_eq!(log.take(), [1, 3, 5, 7, 9, 11, 13]);
        host.advance(ms(300));
        assert_eq!(scheduler.run_queue(), Ok(8));
        assert_eq!(log.take(), [0, 2, 4, 6, 8, 10, 12, 14]);
        assert_eq!((scheduler.timeout(), scheduler.check()), (None, Ok(())));
    }
}

#[test]
fn what_a_callback_answers_decides_when_it_runs_again() {
    for structure in exact() {
        let host = VirtualHost::new();
        let mut scheduler = scheduler(&host, structure);
        let mut answers =
            [Next::Again, Next::After(ms(3)), Next::Again, Next::After(Duration::ZERO), Next::Done]
                .into_iter();
        let id = scheduler.add(ms(10), Boxed::new(move |_| answers.next().unwrap())).unwrap();
        for at in [20, 23, 33, 33] {
            let left = scheduler.timeout().unwrap();
            host.advance(left);
            assert_eq!(scheduler.run_queue(), Ok(1));
            assert_eq!(scheduler.when(id), Some(Instant::ZERO + ms(at)), "{structure}");
        }
        assert_eq!((scheduler.run_queue(), scheduler.when(id)), (Ok(1), None));
    }
}

#[test]
fn a_late_callback_runs_again_from_when_it_was_due_but_never_before_now() {
    let host = VirtualHost::new();
    let scheduler = scheduler(&host, Structure::default());
    let id = scheduler.add(ms(10), Boxed::new(|_| Next::Again)).unwrap();
    host.advance(ms(14));
    scheduler.run_queue().unwrap();
    assert_eq!(scheduler.remaining(id), Some(ms(6)), "20 - 14");
    host.advance(ms(40));
    scheduler.run_queue().unwrap();
    assert_eq!(scheduler.remaining(id), Some(ms(0)), "30 has passed");
}

/// A timer that is always armed for the current time neither starves other timers nor prevents a
/// pass from ending.
#[test]
fn re_arming_at_now_cannot_starve() {
    for structure in Structure::all() {
        let host = VirtualHost::new();
        let scheduler = scheduler(&host, structure);
        let greedy = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&greedy);
        scheduler
            .add(
                Duration::ZERO,
                Boxed::new(move |firing| {
                    count.fetch_add(1, Ordering::Relaxed);
                    let log = Log::default();
                    firing.scheduler().add(Duration::ZERO, log.note(1)).unwrap();
                    Next::After(Duration::ZERO)
                }),
            )
            .unwrap();
        for turn in 1..=50 {
            host.advance(ms(2));
            scheduler.run_queue().unwrap();
            assert_eq!(greedy.load(Ordering::Relaxed), turn, "{structure}");
        }
    }
}

#[test]
fn a_budget_leaves_the_rest_in_order() {
    for structure in exact() {
        let host = VirtualHost::new();
        let mut scheduler = scheduler(&host, structure);
        let log = Log::default();
        for number in 0..100 {
            scheduler.add(ms(u64::from(number / 10)), log.note(number)).unwrap();
        }
        host.advance(ms(100));
        let mut ran = 0;
        while scheduler.timeout() == Some(Duration::ZERO) {
            let some = scheduler.run_queue_within(7).unwrap();
            assert!(some <= 7, "over the budget");
            ran += some;
        }
        assert_eq!((ran, log.take()), (100, (0..100).collect::<Vec<_>>()));
        assert_eq!(scheduler.run_queue_within(0), Ok(0));
    }
}

// ---- the table of cancels

const FORMS: [&str; 5] = ["try", "async", "sync", "shutdown", "shutdown sync"];

type Outcome = Result<Cancelled<()>, WouldDeadlock>;

fn cancel<C: Callback>(scheduler: &Scheduler<C>, form: &str, id: TimerId) -> Outcome {
    let found = match form {
        "try" => scheduler.try_cancel(id),
        "async" => scheduler.cancel(id),
        "sync" => scheduler.cancel_sync(id)?,
        "shutdown" => scheduler.shutdown_timer(id),
        _ => scheduler.shutdown_timer_sync(id)?,
    };
    Ok(match found {
        Cancelled::Removed(_) => Cancelled::Removed(()),
        Cancelled::Disarmed => Cancelled::Disarmed,
        Cancelled::Idle => Cancelled::Idle,
        Cancelled::Running { here } => Cancelled::Running { here },
        Cancelled::Finished { suppressed } => Cancelled::Finished { suppressed },
        Cancelled::NotFound => Cancelled::NotFound,
    })
}

#[test]
fn cancelling_what_does_not_run() {
    for structure in Structure::all() {
        for form in FORMS {
            let host = VirtualHost::new();
            let scheduler = scheduler(&host, structure);
            let shuts = form.starts_with("shutdown");
            let nothing = || Boxed::new(|_| Next::Done);
            let pending = scheduler.add(ms(5), nothing()).unwrap();
            assert_eq!(cancel(&scheduler, form, pending), Ok(Cancelled::Removed(())), "{form}");
            assert_eq!(cancel(&scheduler, form, pending), Ok(Cancelled::NotFound), "{form}");

            let kept = scheduler.keep(&Site::here("k"), nothing()).unwrap();
            let idle = if shuts { Cancelled::Removed(()) } else { Cancelled::Idle };
            assert_eq!(cancel(&scheduler, form, kept), Ok(idle), "{form}");
            let kept = scheduler.keep(&Site::here("k"), nothing()).unwrap();
            scheduler.start(kept, Timing::after(ms(5))).unwrap();
            let disarmed = if shuts { Cancelled::Removed(()) } else { Cancelled::Disarmed };
            assert_eq!(cancel(&scheduler, form, kept), Ok(disarmed), "{form}");
            assert_eq!(scheduler.start(kept, Timing::after(ms(1))).is_ok(), !shuts, "{form}");
            assert_eq!(scheduler.check(), Ok(()));
        }
    }
}

#[test]
fn cancelling_from_inside() {
    for form in FORMS {
        for again in [true, false] {
            let host = VirtualHost::new();
            let scheduler = scheduler(&host, Structure::default());
            let seen = Arc::new(Mutex::new(None));
            let sees = Arc::clone(&seen);
            let id = scheduler
                .add(
                    ms(1),
                    Boxed::new(move |firing| {
                        *sees.lock().unwrap() = Some(cancel(firing.scheduler(), form, firing.id));
                        if again { Next::Again } else { Next::Done }
                    }),
                )
                .unwrap();
            host.advance(ms(1));
            assert_eq!(scheduler.run_queue(), Ok(1));
            let got = seen.lock().unwrap().unwrap();
            let sync = form.ends_with("sync") && form != "async";
            assert_eq!(got, if sync { Err(WouldDeadlock) } else { Ok(Cancelled::Running { here: true }) });
            // The form `try` and a form that returns an error change nothing.
            let lives = again && (sync || form == "try");
            assert_eq!(scheduler.find(id).is_some(), lives, "{form}");
            assert_eq!(scheduler.check(), Ok(()));
        }
    }
}

#[test]
fn a_callback_may_do_anything_to_its_neighbours_and_to_itself() {
    for structure in exact() {
        let host = VirtualHost::new();
        let mut scheduler = scheduler(&host, structure);
        let log = Log::default();
        let neighbours: Arc<Mutex<Vec<TimerId>>> = Arc::default();
        let (theirs, noting) = (Arc::clone(&neighbours), log.clone());
        scheduler
            .add(
                ms(1),
                Boxed::once(move |firing| {
                    let scheduler = firing.scheduler();
                    assert_eq!(scheduler.run_queue(), Err(RunError::WithinCallback));
                    assert_eq!(scheduler.shutdown().err(), Some(WouldDeadlock), "it cannot end what runs it");
                    assert_eq!(scheduler.timeout_of_loop(), Some(Duration::ZERO));
                    assert_eq!(scheduler.find(firing.id).map(|info| info.state), Some(State::Running));
                    let ids = theirs.lock().unwrap();
                    assert_eq!(cancel(scheduler, "sync", ids[0]), Ok(Cancelled::Removed(())));
                    scheduler.start(ids[1], Timing::after(ms(5))).unwrap();
                    let (new, old) = scheduler
                        .timer(Timing::after(ms(1)))
                        .named("new")
                        .replace(ids[2], noting.note(9))
                        .unwrap();
                    assert!(matches!(old, Cancelled::Removed(_)));
                    assert!(scheduler.when(new).is_some());
                }),
            )
            .unwrap();
        neighbours
            .lock()
            .unwrap()
            .extend((0..4).map(|number| scheduler.add(ms(1), log.note(number)).unwrap()));
        host.advance(ms(1));
        assert_eq!((scheduler.run_queue(), log.take()), (Ok(2), vec![3]));
        host.advance(ms(1));
        assert_eq!((scheduler.run_queue(), log.take()), (Ok(1), vec![9]));
        host.advance(ms(4));
        assert_eq!((scheduler.run_queue(), log.take()), (Ok(1), vec![1]));
        assert_eq!((scheduler.timeout(), scheduler.check()), (None, Ok(())));
    }
}

#[test]
fn two_neighbours_of_one_instant_that_cancel_each_other() {
    let host = VirtualHost::new();
    let scheduler = scheduler(&host, Structure::default());
    let ids: Arc<Mutex<Vec<TimerId>>> = Arc::default();
    for number in 0..2 {
        let other = Arc::clone(&ids);
        let id = scheduler
            .add(
                ms(1),
                Boxed::once(move |firing| {
                    let other = other.lock().unwrap()[1 - number];
                    assert!(matches!(firing.scheduler().cancel(other), Cancelled::Removed(_)));
                }),
            )
            .unwrap();
        ids.lock().unwrap().push(id);
    }
    host.advance(ms(1));
    assert_eq!(scheduler.run_queue(), Ok(1));
}

/// A value that counts its drops.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn every_callback_is_dropped_once_however_it_ends() {
    let drops = Arc::new(AtomicUsize::new(0));
    let host = VirtualHost::new();
    let mut scheduler = scheduler(&host, Structure::default());
    let add = |answer: Next| {
        let owned = Dropped(Arc::clone(&drops));
        scheduler
            .add(
                ms(1),
                Boxed::new(move |_| {
                    let _keep = &owned;
                    answer
                }),
            )
            .unwrap()
    };
    let cancelled = add(Next::Done);
    drop(scheduler.cancel(cancelled));
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    add(Next::Done);
    host.advance(ms(1));
    scheduler.run_queue().unwrap();
    assert_eq!(drops.load(Ordering::SeqCst), 2);
    add(Next::Again);
    host.advance(ms(1));
    scheduler.run_queue().unwrap();
    assert_eq!(drops.load(Ordering::SeqCst), 2);
    add(Next::Done);
    drop(scheduler.shutdown().unwrap());
    assert_eq!(drops.load(Ordering::SeqCst), 4);
    let refused = scheduler.add(ms(1), Boxed::once(|_| {})).unwrap_err();
    assert_eq!(refused.reason, Refusal::Shutdown);
    let kept = scheduler.keep(&Site::here("k"), Boxed::once(|_| {})).unwrap_err();
    assert_eq!(kept.reason, Refusal::Shutdown);
    assert!(scheduler.shutdown().is_ok_and(|callbacks| callbacks.is_empty()), "a second time");
    assert_eq!((scheduler.run_queue(), scheduler.timeout()), (Ok(0), None));
    drop(scheduler);
    assert_eq!(drops.load(Ordering::SeqCst), 4);
}

/// Callbacks are dropped without the lock, so code that runs in their drop can use the scheduler.
#[test]
fn the_drop_of_a_callback_may_use_the_scheduler() {
    struct Asks(Arc<Scheduler<Boxed>>, Arc<AtomicUsize>);
    impl Drop for Asks {
        fn drop(&mut self) {
            let _ = self.0.statistics();
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    let host = VirtualHost::new();
    let scheduler = Arc::new(scheduler(&host, Structure::default()));
    let drops = Arc::new(AtomicUsize::new(0));
    let add = || {
        let asks = Asks(Arc::clone(&scheduler), Arc::clone(&drops));
        let callback = Boxed::with_token(3, move |_| {
            let _keep = &asks;
            Next::Done
        });
        scheduler.timer(Timing::after(ms(1))).named("asks").add(callback).unwrap()
    };
    drop(scheduler.cancel(add()));
    add();
    host.advance(ms(1));
    assert_eq!(scheduler.run_queue(), Ok(1));
    add();
    assert_eq!(scheduler.cancel_matching(3, drop), (1, None));
    add();
    drop(scheduler.shutdown().unwrap());
    assert_eq!(drops.load(Ordering::Relaxed), 4);
}

/// A poll loop must not return before a timer is due.
#[test]
fn the_time_out_of_a_poll_is_rounded_up() {
    let host = VirtualHost::new();
    let mut scheduler = scheduler(&host, Structure::default());
    scheduler.add(Duration::from_nanos(2_000_001), Boxed::once(|_| {})).unwrap();
    assert_eq!(scheduler.timeout_ms(), 3);
    host.advance(Duration::from_millis(2));
    assert_eq!(scheduler.timeout_ms(), 1);
    host.advance(Duration::from_nanos(1));
    assert_eq!(scheduler.timeout_ms(), 0);
    scheduler.run_queue().unwrap();
    scheduler.add(Duration::MAX, Boxed::once(|_| {})).unwrap();
    assert_eq!(scheduler.timeout_ms(), i32::MAX);
}

#[test]
fn a_refused_replacement_leaves_the_old_one() {
    let host = VirtualHost::new();
    let scheduler = scheduler(&host, Structure::default());
    let old = scheduler.add(ms(5), Boxed::once(|_| {})).unwrap();
    let by_wall = Timing::at(tickwright::scheduler::When::Wall(Duration::from_nanos(5)));
    let refused = scheduler.timer(by_wall).named("new").replace(old, Boxed::once(|_| {}));
    assert_eq!(refused.err().map(|refused| refused.reason), Some(Refusal::NoWall));
    assert_eq!(scheduler.remaining(old), Some(ms(5)));
}

#[test]
fn a_panic_leaves_the_scheduler_whole() {
    for structure in exact() {
        let host = VirtualHost::new();
        let mut scheduler = scheduler(&host, structure);
        let log = Log::default();
        let before = scheduler.add(ms(1), log.note(1)).unwrap();
        let bad = scheduler.add(ms(1), Boxed::new(|_| panic!("on purpose"))).unwrap();
        scheduler.add(ms(1), log.note(2)).unwrap();
        let kept = scheduler.keep(&Site::here("k"), Boxed::new(|_| panic!("on purpose"))).unwrap();
        scheduler.start(kept, Timing::after(ms(2))).unwrap();
        host.advance(ms(1));
        assert!(catch_unwind(AssertUnwindSafe(|| scheduler.run_queue())).is_err());
        assert_eq!((scheduler.check(), scheduler.timeout()), (Ok(()), Some(Duration::ZERO)));
        assert_eq!((scheduler.find(before), scheduler.find(bad)), (None, None));
        assert_eq!((scheduler.run_queue(), log.take()), (Ok(1), vec![1, 2]));
        host.advance(ms(1));
        assert!(catch_unwind(AssertUnwindSafe(|| scheduler.run_queue())).is_err());
        assert_eq!(scheduler.find(kept).map(|info| info.state), Some(State::Idle));
        let panicked: u64 = scheduler.report().sites.iter().map(|site| site.panicked).sum();
        assert_eq!(panicked, 2);
    }
}

#[test]
fn a_panic_in_the_drop_of_a_callback_leaves_the_scheduler_whole() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    let host = VirtualHost::new();
    let scheduler = scheduler(&host, Structure::default());
    let bad = Bad;
    scheduler
        .add(
            ms(1),
            Boxed::new(move |_| {
                let _keep = &bad;
                Next::Done
            }),
        )
        .unwrap();
    let log = Log::default();
    scheduler.add(ms(1), log.note(1)).unwrap();
    host.advance(ms(1));
    assert!(catch_unwind(AssertUnwindSafe(|| scheduler.run_queue())).is_err());
    assert_eq!((scheduler.run_queue(), log.take(), scheduler.check()), (Ok(1), vec![1], Ok(())));
    assert!(scheduler.shutdown().is_ok());
}

#[test]
fn clean_up_by_token() {
    let host = VirtualHost::new();
    let scheduler = scheduler(&host, Structure::default());
    let log = Log::default();
    for number in 0..30 {
        let timing = Timing::after(ms(u64::from(number)));
        let log = log.clone();
        let note = move |_: &Firing<'_, _>| {
            log.push(number);
            Next::Done
        };
        scheduler.timer(timing).named("n").add(Boxed::with_token(number as usize % 3, note)).unwrap();
    }
    assert!(
        scheduler
            .dump()
            .timers
            .iter()
            .all(|timer| timer.token == timer.info.due.as_nanos() as usize / 1_000_000 % 3)
    );
    assert_eq!(scheduler.cancel_matching(1, drop), (10, None));
    assert_eq!(scheduler.statistics().timers, 20);
    assert_eq!(scheduler.cancel_matching(77, drop), (0, None));
    host.advance(ms(30));
    scheduler.run_queue().unwrap();
    assert_eq!(log.take(), (0..30).filter(|number| number % 3 != 1).collect::<Vec<_>>());
}

#[test]
fn clean_up_from_a_callback_takes_it_along() {
    let host = VirtualHost::new();
    let mut scheduler = scheduler(&host, Structure::default());
    let cleaning = Boxed::with_token(5, |firing| {
        let scheduler = firing.scheduler();
        assert_eq!(scheduler.inspect(firing.id, |_| ()).map(|(timer, _)| timer.token), Some(5));
        assert_eq!(scheduler.cancel_matching(5, drop), (0, Some(firing.id)));
        Next::Again
    });
    scheduler.timer(Timing::after(ms(1))).named("c").add(cleaning).unwrap();
    host.advance(ms(1));
    assert_eq!((scheduler.run_queue(), scheduler.timeout()), (Ok(1), None));
}

#[test]
fn int_ids_name_the_same_timers() {
    let host = VirtualHost::new();
    let settings = Settings::new().clock(host.monotonic()).int_ids();
    let scheduler: Scheduler<Plain<u8>> = Scheduler::new(settings);
    let callback = Plain::new(0u8, |runs, _| {
        *runs += 1;
        if *runs < 3 { Next::Again } else { Next::Done }
    });
    let id = scheduler.add(ms(1), callback).unwrap();
    let int = scheduler.int_id(id).unwrap();
    assert_eq!((int, scheduler.from_int(int)), (1, Some(id)));
    for _ in 0..3 {
        assert_eq!(scheduler.from_int(int), Some(id), "the same while it goes on");
        host.advance(ms(1));
        scheduler.run_queue().unwrap();
    }
    assert_eq!((scheduler.from_int(int), scheduler.int_id(id)), (None, None));
    for bad in [0, -1, i32::MIN, i32::MAX, 2] {
        assert_eq!(scheduler.from_int(bad), None);
    }
    let next = scheduler.add(ms(1), callback).unwrap();
    assert_eq!(scheduler.int_id(next), Some(2));
}

#[test]
fn dump_and_report_show_what_there_is() {
    let host = VirtualHost::new();
    let scheduler = scheduler(&host, Structure::default());
    let beat = Timing::after(ms(20)).every(ms(10)).missed(Missed::Skip);
    scheduler.timer(beat).named("beat").add(Boxed::new(|_| Next::Again)).unwrap();
    let here = line!() + 1;
    scheduler.add(ms(5), Boxed::new(|_| Next::Done)).unwrap();
    scheduler.keep(&Site::here("spare"), Boxed::new(|_| Next::Done)).unwrap();
    let dump = scheduler.dump();
    assert_eq!(
        dump.timers.iter().map(|timer| timer.info.site.name).collect::<Vec<_>>(),
        ["", "beat", "spare"]
    );
    assert_eq!(dump.timers[0].info.site.line, here);
    let text = dump.to_string();
    assert!(text.contains("beat (") && text.contains("20.000 ms") && text.contains("3 timers"), "{text}");
    host.advance(ms(47));
    scheduler.run_queue().unwrap();
    let report = scheduler.report();
    assert_eq!(
        (report.statistics.fired, report.statistics.overruns, report.statistics.high_water),
        (2, 2, 3)
    );
    let beat = report.sites.iter().find(|row| row.site.name == "beat").unwrap();
    assert_eq!((beat.added, beat.fired), (1, 1));
    let text = report.to_string();
    assert!(text.contains("at most 3 at a time") && text.contains("lateness: mean"), "{text}");
}

#[test]
fn many_origins_are_counted_as_others_and_cost_no_more_memory() {
    let host = VirtualHost::new();
    let scheduler = scheduler(&host, Structure::default());
    for line in 0..5_000 {
        let site = Site { name: "n", file: "f", line };
        scheduler.timer(Timing::after(ms(1))).origin(site).add(Boxed::new(|_| Next::Done)).unwrap();
    }
    let sites = scheduler.report().sites;
    assert!(sites.len() <= 1024);
    assert_eq!(sites.iter().map(|row| row.added).sum::<u64>(), 5_000);
}

/// A callback with a number, whose token is 1 if the number is odd and 0 if it is even.
struct Numbered(usize);

impl Callback for Numbered {
    fn call(&mut self, _: &Firing<'_, Self>) -> Next {
        Next::Done
    }

    fn token(&self) -> usize {
        self.0 % 2
    }
}

/// The scheduler calls `token` under its lock.
#[test]
fn a_token_that_panics_leaves_the_scheduler_whole() {
    struct Rude(Arc<AtomicUsize>);
    impl Callback for Rude {
        fn call(&mut self, _: &Firing<'_, Self>) -> Next {
            Next::Done
        }

        fn token(&self) -> usize {
            panic!("no token")
        }
    }
    impl Drop for Rude {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let host = VirtualHost::new();
    let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
    let drops = Arc::new(AtomicUsize::new(0));
    scheduler.add(ms(0), Rude(Arc::clone(&drops))).unwrap();
    let later = scheduler.add(ms(5), Rude(Arc::clone(&drops))).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| scheduler.run_queue())).is_err());
    assert_eq!((drops.load(Ordering::Relaxed), scheduler.check()), (1, Ok(())));
    assert!(catch_unwind(AssertUnwindSafe(|| scheduler.cancel_matching(0, drop))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| scheduler.dump())).is_err());
    assert_eq!((scheduler.run_queue(), scheduler.when(later)), (Ok(0), Some(Instant::from_nanos(5_000_000))));
    let mut left = 0;
    assert_eq!(scheduler.shutdown_each(|_| left += 1), Ok(()), "it asks for no token");
    assert_eq!(left, 1);
}

#[test]
fn one_by_one_is_all_of_them_once() {
    let host = VirtualHost::new();
    let mut scheduler = Scheduler::try_new(Settings::new().clock(host.monotonic()).capacity(10)).unwrap();
    for number in 0..6 {
        scheduler.timer(Timing::after(ms(5))).add(Numbered(number)).unwrap();
    }
    let kept = scheduler.keep(&Site::here(""), Numbered(7)).unwrap();
    let (found, number) = scheduler.inspect(kept, |callback| callback.0).unwrap();
    assert_eq!((found.info.state, found.token, number), (State::Idle, 1, Some(7)));

    let mut out = Vec::new();
    let answer = scheduler.cancel_matching(1, |callback| {
        scheduler.check().unwrap();
        out.push(callback.0);
    });
    assert_eq!((out, answer), (vec![1, 3, 5, 7], (4, None)));
    assert!(scheduler.inspect(kept, |_| ()).is_none());

    let mut out = Vec::new();
    scheduler
        .shutdown_each(|callback| {
            let refused = scheduler.add(ms(1), Numbered(9)).unwrap_err();
            assert_eq!(refused.reason, Refusal::Shutdown);
            out.push(callback.0);
        })
        .unwrap();
    assert_eq!(out, [0, 2, 4]);
    assert_eq!(scheduler.statistics().timers, 0);
    assert_eq!((scheduler.timeout(), scheduler.shutdown_each(drop)), (None, Ok(())));
}

#[test]
fn a_callback_knows_where_it_is_and_is_not_shown_while_it_runs() {
    let host = VirtualHost::new();
    let scheduler = scheduler(&host, Structure::default());
    let id = scheduler
        .add(
            ms(0),
            Boxed::once(|firing| {
                let scheduler = firing.scheduler();
                assert!(scheduler.within_callback());
                let (found, callback) = scheduler.inspect(firing.id, |_| ()).unwrap();
                assert_eq!((found.info.state, callback), (State::Running, None));
                assert!(scheduler.shutdown_each(drop).is_err(), "it would wait for itself");
                assert_eq!(scheduler.cancel_matching(0, drop), (0, Some(firing.id)));
            }),
        )
        .unwrap();
    assert!(!scheduler.within_callback());
    assert_eq!(scheduler.run_queue(), Ok(1));
    assert!(scheduler.find(id).is_none());
}

#[test]
fn a_shutdown_ends_the_pass_that_is_under_way() {
    let host = VirtualHost::new();
    let scheduler = scheduler(&host, Structure::default());
    let (running, go) = (Arc::new(std::sync::Barrier::new(2)), Arc::new(std::sync::Barrier::new(2)));
    let (here, there) = (Arc::clone(&running), Arc::clone(&go));
    let first = Boxed::once(move |_| {
        here.wait();
        there.wait();
    });
    scheduler.add(ms(0), first).unwrap();
    scheduler.add(ms(0), Boxed::once(|_| panic!("it runs after the shutdown"))).unwrap();
    std::thread::scope(|scope| {
        let runner = scope.spawn(|| scheduler.run_queue());
        running.wait();
        let ended = scheduler.shutdown_each(|_| {
            // The callback is allowed to end when the shutdown has returned the other timer's
            // callback. The shutdown waits for that end.
            go.wait();
        });
        assert_eq!((ended, runner.join().unwrap()), (Ok(()), Ok(1)));
    });
}

/// If a callback arms its own timer and then panics, the arm is cancelled: the timer is removed, or
/// becomes idle if it is kept.
#[test]
fn a_callback_that_starts_its_own_timer_and_panics() {
    for structure in Structure::all() {
        let host = VirtualHost::new();
        let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()).structure(structure));
        let bad = || {
            Boxed::new(|firing| {
                firing.scheduler().start(firing.id, Timing::after(ms(5))).unwrap();
                panic!("on purpose")
            })
        };
        let once = scheduler.add(ms(1), bad()).unwrap();
        let kept = scheduler.keep(&Site::here("k"), bad()).unwrap();
        scheduler.start(kept, Timing::after(ms(2))).unwrap();
        host.advance(Duration::from_millis(10));
        for _ in 0..2 {
            assert!(catch_unwind(AssertUnwindSafe(|| scheduler.run_queue())).is_err());
        }
        let state = |id| scheduler.find(id).map(|info| info.state);
        assert_eq!((state(once), state(kept)), (None, Some(State::Idle)), "{structure}");
        assert_eq!((scheduler.statistics().pending, scheduler.check()), (0, Ok(())), "{structure}");
        // The kept timer can be started again.
        scheduler.start(kept, Timing::after(ms(1))).unwrap();
        assert_eq!(state(kept), Some(State::Pending));
    }
}

/// An origin can have any key, even one that is all zeros.
#[test]
fn an_origin_whose_key_is_zero_has_a_name() {
    struct Numbered(usize);
    impl Origin for Numbered {
        fn key(&self) -> [usize; 3] {
            [self.0, 0, 0]
        }
        fn site(&self) -> Site {
            Site { name: if self.0 == 0 { "zero" } else { "other" }, file: "table", line: 1 }
        }
    }
    let scheduler: Scheduler<Boxed> = Scheduler::new(Settings::new().clock(VirtualHost::new().monotonic()));
    for number in [0, 0, 1, 0, 1] {
        scheduler
            .timer(Timing::after(ms(1)))
            .origin(Numbered(number))
            .add(Boxed::new(|_| Next::Done))
            .unwrap();
    }
    let sites = scheduler.report().sites;
    let added: Vec<_> = sites.iter().map(|site| (site.site.name, site.added)).collect();
    assert_eq!(added, [("zero", 3), ("other", 2)]);
}

/// Two structures are compared by their families, and not by their names.
#[test]
fn structures_of_one_name_differ_by_their_parameters() {
    let (usual, other) = (Structure::of::<Wheel>(), Structure::of::<Wheel<32, 13>>());
    assert_eq!((usual.id(), usual == other), (other.id(), false));
    assert_eq!((usual.default_tick(), other.default_tick()), (Ticks::MILLISECOND, Ticks::MILLISECOND));
    assert_eq!(usual, Structure::of::<Wheel<64, 11>>());
    assert_eq!("wheel".parse(), Ok(usual));
    assert_ne!(Structure::of::<BoundedHeap<4, 8>>(), Structure::of::<BoundedHeap<4, 4096>>());
    let declared = |structure: &Structure| (structure.id(), structure.default_tick() == Ticks::MILLISECOND);
    let wheels: Vec<_> = Structure::all().iter().map(declared).filter(|row| row.1).map(|row| row.0).collect();
    assert_eq!(wheels, ["wheel", "coarse"]);
}
