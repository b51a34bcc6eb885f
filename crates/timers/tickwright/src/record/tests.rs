use core::any::Any;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tickwright_core::{
    Advance, CoarseWheel, DefaultQueue, Exact, Expired, HookQueue, Key, KeyError, Order, Pending, Rejected,
    SlabQueue, SortedList, Tick, Timer, TimerQueue, Violation, Wheel,
};
use tickwright_trace::{Event, Reader, What};

use super::{QueueRecorder, Recorded, RecordedTimer, Recorder};
use crate::scheduler::{Boxed, Next, Scheduler, Settings, Site, Structure, TimerSet, Timing};
use crate::shard::{Shards, TryCancel, Was};
use crate::time::VirtualHost;

/// A file in memory that holds at most a given number of bytes.
#[derive(Clone)]
struct File {
    bytes: Arc<Mutex<Vec<u8>>>,
    most: usize,
}

impl File {
    fn new() -> Self {
        Self { bytes: Arc::default(), most: usize::MAX }
    }

    /// Reads the events, the names of threads, and the names of call sites.
    fn read(&self) -> (Vec<Event>, Vec<String>, Vec<String>) {
        let bytes = self.bytes.lock().unwrap().clone();
        let mut reader = Reader::new(&bytes[..]).unwrap();
        let mut events = Vec::new();
        while let Some(block) = reader.next_block().unwrap_or(None) {
            events.extend_from_slice(block);
        }
        let named = |names: &tickwright_trace::Names| names.iter().map(|(_, name)| name.to_owned()).collect();
        (events, named(reader.threads()), named(reader.sites()))
    }

    fn whats(&self) -> Vec<What> {
        self.read().0.iter().map(|event| event.what).collect()
    }
}

