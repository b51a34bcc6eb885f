//! Loom models of a recorded timer that threads share, in all schedules. Each model checks the
//! events in the trace: before an arm the timer is idle, before every other event it is pending,
//! and at the end it is idle.
#![cfg(all(loom, feature = "record"))]

mod loom_common;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use loom_common::{Ours, advance, explore, together};
use tickwright::record::{RecordedTimer, Recorder, What};
use tickwright::shard::{Shards, Was};
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

struct Scene {
    file: File,
    recorder: Recorder,
    shards: Arc<Shards<Ours>>,
}

impl Scene {
    fn new() -> Self {
        let file = File::default();
        let recorder = Recorder::new(file.clone(), "model").unwrap();
        Self { file, recorder, shards: Arc::new(Shards::with_geometry(1, 0)) }
    }

    /// Creates a timer that is pending for tick 70. Its callback arms it again for each deadline in
    /// `again`.
    fn armed(&self, again: Vec<u64>) -> RecordedTimer<Ours> {
        let again = Mutex::new(again);
        let queue = self.recorder.queue("shard", 1).unwrap();
        let timer = RecordedTimer::new(&self.shards.shard(0).unwrap(), &queue, move |_, timer| {
            let next = again.lock().unwrap().pop();
            if let Some(deadline) = next {
                let _ = timer.modify_at(deadline, 0);
            }
        });
        timer.add(70, 0).unwrap();
        timer
    }

    /// Drops the timer and its shards, and checks the trace.
    fn end(self, timer: RecordedTimer<Ours>) {
        drop((timer, self.shards));
        self.recorder.finish().unwrap();
        let bytes = self.file.0.lock().unwrap().clone();
        let mut reader = Reader::new(&bytes[..]).unwrap();
        let (mut whats, mut pending) = (Vec::new(), false);
        while let Some(block) = reader.next_block().unwrap() {
            whats.extend(block.iter().map(|event| event.what));
        }
        for what in &whats {
            let (before, after) = match what {
                What::Arm { .. } => (false, true),
                What::Rearm { .. } => (true, true),
                What::Cancel | What::Fire => (true, false),
            };
            assert_eq!(pending, before, "{} of {whats:?}", what.name());
            pending = after;
        }
        assert!(!pending, "an arm without an end: {whats:?}");
    }
}

/// Another thread that arms the timer cannot come between the cancel and the event of the cancel.
/// This fails if the event is recorded after the lock was released and taken again.
#[test]
fn cancel_sync_against_an_arm() {
    explore(None, || {
        let scene = Scene::new();
        let timer = scene.armed(vec![]);
        let (cancels, arms) = (timer.clone(), timer.clone());
        let _ = together!(move || cancels.cancel_sync().unwrap(), move || arms.modify_at(300, 0).unwrap());
        scene.end(timer);
    });
}

#[test]
fn shutdown_sync_against_an_arm() {
    explore(None, || {
        let scene = Scene::new();
        let timer = scene.armed(vec![]);
        let (ends, arms) = (timer.clone(), timer.clone());
        let _ = together!(move || ends.shutdown_sync().unwrap(), move || {
            // This arm is refused if it comes after the shutdown.
            let _ = arms.modify_at(300, 0);
        });
        scene.end(timer);
    });
}

/// The timer is armed after the shard has taken it and before its callback has recorded the expiry.
/// This fails if the arm does not record the expiry before its own event, or if both the arm and
/// the callback record the expiry.
#[test]
fn an_arm_against_the_expiry() {
    for deadline in [66, 300] {
        explore(None, move || {
            let scene = Scene::new();
            let timer = scene.armed(vec![]);
            let (arms, shards) = (timer.clone(), scene.shards.clone());
            together!(move || arms.modify_at(deadline, 0).unwrap(), move || advance(&shards, 0, 72));
            scene.end(timer);
        });
    }
}

/// Like `an_arm_against_the_expiry`, but the timer is cancelled after the arm.
#[test]
fn an_arm_and_a_cancel_against_the_expiry() {
    explore(None, || {
        let scene = Scene::new();
        let timer = scene.armed(vec![]);
        let (arms, shards) = (timer.clone(), scene.shards.clone());
        together!(
            move || {
                arms.modify_at(300, 0).unwrap();
                assert_eq!(arms.cancel(), Was::Pending);
            },
            move || advance(&shards, 0, 72)
        );
        scene.end(timer);
    });
}

/// A thread waits for a callback that arms its own timer. This fails if the thread holds the
/// timer's lock during the wait, because the callback takes that lock.
#[test]
fn a_withdrawal_that_waits_against_a_callback_that_re_arms_itself() {
    for shutdown in [false, true] {
        explore(None, move || {
            let scene = Scene::new();
            let timer = scene.armed(vec![300]);
            let (waits, shards) = (timer.clone(), scene.shards.clone());
            together!(move || advance(&shards, 0, 72), move || {
                let _ = if shutdown { waits.shutdown_sync() } else { waits.cancel_sync() }.unwrap();
                assert!(!waits.timer().is_pending());
            });
            scene.end(timer);
        });
    }
}
