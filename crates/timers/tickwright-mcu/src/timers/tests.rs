//! Tests the service with a chip whose counter and alarm the tests control.

use core::cell::Cell;
use std::boxed::Box;
use std::rc::Rc;
use std::vec::Vec;

use tickwright_core::HookQueue;
use tickwright_nodes::testing::Random;

use super::*;

/// A counter of 16 bits, and an alarm of at most 20,000 ticks.
#[derive(Clone, Default)]
struct Board {
    now: Rc<Cell<u64>>,
    /// The tick of the alarm.
    alarm: Rc<Cell<u64>>,
    alarms: Rc<Cell<u32>>,
}

impl Chip for Board {
    const HZ: u64 = 32_768;
    const COUNTER_BITS: u32 = 16;
    const LONGEST_ALARM: Tick = 20_000;

    fn count(&mut self) -> u32 {
        // The bits above the counter's bits are ignored.
        self.now.get() as u32 ^ 0xabcd_0000
    }

    fn alarm_in(&mut self, ticks: Tick) {
        assert!((1..=Self::LONGEST_ALARM).contains(&ticks));
        self.alarm.set(self.now.get() + ticks);
    }
}

impl Board {
    /// Advances the counter to `end`, and calls `interrupt` at each alarm on the way.
    fn run(&self, end: u64, mut interrupt: impl FnMut()) {
        while self.alarm.get() <= end {
            self.now.set(self.now.get().max(self.alarm.get()));
            self.alarms.set(self.alarms.get() + 1);
            interrupt();
        }
        self.now.set(self.now.get().max(end));
    }
}

type Slots<T, const N: usize> = SlotTimers<Board, T, N>;

fn started<T, const N: usize>() -> (Slots<T, N>, Board) {
    let (timers, board) = (Slots::new(), Board::default());
    timers.with(|service| service.start(board.clone()));
    (timers, board)
}

#[test]
fn milliseconds_are_rounded_up() {
    let (timers, _) = started::<(), 1>();
    assert_eq!([0, 1, 500, 1_000].map(|ms| timers.ms(ms)), [0, 33, 16_384, 32_768]);
}

#[test]
fn a_periodic_timer_stays_on_its_grid_over_many_turns_of_the_counter() {
    let (timers, board) = started::<u8, 4>();
    let blink = timers.with(|service| service.after(30_000, 7)).unwrap();
    let mut fired = Vec::new();
    board.run(1_000_000, || {
        timers.on_alarm(|_| 30_000, |value, expiry| fired.push((value, expiry, board.now.get())))
    });
    let expected: Vec<_> = (1..=33).map(|at| (7, at * 30_000, at * 30_000)).collect();
    assert_eq!(fired, expected);
    assert_eq!(timers.with(|service| (service.now(), service.latest())), (1_000_000, 0));
    assert_eq!(timers.with(|service| service.cancel(blink)), Some(7));
    assert_eq!(timers.with(|service| service.cancel(blink)), None);
    // While nothing is pending, an interrupt occurs only at the end of each longest alarm.
    board.alarms.set(0);
    board.run(2_000_000, || timers.on_alarm(|_| 0, |_, _| unreachable!("it was cancelled")));
    assert_eq!(board.alarms.get(), 50);
}

#[test]
fn a_late_periodic_timer_leaves_out_what_has_passed_and_keeps_its_grid() {
    let (timers, board) = started::<u8, 2>();
    timers.with(|service| service.after(10, 7)).unwrap();
    let mut fired = Vec::new();
    for now in [37, 39, 40, 60, 61, 95] {
        board.now.set(now);
        timers.on_alarm(|_| 10, |_, expiry| fired.push((now, expiry)));
    }
    assert_eq!(fired, [(37, 10), (40, 40), (60, 50), (95, 70)]);
    assert_eq!(timers.with(|service| service.queue().next_wake()), Some(100));
}

#[test]
fn work_may_move_and_cancel_its_own_timer() {
    let (timers, board) = started::<u8, 2>();
    let own = timers.with(|service| service.after(10, 1)).unwrap();
    let mut at = Vec::new();
    board.run(1_000, || {
        timers.on_alarm(
            |_| 10,
            |_, _| {
                at.push(board.now.get());
                match at.len() {
                    1 => assert!(timers.with(|service| service.postpone(own, 100))),
                    2 => assert_eq!(timers.with(|service| service.cancel(own)), Some(1)),
                    _ => unreachable!("it was cancelled"),
                }
            },
        );
    });
    assert_eq!(at, [10, 110]);
}

