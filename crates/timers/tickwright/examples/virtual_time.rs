//! Simulates a day of time-outs without waiting: the code under test takes a clock, which the test
//! moves.
//!
//! ```text
//! cargo run -p tickwright --example virtual_time
//! ```

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use tickwright::scheduler::{Boxed, Next, Refused, Scheduler, Settings};
use tickwright::time::VirtualHost;

const MINUTE: Duration = Duration::from_secs(60);

/// The code under test: retries after 1, 2, 4, ... minutes, at most an hour apart.
fn retry(scheduler: &Scheduler<Boxed>, tried: &Arc<AtomicUsize>) -> Result<(), Refused<Boxed>> {
    let tried = Arc::clone(tried);
    let mut delay = MINUTE;
    scheduler.add(
        delay,
        Boxed::new(move |_| {
            tried.fetch_add(1, Ordering::Relaxed);
            delay = (delay * 2).min(60 * MINUTE);
            Next::After(delay)
        }),
    )?;
    Ok(())
}

fn main() -> Result<(), Refused<Boxed>> {
    let host = VirtualHost::new();
    let mut scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
    let tried = Arc::new(AtomicUsize::new(0));
    retry(&scheduler, &tried)?;

    // Nothing sleeps: the test moves the clock through the day.
    let day = Duration::from_secs(24 * 60 * 60);
    let end = scheduler.now() + day;
    while let Some(wait) = scheduler.timeout()
        && scheduler.now() + wait <= end
    {
        host.advance(wait);
        assert_eq!(scheduler.run_queue(), Ok(1));
    }
    // The first six attempts take 1 + 2 + 4 + ... + 32 = 63 minutes. Then the code tries once an
    // hour.
    println!("tried {} times in a day", tried.load(Ordering::Relaxed));
    assert_eq!(tried.load(Ordering::Relaxed), 6 + 22);

    Ok(())
}
