//! Four timers in structs of this program, without an allocator. One timer blinks an LED, and
//! another timer samples a sensor. A session has an idle time-out, which traffic moves, and a
//! limit, which is cancelled.
//!
//! `docs/firmware.md` of Tickwright explains the parts. To make the program yours, write `chip.rs`,
//! `memory.x` and `.cargo/config.toml` for your chip, and your own structs in `event.rs`.
#![no_std]
#![no_main]

mod chip;
mod event;
mod journal;

use core::sync::atomic::Ordering::Relaxed;

use cortex_m::Peripherals;
use cortex_m_rt::{entry, exception};
use semihosting::{println, process::exit};
use tickwright_mcu::{Service, Tick};

use chip::Board;
use event::{Event, LED, SENSOR, SESSION, TIMERS};

fn ms(ms: u64) -> Tick {
    TIMERS.ms(ms)
}

#[entry]
fn main() -> ! {
    let Some(Peripherals { SYST: systick, .. }) = Peripherals::take() else { exit(2) };
    let armed = TIMERS.with(|service| {
        service.start(Board::start(systick));
        service.arm(&LED.blink, ms(25))?;
        service.arm(&SENSOR.sample, ms(40))?;
        service.arm(&SESSION.idle, ms(50))?;
        service.arm(&SESSION.limit, ms(300))
    });
    if let Err(reason) = armed {
        println!("a timer was not armed: {reason}");
        exit(2);
    }
    let (mut packets, mut lost) = (0, 0);
    loop {
        idle();
        lost += print_lines();
        let now = TIMERS.with(Service::now);
        // Three packets come, 30 ms apart. Each packet moves the idle time-out.
        if packets < 3 && now >= ms((packets + 1) * 30) {
            packets += 1;
            let moved = TIMERS.with(|service| service.postpone(&SESSION.idle, ms(50)));
            println!("{:4} ms  packet {packets}, idle time-out moved: {moved}", now / ms(1));
        }
        if now >= ms(210) {
            break;
        }
    }
    let over = SESSION.over.load(Relaxed);
    let pending = SESSION.idle.is_linked() || SESSION.limit.is_linked();
    let punctual = TIMERS.with(|service| service.latest()) < ms(1);
    println!("over: {over}, still pending: {pending}, within 1 ms: {punctual}, lines lost: {lost}");
    exit(i32::from(!over || pending || !punctual || lost > 0))
}

/// The alarm's handler. An event fires with interrupts unmasked, and can arm, move and cancel
/// timers.
#[exception]
fn SysTick() {
    TIMERS.on_alarm(|timer| timer.payload.period(), |timer, expiry| timer.payload.fire(expiry));
}

/// Prints the events that have fired. Returns the number of lost lines.
fn print_lines() -> u32 {
    let lines = journal::take();
    for line in lines.iter() {
        let at = line.expiry / ms(1);
        match line.event {
            Event::Blink(_) => println!("{at:4} ms  LED {}", if line.value == 1 { "on" } else { "off" }),
            Event::Sample(_) => println!("{at:4} ms  sample {}", line.value),
            Event::Idle(session) => {
                println!("{at:4} ms  session {} idle, limit cancelled: {}", session.id, line.value == 1);
            }
            Event::Limit(session) => {
                println!(
                    "{at:4} ms  session {} at its limit, idle cancelled: {}",
                    session.id,
                    line.value == 1
                );
            }
        }
    }
    lines.lost
}

/// Waits for an interrupt. On a chip this is `wfi`. The emulator that counts instructions (QEMU
/// 7.2) overshoots the end of such a sleep by the length of the sleep, so this function spins
/// instead.
fn idle() {
    for _ in 0..50 {
        cortex_m::asm::nop();
    }
}