impl Write for File {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut bytes = self.bytes.lock().unwrap();
        if bytes.len() + data.len() > self.most {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        bytes.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const MS: i64 = 1_000_000;

fn arm(ms: i64) -> What {
    What::Arm { deadline: ms * MS, period: 0 }
}

fn rearm(ms: i64) -> What {
    What::Rearm { deadline: ms * MS, period: 0 }
}

#[test]
fn a_queue_records_each_of_its_operations() {
    let (file, host) = (File::new(), VirtualHost::new());
    let recorder = Recorder::with_clock(file.clone(), "test", host.monotonic()).unwrap();
    let mut queue = Recorded::new(DefaultQueue::new(), recorder.queue("queue", MS as u64).unwrap());
    let [first, second, third] = [10, 20, 30].map(|deadline| queue.insert(deadline, "timer").unwrap());
    assert!(queue.reschedule(first, 15).is_ok() && queue.remove(second).is_ok());
    assert!(queue.remove(second).is_err() && queue.reschedule(second, 1).is_err(), "stale: no events");
    host.advance(Duration::from_millis(15));
    assert_eq!(queue.advance(15, |_| ()), 1);
    host.advance(Duration::from_millis(15));
    assert_eq!(queue.pop_and_reinsert(30, |expiry, _| expiry + 10).map(|fired| fired.key), Some(third));
    queue.insert(35, "late").unwrap();
    host.advance(Duration::from_millis(5));
    assert_eq!(queue.pop_expired(35).map(|fired| fired.value), Some("late"));
    queue.clear();
    assert!(queue.is_empty());
    recorder.finish().unwrap();
    queue.insert(50, "after the end").unwrap();

    let (events, threads, sites) = file.read();
    let whats: Vec<What> = events.iter().map(|event| event.what).collect();
    let expected = [
        arm(10),
        arm(20),
        arm(30),
        rearm(15),
        What::Cancel,
        What::Fire,
        What::Fire,
        arm(40),
        arm(35),
        What::Fire,
        What::Cancel,
    ];
    assert_eq!(whats, expected);
    let times: Vec<i64> = events.iter().map(|event| event.time / MS).collect();
    assert_eq!(times, [0, 0, 0, 0, 0, 15, 30, 30, 30, 35, 35]);
    assert_eq!(events[3].timer, events[0].timer);
    assert_eq!(events[6].timer, events[2].timer);
    assert_eq!(threads.len(), 1);
    assert!(sites[0].contains("record/tests.rs:"), "the call of the test, not of the wrapper: {sites:?}");
    assert_eq!(recorder.events(), 11);
}

#[test]
fn a_timer_of_a_hook_queue_has_one_number_for_ever() {
    let file = File::new();
    let recorder = Recorder::with_clock(file.clone(), "test", VirtualHost::new().monotonic()).unwrap();
    let timer = Timer::new("mine");
    let queue: HookQueue<'_, SortedList, &str> = HookQueue::new();
    let mut queue = Recorded::new(queue, recorder.queue("list", 1).unwrap());
    for deadline in [5, 6] {
        let key = queue.insert(deadline, &timer).unwrap();
        queue.remove(key).unwrap();
    }
    drop((queue, recorder));
    let (events, ..) = file.read();
    assert_eq!(events.len(), 4, "the last handle has written what was left");
    assert!(events.iter().all(|event| event.timer == events[0].timer));
}

/// The recorded delay counts from the time passed to `insert_at`, and not from the queue's last
/// pop.
#[test]
fn a_queue_that_is_told_the_time_records_the_delay_that_was_meant() {
    let (file, host) = (File::new(), VirtualHost::new());
    let recorder = Recorder::with_clock(file.clone(), "test", host.monotonic()).unwrap();
    let late: SlabQueue<CoarseWheel, &str> = SlabQueue::new();
    let mut queue = Recorded::new(late, recorder.queue("queue", MS as u64).unwrap());
    host.advance(Duration::from_secs(3600));
    let key = queue.insert_at(3_600_200, "time-out", 3_600_000).unwrap();
    host.advance(Duration::from_millis(50));
    assert!(queue.reschedule_at(key, 3_600_250, 3_600_050).is_ok());
    assert_eq!(queue.next_expiry(), Some(3_600_256), "the queue was told the time too");
    assert_eq!((queue.now(), queue.len()), (3_600_050, 1));
    recorder.finish().unwrap();
    let (events, ..) = file.read();
    let delays: Vec<i64> =
        events.iter().filter_map(|event| Some((event.what.armed()?.0 - event.time) / MS)).collect();
    assert_eq!(delays, [200, 200]);
}

#[test]
fn a_scheduler_records_for_each_structure() {
    for structure in Structure::all() {
        let (file, host) = (File::new(), VirtualHost::new());
        let recorder = Recorder::with_clock(file.clone(), "test", host.monotonic()).unwrap();
        let tick = structure.default_tick().nanoseconds();
        let queue = recorder.queue("scheduler", tick).unwrap();
        let settings = Settings::new().structure(structure).clock(host.monotonic()).recorded(queue);
        let scheduler = Scheduler::new(settings);
        let every =
            scheduler.add(Duration::from_millis(10), Boxed::new(|_| Next::After(Duration::from_millis(10))));
        let never = scheduler.add(Duration::from_millis(500), Boxed::once(|_| ())).unwrap();
        for _ in 0..2 {
            host.advance(Duration::from_millis(10));
            while scheduler.run_queue().unwrap() == 0 {
                host.advance(Duration::from_millis(1));
            }
        }
        scheduler.cancel(never);
        assert!(every.is_ok());
        drop(scheduler);
        recorder.finish().unwrap();
        let kinds: Vec<&str> = file.whats().iter().map(|what| what.name()).collect();
        // Dropping the scheduler records the second cancel.
        let expected = ["arm", "arm", "fire", "arm", "fire", "arm", "cancel", "cancel"];
        assert_eq!(kinds, expected, "{structure}");
        let (events, ..) = file.read();
        assert_eq!(events[0].what.armed().map(|(deadline, _)| deadline), Some(10 * MS), "{structure}");
        assert!(events[2].time >= 10 * MS && events[6].timer == events[1].timer, "{structure}");
    }
}

#[test]
fn a_shared_timer_records_from_each_thread() {
    let (file, host) = (File::new(), VirtualHost::new());
    let recorder = Recorder::with_clock(file.clone(), "test", host.monotonic()).unwrap();
    let shards = Shards::new(1);
    let shard = shards.shard(0).unwrap();
    let timer = RecordedTimer::new(&shard, &recorder.queue("shards", MS as u64).unwrap(), |_, _| ());
    timer.add(1_000, 0).unwrap();
    assert!(timer.add(1_000, 0).is_err(), "pending: no event");
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(timer.modify_at(1_001, 0), Ok(Was::Pending)));
    });
    assert!(timer.timer().is_pending());
    assert_eq!(timer.cancel(), Was::Pending);
    assert_eq!(timer.cancel_sync(), Ok(Was::Idle));
    assert_eq!(timer.modify_at(20, 10), Ok(Was::Idle));
    assert_eq!(shard.advance(100), Ok(1));
    assert_eq!(timer.shutdown(), Was::Idle);
    recorder.finish().unwrap();
    let expected = [arm(1_000), rearm(1_001), What::Cancel, arm(10), What::Fire];
    assert_eq!(file.whats(), expected);
    let (events, threads, _) = file.read();
    assert_eq!((threads.len(), events[0].thread == events[1].thread), (2, false));
}

