//! Two jobs on the scheduler's own thread: one repeats on a grid, and the other is cancelled.
//!
//! ```text
//! cargo run -p tickwright --example scheduler_thread
//! ```
//!
//! The example takes about 60 ms.

use core::error::Error;
use core::time::Duration;
use std::sync::{Arc, mpsc};

use tickwright::scheduler::{Boxed, Cancelled, Missed, Next, Scheduler, SchedulerThread, Settings, Timing};

fn main() -> Result<(), Box<dyn Error>> {
    let scheduler = Arc::new(Scheduler::new(Settings::new()));
    let thread = SchedulerThread::start("timers", &scheduler)?;

    let (beats, heard) = mpsc::channel();
    let period = Duration::from_millis(20);
    let beat = Timing::after(period).every(period).missed(Missed::Skip);
    let mut left = 3;
    scheduler.timer(beat).named("beat").add(Boxed::new(move |firing| {
        left -= 1;
        // The send fails if the receiver was dropped.
        let _ = beats.send((firing.lateness(), firing.overruns));
        if left > 0 { Next::Again } else { Next::Done }
    }))?;

    // The reply came, so the program cancels the time-out. After `cancel_sync` returns, the
    // callback is not running and never runs again.
    let timeout = scheduler.add(Duration::from_secs(5), Boxed::once(|_| println!("no reply")))?;
    assert!(matches!(scheduler.cancel_sync(timeout)?, Cancelled::Removed(_)));

    // The channel closes when the scheduler drops the callback that owns the sender.
    for (lateness, overruns) in heard {
        println!("{} us late, {overruns} periods missed", lateness.as_micros());
    }
    assert_eq!(scheduler.statistics().timers, 0);
    thread.stop()?;
    Ok(())
}
