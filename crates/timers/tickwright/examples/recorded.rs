//! Simulates a server, records its time-outs, and prints the cost of recording.
//!
//! Run `cargo run --release -p tickwright --features record --example recorded`, and then
//! `tickwright recommend recorded.twt`.

use core::error::Error;
use std::fs::File;
use std::time::Instant;

use tickwright::record::{Recorded, Recorder};
use tickwright::{DefaultQueue, TimerQueue};

const CONNECTIONS: usize = 1_000;
const ROUNDS: u64 = 300;

/// Each connection has a time-out of 30 s. The server moves the time-out at each request, about
/// every 10 ms. In one case of a thousand, the connection closes instead, and a new connection
/// replaces it.
fn serve(queue: &mut impl TimerQueue<Key: Copy, Value = usize>) -> Result<u64, Box<dyn Error>> {
    let mut operations = 0;
    let mut keys = Vec::with_capacity(CONNECTIONS);
    for connection in 0..CONNECTIONS {
        keys.push(queue.insert_at(30_000, connection, 0).map_err(|rejected| rejected.reason)?);
        operations += 1;
    }
    for now in (1..=ROUNDS).map(|round| round * 10) {
        for (connection, key) in keys.iter_mut().enumerate() {
            if (connection as u64 + now).is_multiple_of(1_000) {
                queue.remove(*key)?;
                *key = queue.insert_at(now + 30_000, connection, now).map_err(|rejected| rejected.reason)?;
                operations += 2;
            } else {
                queue.reschedule_at(*key, now + 30_000, now)?;
                operations += 1;
            }
        }
        queue.advance(now, |_| ());
    }
    Ok(operations)
}

fn main() -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let operations = serve(&mut DefaultQueue::new())?;
    let plain = begun.elapsed().as_nanos() as u64 / operations;

    let recorder = Recorder::new(File::create("recorded.twt")?, "examples/recorded.rs")?;
    let mut queue = Recorded::new(DefaultQueue::new(), recorder.queue("connections", 1_000_000)?);
    let begun = Instant::now();
    let operations = serve(&mut queue)?;
    let recorded = begun.elapsed().as_nanos() as u64 / operations;
    recorder.finish()?;
    println!("{operations} operations: {plain} ns each, {recorded} ns recorded; see recorded.twt");
    Ok(())
}
