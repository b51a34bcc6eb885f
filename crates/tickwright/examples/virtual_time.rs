//! A day of time-outs in no time: the code under test takes a clock, and the test moves it.
//!
//! ```text
//! cargo run -p tickwright --example virtual_time
//! ```

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use tickwright::clock::VirtualHost;
use tickwright::scheduler::{Boxed, Next, Scheduler};
use tickwright::service::{Refused, Settings};

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
    let scheduler = Scheduler::new(Settings::new().clock(host.monotonic()));
    let tried = Arc::new(AtomicUsize::new(0));
    retry(&scheduler, &tried)?;

    // Nothing sleeps: the clock moves to what is due next.
    let day = Duration::from_secs(24 * 60 * 60);
    let end = scheduler.now() + day;
    while let Some(wait) = scheduler.timeout()
        && scheduler.now() + wait <= end
    {
        host.advance(wait);
        assert_eq!(scheduler.run_queue(), Ok(1));
    }
    // 1 + 2 + 4 + ... + 32 are 63 minutes, then one an hour.
    println!("tried {} times in a day", tried.load(Ordering::Relaxed));
    assert_eq!(tried.load(Ordering::Relaxed), 6 + 22);

    Ok(())
}