#[test]
fn every_operation_of_a_shared_timer_is_recorded() {
    let (file, host) = (File::new(), VirtualHost::new());
    let recorder = Recorder::with_clock(file.clone(), "test", host.monotonic()).unwrap();
    let shards = Shards::new(2);
    let shard = shards.shard(0).unwrap();
    let ticks = recorder.queue("shards", MS as u64).unwrap();
    // The callback re-arms the timer periodically until tick 33.
    let timer = RecordedTimer::new(&shard, &ticks, |firing, timer| {
        if firing.now() < 33 {
            timer.add(firing.now() + 10, firing.now()).unwrap();
        }
    });
    assert_eq!(timer.modify_pending(5, 0), Ok(Was::Idle), "no event");
    timer.add(10, 0).unwrap();
    // A bucket ends later than the deadlines in it.
    let passes = [11, 22, 33].map(|now| shard.advance(now));
    assert_eq!(passes, [Ok(1); 3]);
    assert_eq!(timer.reduce(60, 30), Ok(Was::Idle));
    assert_eq!(timer.reduce(50, 30), Ok(Was::Pending));
    assert_eq!(timer.reduce(55, 30), Ok(Was::Pending), "no event");
    assert_eq!(timer.modify_pending(70, 30), Ok(Was::Pending));
    assert_eq!(timer.modify_on(1, 80, 30), Ok(Was::Pending));
    assert_eq!((timer.timer().shard(), timer.timer().deadline()), (1, Some(80)));
    assert_eq!((timer.try_cancel(), timer.try_cancel()), (TryCancel::Removed, TryCancel::NotPending));
    timer.add_on(0, 90, 30).unwrap();
    assert_eq!(timer.clone().shutdown_sync(), Ok(Was::Pending));
    let state = timer.timer();
    assert!(state.is_shut_down() && !state.is_pending() && !state.is_running());
    recorder.finish().unwrap();
    let periods = [arm(10), What::Fire].repeat(3);
    let moves = [arm(30), rearm(20), rearm(40), rearm(50), What::Cancel, arm(60), What::Cancel];
    assert_eq!(file.whats(), [&periods[..], &moves].concat());
}

#[test]
fn a_full_disk_ends_the_trace_and_no_program() {
    let file = File { most: 20_000, ..File::new() };
    let recorder = Recorder::with_clock(file.clone(), "test", VirtualHost::new().monotonic()).unwrap();
    let mut queue = Recorded::new(SlabQueue::<Wheel, u64>::new(), recorder.queue("q", 1).unwrap());
    for i in 0..100_000_u64 {
        let key = queue.insert(i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1, i).unwrap();
        queue.remove(key).unwrap();
    }
    assert_eq!(recorder.events() + recorder.lost(), 200_000);
    assert!(recorder.lost() > 0);
    let error = recorder.finish().unwrap_err();
    assert!(error.to_string().contains("no storage space"), "{error}");
    assert!(recorder.finish().is_ok(), "it was said once");
    assert!(!file.read().0.is_empty(), "what was written before can be read");
}

/// If several threads write to one trace, no event is lost, and the times never decrease.
#[test]
fn threads_share_a_trace() {
    let file = File::new();
    let recorder = Recorder::new(file.clone(), "test").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let queue = recorder.queue("shared", 1).unwrap();
            scope.spawn(move || {
                for timer in 0..5_000 {
                    queue.arm(thread << 32 | timer, 7);
                    queue.cancel(thread << 32 | timer);
                }
            });
        }
    });
    recorder.finish().unwrap();
    let (events, threads, _) = file.read();
    assert_eq!((events.len(), threads.len()), (40_000, 4));
    assert!(events.is_sorted_by_key(|event| event.time));
}

