//! Runs 10,000 threads that sleep, each on its own stack, on as many workers as there are cores.
//! Each thread reports to a mailbox when it wakes.
//!
//! ```text
//! cargo run --release -p tickwright-threads --example sleepers
//! ```
//!
//! The example runs for about 100 ms.

use core::error::Error;
use core::time::Duration;

use tickwright_threads::sync::unbounded;
use tickwright_threads::{Attributes, ManyToMany, Model, Runtime, this_thread};

const SLEEPERS: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new(Model::ManyToMany(ManyToMany::new().sleepers("wheel")))?;
    let (woken, mailbox) = unbounded();
    for number in 0..SLEEPERS {
        let woken = woken.clone();
        let sleep = move || {
            let asked = Duration::from_millis(10 + number as u64 % 40);
            let begun = this_thread::now();
            this_thread::sleep(asked);
            // If a sleep ended early, the subtraction would underflow and panic. The send fails if
            // the receiver was dropped.
            let _ = woken.send(this_thread::now().duration_since(begun) - asked);
        };
        // Dropping the handle detaches the thread.
        drop(runtime.spawn(&Attributes::new(), sleep)?);
    }
    drop(woken);

    // The mailbox closes when the last sleeper has dropped its sender.
    let late: Vec<Duration> = core::iter::from_fn(|| mailbox.recv().ok()).collect();
    let most = late.iter().max().copied().unwrap_or_default();
    println!("{} woke, none early, the last at most {} ms late", late.len(), most.as_millis());
    assert_eq!(late.len(), SLEEPERS);
    Ok(())
}