#[test]
fn a_slot_is_free_again_once_its_timer_is_over() {
    let (timers, board) = started::<u32, 2>();
    for round in 0..5 {
        let keys = [0, 1].map(|value| timers.with(|service| service.after(5, value)).unwrap());
        assert_eq!(timers.with(|service| service.after(5, 9)).unwrap_err().value, 9);
        assert!(!timers.with(|service| service.queue().is_empty()));
        timers.with(|service| *service.get_mut(keys[1]).unwrap() += round);
        let mut fired = Vec::new();
        board.run(board.now.get() + 5, || timers.on_alarm(|_| 0, |value, _| fired.push(value)));
        assert_eq!(fired, [0, 1 + round]);
        assert!(!timers.with(|service| service.postpone(keys[0], 1)));
    }
}

#[test]
fn timers_from_before_the_start_are_kept() {
    let (timers, board) = (Slots::<u8, 2>::new(), Board::default());
    timers.with(|service| service.after(50, 3)).unwrap();
    assert_eq!(timers.with(Service::now), 0);
    timers.with(|service| service.start(board.clone()));
    let mut fired = Vec::new();
    board.run(60, || {
        while let Some(due) = timers.with(Service::pop_due) {
            fired.push((due.value, board.now.get()));
        }
    });
    assert_eq!(fired, [(3, 50)]);
}

#[test]
fn timers_in_structs_are_armed_moved_and_cancelled() {
    type Hooked = HookTimers<Board, u8>;
    let own: [&'static Timer<SortedList, u8>; 2] = [0, 1].map(|at| &*Box::leak(Box::new(Timer::new(at))));
    let (timers, board) = (Hooked::new(), Board::default());
    timers.with(|service| {
        service.start(board.clone());
        service.arm(own[0], 10).unwrap();
        service.arm(own[0], 40_000).unwrap();
        service.arm_at(own[1], 70_000).unwrap();
        assert!(service.postpone(own[1], 20) && service.cancel(own[1]).is_some());
        assert!(!service.postpone(own[1], 20) && service.cancel(own[1]).is_none());
        service.arm(own[1], 50_000).unwrap();
    });
    let mut other: HookQueue<'static, SortedList, u8> = HookQueue::new();
    let elsewhere: &'static _ = Box::leak(Box::new(Timer::new(9)));
    other.insert(1, elsewhere).unwrap();
    assert_eq!(timers.with(|service| service.arm(elsewhere, 1)), Err(Reject::WrongQueue));
    let mut fired = Vec::new();
    board.run(200_000, || {
        let period = |timer: &&'static Timer<_, u8>| if timer.payload == 0 { 60_000 } else { 0 };
        timers.on_alarm(period, |timer, expiry| {
            assert_eq!(board.now.get(), expiry);
            assert_eq!(timer.is_linked(), timer.payload == 0, "a periodic timer is pending again");
            fired.push((expiry, timer.payload));
        });
    });
    assert_eq!(fired, [(40_000, 0), (50_000, 1), (100_000, 0), (160_000, 0)]);
}

/// With random timers, moves and late interrupts, each timer fires exactly once, in order, and at
/// the first interrupt at or after its deadline.
#[test]
fn random_timers_fire_once_and_never_early() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let (timers, board) = started::<u64, 8>();
        let mut pending: Vec<(u64, Key)> = Vec::new();
        for id in 0..500 {
            let ticks = u64::from(random.below(90_000));
            match random.below(4) {
                0 if !pending.is_empty() => {
                    let place = random.below(pending.len() as u32) as usize;
                    pending[place].0 = timers.with(|service| service.now()) + ticks;
                    assert!(timers.with(|service| service.postpone(pending[place].1, ticks)));
                }
                1 if !pending.is_empty() => {
                    let (_, key) = pending.swap_remove(random.below(pending.len() as u32) as usize);
                    assert!(timers.with(|service| service.cancel(key)).is_some());
                }
                _ => match timers.with(|service| service.after(ticks, id)) {
                    Ok(key) => pending.push((board.now.get() + ticks, key)),
                    Err(_) => assert_eq!(pending.len(), 8),
                },
            }
            let masked = u64::from(random.below(20));
            let end = board.now.get() + u64::from(random.below(40_000));
            let mut previous = 0;
            board.run(end, || {
                board.now.set(board.now.get() + masked);
                let now = board.now.get();
                timers.on_alarm(
                    |_| 0,
                    |_, expiry| {
                        assert!(previous <= expiry && expiry <= now && now <= expiry.max(1) + 40);
                        previous = expiry;
                        let place = pending.iter().position(|&(at, _)| at == expiry).expect("its deadline");
                        pending.swap_remove(place);
                    },
                );
            });
            assert_eq!(timers.with(|service| service.queue().len()), pending.len());
        }
    }
}
