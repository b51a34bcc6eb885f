//! An event loop around `poll`. Messages arrive on a socket, and a silent connection is closed.
//!
//! The queue's ticks are milliseconds, so [`Ticks`] converts them. It rounds the clock's time down
//! to a whole tick and rounds deadlines up, so that no timer fires early. The conversion of a
//! wake-up is exact.
//!
//! Run it with `cargo run -p tickwright --example poll_loop`. It takes about 30 ms.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn core::error::Error>> {
    on_linux::run()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this example calls `poll` through Linux's interface");
}

#[cfg(target_os = "linux")]
mod on_linux {
    use core::error::Error;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use tickwright::time::{Clock, SystemClock, Ticks, timeout};
    use tickwright::{DaryHeap, SlabQueue};

    const TICKS: Ticks = Ticks::MILLISECOND;
    /// A connection that is silent for this long is closed.
    const IDLE_TICKS: u64 = 20;

    /// The purpose of a timer.
    #[derive(Debug)]
    enum Purpose {
        Send,
        CloseWhenIdle,
    }

    pub(super) fn run() -> Result<(), Box<dyn Error>> {
        let clock = SystemClock::Monotonic;
        let (mut near, mut far) = UnixStream::pair()?;
        let mut queue: SlabQueue<DaryHeap<4>, Purpose> = SlabQueue::with_capacity(4)?;
        // Deadlines are rounded up, so a timer of 20 ticks waits for at least 20 ms.
        let tick_after = |ticks: u64| TICKS.deadline(clock.now()) + ticks;
        let begun = TICKS.now(clock.now());
        for ticks in [2, 5, 9] {
            queue.insert_at(tick_after(ticks), Purpose::Send, begun)?;
        }
        let idle = queue.insert_at(tick_after(IDLE_TICKS), Purpose::CloseWhenIdle, begun)?;

        loop {
            // 1. Handle the timers that are due.
            let now_tick = TICKS.now(clock.now());
            while let Some(fired) = queue.pop_expired(now_tick) {
                match fired.value {
                    Purpose::Send => far.write_all(b"hello")?,
                    Purpose::CloseWhenIdle => {
                        println!("closed: silent for {IDLE_TICKS} ms");
                        return Ok(());
                    }
                }
            }
            // 2. Sleep until a message comes or the next timer is due.
            let wake = queue.next_wake().map(|tick| TICKS.start(tick));
            let limit = timeout(clock.now(), wake).map(Timespec::try_from).transpose()?;
            let mut sources = [PollFd::new(&near, PollFlags::IN)];
            poll(&mut sources, limit.as_ref())?;
            // 3. Handle the messages. Each gives its connection another 20 ms. The loop has
            // slept, so it passes the new time, from which a granular queue counts a delay.
            if sources[0].revents().contains(PollFlags::IN) {
                let mut message = [0; 16];
                let length = near.read(&mut message)?;
                println!("{length} bytes");
                queue.reschedule_at(idle, tick_after(IDLE_TICKS), TICKS.now(clock.now()))?;
            }
        }
    }
}