/// Short-lived queues, schedulers and shards that share one recorder: each timer ends in the trace,
/// and no event of one queue refers to a timer of another queue.
#[test]
fn what_is_dropped_ends_its_timers_and_shared_recorders_do_not_mix_them() {
    type Make = fn(&QueueRecorder, &VirtualHost) -> Box<dyn Any>;
    let kinds: [(&str, Make); 4] = [
        ("queue", |recorder, _| {
            let mut queue = Recorded::new(SlabQueue::<Wheel, u8>::new(), recorder.clone());
            for value in 0..3 {
                queue.insert(30_000, value).unwrap();
            }
            Box::new(queue)
        }),
        ("set", |recorder, host| {
            let settings = Settings::new().clock(host.monotonic()).recorded(recorder.clone());
            let mut set = TimerSet::new(settings);
            for _ in 0..3 {
                set.add(Timing::after(Duration::from_secs(30)), &Site::here("x"), ()).unwrap();
            }
            Box::new(set)
        }),
        ("scheduler", |recorder, host| {
            let settings = Settings::new().clock(host.monotonic()).recorded(recorder.clone());
            let scheduler = Scheduler::new(settings);
            for _ in 0..3 {
                scheduler.add(Duration::from_secs(30), Boxed::once(|_| ())).unwrap();
            }
            Box::new(scheduler)
        }),
        ("shards", |recorder, _| {
            let shards = Shards::new(1);
            let timer = || RecordedTimer::new(&shards.shard(0).unwrap(), recorder, |_, _| ());
            let timers = [timer(), timer(), timer()];
            for timer in &timers {
                timer.add(30_000, 0).unwrap();
            }
            Box::new((shards, timers))
        }),
    ];
    for (kind, make) in kinds {
        let (file, host) = (File::new(), VirtualHost::new());
        let recorder = Recorder::with_clock(file.clone(), "test", host.monotonic()).unwrap();
        let queue = recorder.queue(kind, MS as u64).unwrap();
        for _ in 0..20 {
            // Two queues or schedulers exist at the same time, and a third one follows them.
            let both = (make(&queue, &host), make(&queue, &host));
            drop(both);
            drop(make(&queue, &host));
        }
        recorder.finish().unwrap();
        let (mut pending, mut most) = (BTreeSet::new(), 0);
        for event in file.read().0 {
            let is_new = match event.what.name() {
                "arm" => pending.insert(event.timer),
                "cancel" => pending.remove(&event.timer),
                other => panic!("{kind}: {other}"),
            };
            assert!(is_new, "{kind}: an event of a timer that another queue has");
            most = most.max(pending.len());
        }
        assert_eq!((pending.len(), most), (0, 6), "{kind}");
    }
}

/// A timer still fires after all its handles were dropped, and the trace records one end.
#[test]
fn the_last_handle_of_a_shared_timer_is_not_its_end() {
    let (file, host) = (File::new(), VirtualHost::new());
    let recorder = Recorder::with_clock(file.clone(), "test", host.monotonic()).unwrap();
    let shards = Shards::new(1);
    let shard = shards.shard(0).unwrap();
    let queue = recorder.queue("shards", MS as u64).unwrap();
    let timer = RecordedTimer::new(&shard, &queue, |_, _| ());
    timer.add(10, 0).unwrap();
    drop(timer);
    assert_eq!(shard.advance(20), Ok(1));
    let timer = RecordedTimer::new(&shard, &queue, |_, _| ());
    timer.add(30, 20).unwrap();
    assert_eq!(timer.cancel(), Was::Pending);
    drop(timer);
    recorder.finish().unwrap();
    assert_eq!(file.whats(), [arm(10), What::Fire, arm(10), What::Cancel]);
}

#[test]
fn a_queue_that_leaves_its_recorder_is_whole() {
    let (file, host) = (File::new(), VirtualHost::new());
    let recorder = Recorder::with_clock(file.clone(), "test", host.monotonic()).unwrap();
    let mut queue = SlabQueue::<Wheel, &str>::new();
    queue.insert(9, "before").unwrap();
    let mut queue = Recorded::new(queue, recorder.queue("q", MS as u64).unwrap());
    let gone = queue.insert(8, "gone").unwrap();
    queue.insert(7, "stays").unwrap();
    queue.remove(gone).unwrap();
    let mut queue = queue.into_inner();
    assert_eq!((recorder.events(), queue.len()), (4, 2));
    recorder.finish().unwrap();
    let (events, ..) = file.read();
    assert_eq!(file.whats(), [arm(8), arm(7), What::Cancel, What::Cancel]);
    assert_eq!(events[3].timer, events[1].timer, "the trace follows it no longer");
    assert_eq!(queue.pop_expired(7).map(|expired| expired.value), Some("stays"));
}

