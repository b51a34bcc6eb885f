//! Simulates a day of time-outs without waiting. The code under test uses a virtual clock, which
//! the test moves.
//!
//! ```text
//! cargo run -p tickwright --example virtual_time
//! ```

use core::cell::Cell;
use core::error::Error;
use std::rc::Rc;

use tickwright::scheduler::{Boxed, Duration, Local, LocalScheduler, Next, Refusal, Scheduler, Settings};
use tickwright::time::VirtualHost;

const MINUTE: Duration = Duration::from_secs(60);

/// The code under test. It retries after 1, 2, 4, ... minutes, and later once an hour.
fn retry(scheduler: &LocalScheduler<Boxed<Local>>, tried: &Rc<Cell<u32>>) -> Result<(), Refusal> {
    let tried = Rc::clone(tried);
    let mut delay = MINUTE;
    scheduler.after(delay, move |_| {
        tried.set(tried.get() + 1);
        delay = (delay * 2).min(60 * MINUTE);
        Next::After(delay)
    })?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let host = VirtualHost::new();
    let mut scheduler = Scheduler::local(Settings::new().clock(host.monotonic()));
    let tried = Rc::new(Cell::new(0));
    retry(&scheduler, &tried)?;

    // No thread sleeps, because the test moves the clock through the day.
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
    println!("tried {} times in a day", tried.get());
    assert_eq!(tried.get(), 6 + 22);

    Ok(())
}
