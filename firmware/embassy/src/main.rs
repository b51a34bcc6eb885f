//! Runs tasks of Embassy that sleep and time out, on the timer queue that the build selected.
//!
//! The time driver has a virtual clock. When no task can run, the clock jumps to the next alarm;
//! this stands for a processor that sleeps until its timer interrupt. Each run is therefore the
//! same, and shows each wake-up that is early, late or lost. The program prints a line `wake` for
//! each wake-up, and lines `cost` for each number of tasks. `ci/mcu.sh` compares two builds, and
//! `ci/mcu.py` writes their costs into the record.
#![no_std]
#![no_main]
// The entry attribute makes a public function of `main`.
#![allow(missing_docs)]

mod driver;

use core::future::pending;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use embassy_executor::raw::Executor;
use embassy_time::{Instant, Timer, with_deadline};
use static_cell::StaticCell;
use tickwright_firmware::board::{Counter, entry, exit, println};
use tickwright_firmware::random::Random;

use driver::{Costs, clock};

/// The number of tasks that alternate between sleeps and time-outs.
const MIXED: u32 = 16;
/// The number of tasks of the largest measurement.
const MOST: u32 = 32;
/// The number of sleeps of each task.
const ROUNDS: u32 = 40;

static PENDED: AtomicBool = AtomicBool::new(false);
static ENDED: AtomicU32 = AtomicU32::new(0);

/// The executor calls this function to request a poll.
#[unsafe(export_name = "__pender")]
fn pender(_: *mut ()) {
    PENDED.store(true, Ordering::Relaxed);
}

/// Counts a task that ends. Only the executor's tasks call this function, one at a time.
fn end() {
    ENDED.store(ENDED.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Returns a tick after now that no other task ever chooses.
fn later(random: &mut Random, task: u32, most: u32) -> Instant {
    let slot = Instant::now().as_ticks() / 64 + 1 + u64::from(random.below(most));
    Instant::from_ticks(slot * 64 + u64::from(task))
}

fn woken(task: u32, due: Instant, what: &str) {
    let now = Instant::now();
    println!("wake,{},{task},{what}", now.as_ticks());
    if now != due {
        println!("FAILED: task {task}: {what}: due at {}", due.as_ticks());
        exit(1);
    }
}

/// Alternates between a sleep, a time-out, and a wait that ends within its time-out.
#[embassy_executor::task(pool_size = 16)]
async fn mixed(task: u32) {
    let mut random = Random::new(task.into());
    for round in 0..ROUNDS {
        let due = later(&mut random, task, 50);
        let right = match (task + round) % 5 {
            0 => {
                Timer::at(due).await;
                true
            }
            1 => with_deadline(due, pending::<()>()).await.is_err(),
            // The time-out drops the inner wait together with its timer. The inner timer can wake
            // the task once more.
            2 => with_deadline(due, Timer::at(later(&mut random, task, 20) + (due - Instant::now())))
                .await
                .is_err(),
            3 => with_deadline(due + embassy_time::Duration::from_ticks(1_000), Timer::at(due)).await.is_ok(),
            // This time-out never expires.
            _ => with_deadline(Instant::MAX, Timer::at(due)).await.is_ok(),
        };
        woken(
            task,
            due,
            ["sleep", "time out", "time out early", "in time", "never"][((task + round) % 5) as usize],
        );
        if !right {
            println!("FAILED: task {task}, round {round}: the wrong one of both ended");
            exit(1);
        }
    }
    end();
}

/// Sleeps, and does nothing else.
#[embassy_executor::task(pool_size = 32)]
async fn sleeper(task: u32) {
    let mut random = Random::new((task + 99).into());
    for _ in 0..ROUNDS {
        let due = later(&mut random, task, 200);
        Timer::at(due).await;
        if Instant::now() != due {
            println!("FAILED: task {task} slept until {}, not {}", Instant::now().as_ticks(), due.as_ticks());
            exit(1);
        }
    }
    end();
}

/// Polls until `tasks` tasks have ended. If no task can run, the clock jumps to the next alarm.
fn run(executor: &'static Executor, tasks: u32) {
    ENDED.store(0, Ordering::Relaxed);
    loop {
        while PENDED.load(Ordering::Relaxed) {
            PENDED.store(false, Ordering::Relaxed);
            // SAFETY: 1. only this line polls, so no other poll is running.
            unsafe { executor.poll() };
        }
        if ENDED.load(Ordering::Relaxed) == tasks {
            return;
        }
        if !clock().jump() {
            println!(
                "FAILED: {} of {tasks} tasks have ended, and no alarm is set",
                ENDED.load(Ordering::Relaxed)
            );
            exit(1);
        }
    }
}

/// Prints the mean and the maximum of the instructions of a wake-up, and of each function of the
/// queue.
fn print_costs(counter: &Counter, tasks: u32) {
    let Costs { schedule, expire, worst_wake_up } = clock().costs();
    for (what, sum, count, worst) in [
        ("wake-up", schedule.sum + expire.sum, tasks * ROUNDS, worst_wake_up),
        ("schedule wake", schedule.sum, schedule.count, schedule.worst),
        ("next expiration", expire.sum, expire.count, expire.worst),
    ] {
        let mean = counter.instructions(sum) / count.max(1);
        println!("cost,{tasks},{what},{mean},{}", counter.instructions(worst.into()));
    }
}

#[entry]
fn main() -> ! {
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();
    static COUNTER: StaticCell<Counter> = StaticCell::new();
    let executor: &'static Executor = EXECUTOR.init(Executor::new(core::ptr::null_mut()));
    let counter: &'static Counter = COUNTER.init(Counter::start());
    clock().count(counter);
    let spawner = executor.spawner();
    for task in 0..MIXED {
        match mixed(task) {
            Ok(token) => spawner.spawn(token),
            Err(_) => exit(2),
        }
    }
    run(executor, MIXED);
    for tasks in [1, 8, 16, MOST] {
        clock().clear_costs();
        for task in 0..tasks {
            match sleeper(task) {
                Ok(token) => spawner.spawn(token),
                Err(_) => exit(2),
            }
        }
        run(executor, tasks);
        print_costs(counter, tasks);
    }
    println!("right,true");
    exit(0)
}
