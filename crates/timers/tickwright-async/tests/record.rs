//! Tests that the operations of sleeps, time-outs and slots are recorded.

use core::time::Duration;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tickwright::record::Recorder;
use tickwright_async::{TestClock, TimerSettings};
use tickwright_trace::Reader;

#[derive(Clone, Default)]
struct File(Arc<Mutex<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn each_timer_is_armed_and_ends_once() {
    let file = File::default();
    let recorder = Recorder::new(file.clone(), "test").unwrap();
    let clock = TestClock::new();
    let timers = clock.timers_with(TimerSettings::new().recorded(recorder.queue("async", 1).unwrap()));
    clock.block_on(async {
        timers.sleep(SECOND).await;
        assert!(timers.timeout(2 * SECOND, timers.sleep(SECOND)).await.is_ok());
        assert!(timers.timeout(SECOND, core::future::pending::<()>()).await.is_err());
        let mut slot = timers.slot();
        for _ in 0..2 {
            assert!(slot.timeout(3 * SECOND, timers.sleep(SECOND)).await.is_ok());
        }
        let mut moved = timers.sleep(SECOND);
        assert!(!clock.is_ready(core::pin::Pin::new(&mut moved)));
        moved.reset_after(2 * SECOND);
        moved.await;
    });
    drop(timers);
    let kinds = kinds(recorder, &file);
    let count = |kind: &str| kinds.iter().filter(|one| **one == kind).count();
    // There are three separate sleeps, three sleeps in time-outs, three time-outs, and two uses of
    // a slot. Each of them has an end in the trace.
    assert_eq!(count("arm"), count("fire") + count("cancel"), "{kinds:?}");
    assert_eq!((count("fire"), count("cancel"), count("rearm")), (6, 3, 1), "{kinds:?}");
}

#[test]
fn a_timer_that_has_fired_is_armed_and_not_rearmed() {
    let file = File::default();
    let recorder = Recorder::new(file.clone(), "test").unwrap();
    let clock = TestClock::new();
    let timers = clock.timers_with(TimerSettings::new().recorded(recorder.queue("async", 1).unwrap()));
    clock.block_on(async {
        let mut every = timers.interval(SECOND);
        for _ in 0..3 {
            every.tick().await;
        }
        let mut sleep = timers.sleep(SECOND);
        core::future::poll_fn(|cx| core::pin::Pin::new(&mut sleep).poll(cx)).await;
        sleep.reset_after(SECOND);
        sleep.await;
    });
    drop(timers);
    // The first tick comes at once.
    assert_eq!(kinds(recorder, &file), ["arm", "fire"].repeat(4));
}

fn kinds(recorder: Recorder, file: &File) -> Vec<&'static str> {
    recorder.finish().unwrap();
    let bytes = file.0.lock().unwrap().clone();
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let mut kinds = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        kinds.extend(block.iter().map(|event| event.what.name()));
    }
    kinds
}