/// A queue that counts the calls that read one timer.
#[derive(Default)]
struct Counted {
    queue: SlabQueue<Wheel, u64>,
    calls: Arc<AtomicUsize>,
}

impl Counted {
    fn count(&self) -> &SlabQueue<Wheel, u64> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        &self.queue
    }

    fn count_mut(&mut self) -> &mut SlabQueue<Wheel, u64> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        &mut self.queue
    }
}

impl Exact for Counted {}

impl TimerQueue for Counted {
    type Key = Key;
    type Value = u64;
    const ORDER: Order = <SlabQueue<Wheel, u64> as TimerQueue>::ORDER;

    fn now(&self) -> Tick {
        self.queue.now()
    }
    fn update_now(&mut self, now: Tick) {
        self.queue.update_now(now);
    }
    fn len(&self) -> usize {
        self.queue.len()
    }
    fn insert_at(&mut self, deadline: Tick, value: u64, now: Tick) -> Result<Key, Rejected<u64>> {
        self.count_mut().insert_at(deadline, value, now)
    }
    fn remove(&mut self, key: Key) -> Result<u64, KeyError> {
        self.count_mut().remove(key)
    }
    fn reschedule_at(&mut self, key: Key, deadline: Tick, now: Tick) -> Result<(), KeyError> {
        self.count_mut().reschedule_at(key, deadline, now)
    }
    fn peek(&self) -> Option<Pending<Key>> {
        self.count().peek()
    }
    fn second(&self) -> Option<Pending<Key>> {
        self.count().second()
    }
    fn next_expiry(&self) -> Option<Tick> {
        self.count().next_expiry()
    }
    fn next_wake(&self) -> Option<Tick> {
        self.count().next_wake()
    }
    fn pop_expired(&mut self, now: Tick) -> Option<Expired<Key, u64>> {
        self.count_mut().pop_expired(now)
    }
    fn pop_and_reinsert(
        &mut self,
        now: Tick,
        rearm: impl FnOnce(Tick, &u64) -> Tick,
    ) -> Option<Expired<Key, ()>> {
        self.count_mut().pop_and_reinsert(now, rearm)
    }
    fn advance_within(&mut self, now: Tick, budget: usize, sink: impl FnMut(Expired<Key, u64>)) -> Advance {
        self.count_mut().advance_within(now, budget, sink)
    }
    fn clear(&mut self) {
        self.queue.clear();
    }
    fn check(&self) -> Result<(), Violation> {
        self.queue.check()
    }
}

/// Many timers share a tick, where a wheel's `peek` reads each of them. When such a queue is
/// dropped, the wrapper records the cancels without a call that reads one timer.
#[test]
fn the_ends_of_timers_at_one_tick_need_no_look_at_each_of_them() {
    const TIMERS: u64 = 1_000;
    type End = fn(Recorded<Counted>);
    let ends: [(&str, End); 3] = [
        ("clear", |mut queue| {
            queue.update_now(7);
            queue.clear();
            assert_eq!((queue.len(), queue.now()), (0, 7));
        }),
        ("into_inner", |queue| assert_eq!(queue.into_inner().len(), TIMERS as usize)),
        ("drop", drop),
    ];
    for (how, end) in ends {
        let file = File::new();
        let recorder = Recorder::with_clock(file.clone(), "test", VirtualHost::new().monotonic()).unwrap();
        let counted = Counted::default();
        let calls = Arc::clone(&counted.calls);
        let mut queue = Recorded::new(counted, recorder.queue("q", 1).unwrap());
        for value in 0..TIMERS {
            queue.insert(1 << 20, value).unwrap();
        }
        let before = calls.load(Ordering::Relaxed);
        end(queue);
        assert_eq!(calls.load(Ordering::Relaxed), before, "{how}");
        recorder.finish().unwrap();
        let (events, ..) = file.read();
        let timers = |what: &str| -> BTreeSet<u64> {
            events.iter().filter(|event| event.what.name() == what).map(|event| event.timer).collect()
        };
        assert_eq!(timers("cancel"), timers("arm"), "{how}");
        assert_eq!((timers("arm").len(), events.len()), (TIMERS as usize, 2 * TIMERS as usize), "{how}");
    }
}
