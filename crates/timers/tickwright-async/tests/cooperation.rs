//! Tests that a poll of a due timer is ready unless the thread's budget is spent, and tests of
//! clocks that threads move.

mod common;

use core::cell::Cell;
use core::future::{Future, pending, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use common::{Counter, ms};
use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tickwright_async::{Interval, TestClock, TimerSettings, Timers};

/// How many polls can be ready without a wait in one turn of a task, with the clock of the machine.
const OF_THE_MACHINE: usize = 16;

/// How many polls can be ready without a wait in one turn with the clock of a test, and how many
/// values a delay queue can return in one turn.
const OF_A_TEST: usize = 128;

/// How many polls of timers that have fired can be ready in one turn.
const FIRED: usize = 1024;

/// More ticks than are allowed in any turn. A task that never returned to its executor would end
/// after this many ticks.
const MANY: usize = 3000;

/// Polls until a poll is pending. Returns how many polls were ready.
fn ready_in_a_row(task: &Counter, mut due: impl FnMut(&mut Context<'_>) -> bool) -> usize {
    (0..MANY).take_while(|_| due(&mut task.context())).count()
}

/// Counts the ticks of a task, and ends it after [`MANY`].
#[derive(Default)]
struct Ticks(Cell<usize>);

impl Ticks {
    fn tick(&self) -> bool {
        self.0.set(self.0.get() + 1);
        self.0.get() < MANY
    }
}

/// Runs a task to its end, with an executor that is independent of the timers. The executor's other
/// tasks would run after each turn of this task. Returns the greatest number of ticks in one turn.
fn most_in_a_turn<F: Future>(ticks: &Ticks, task: F) -> usize {
    let waker = Counter::new();
    let mut task = pin!(task);
    let mut most = 0;
    loop {
        let (before, woken) = (ticks.0.get(), waker.count());
        let ended = waker.poll(task.as_mut()).is_ready();
        most = most.max(ticks.0.get() - before);
        if ended {
            return most;
        }
        assert!(waker.count() > woken, "the task goes on after the others");
    }
}

/// Like `most_in_a_turn`, but inside of `block_on`, where a task can move the clock.
fn most_in_a_turn_of_a_test<F: Future>(clock: &TestClock, ticks: &Ticks, task: F) -> usize {
    clock.block_on(async { most_in_a_turn(ticks, task) })
}

/// Creates timers with the clock of the machine, and an interval that is an hour behind, so that
/// the speed of the machine does not matter.
fn behind() -> (Timers, Interval) {
    let timers = TimerSettings::new().driven(|| {});
    let behind = timers.interval_at(timers.now() - Duration::from_secs(3600), ms(1));
    (timers, behind)
}

#[test]
fn a_task_that_is_always_due_yields_when_the_budget_is_spent() {
    let (clock, task) = (TestClock::new(), Counter::new());
    let timers = clock.timers();
    let zero = |cx: &mut Context<'_>| pin!(timers.sleep(Duration::ZERO)).poll(cx).is_ready();
    assert_eq!(ready_in_a_row(&task, zero), OF_A_TEST);
    assert_eq!(task.count(), 1, "the task goes on after the others");
    // Polls with a waker that cannot wake a task take no units of the budget.
    assert!((0..1000).all(|_| zero(&mut Context::from_waker(Waker::noop()))));
}

#[test]
fn new_timers_fill_the_budget_and_so_does_a_run() {
    let task = Counter::new();
    for _ in 0..3 {
        let (timers, mut behind) = behind();
        for _ in 0..3 {
            let ticks = ready_in_a_row(&task, |cx| behind.poll_tick(cx).is_ready());
            assert_eq!(ticks, OF_THE_MACHINE);
            timers.run();
        }
    }
}

#[test]
fn a_loop_of_sleeps_of_zero_returns() {
    let (ticks, timers) = (Ticks::default(), TimerSettings::new().driven(|| {}));
    let most = most_in_a_turn(&ticks, async {
        while ticks.tick() {
            timers.sleep(Duration::ZERO).await;
        }
    });
    assert_eq!(most, OF_THE_MACHINE + 1, "the tick before the first wait counts too");
}

#[test]
fn missed_ticks_are_made_up_for_in_several_turns() {
    let (ticks, (_timers, mut behind)) = (Ticks::default(), behind());
    let most = most_in_a_turn(&ticks, async {
        while ticks.tick() {
            behind.tick().await;
        }
    });
    assert_eq!(most, OF_THE_MACHINE + 1);
}

#[test]
fn a_period_of_zero_returns_while_the_clock_moves() {
    let (ticks, clock) = (Ticks::default(), TestClock::new());
    let mut every = clock.timers().interval(Duration::ZERO);
    let most = most_in_a_turn_of_a_test(&clock, &ticks, async {
        while ticks.tick() {
            every.tick().await;
            clock.advance(every.period());
        }
    });
    assert!((2..=OF_A_TEST + 1).contains(&most), "{most}");
}

/// The clock moves while the task works, so one timer fires between two ticks of the other timer.
#[test]
fn a_timer_that_fires_does_not_excuse_one_that_is_late() {
    let (ticks, clock) = (Ticks::default(), TestClock::new());
    let timers = clock.timers();
    let mut late = timers.interval_at(timers.now() - Duration::from_secs(3600), ms(1));
    let (mut fires, fired) = (timers.interval_at(timers.now() + ms(1), ms(1)), Cell::new(0));
    let most = most_in_a_turn_of_a_test(&clock, &ticks, async {
        while ticks.tick() {
            tokio::select! {
                biased;
                _ = fires.tick() => fired.set(fired.get() + 1),
                _ = late.tick() => clock.advance(Duration::from_micros(500)),
            }
        }
    });
    assert!(fired.get() > MANY / 4, "{}", fired.get());
    // Every third tick is a tick of the timer that fires, which takes fewer units.
    assert!((2..=2 * OF_A_TEST).contains(&most), "{most}");
}

/// Each of two timers is armed while the other timer is ready, and fires while the task works.
#[test]
fn timers_that_have_fired_take_from_the_budget_too() {
    let (ticks, clock) = (Ticks::default(), TestClock::new());
    let timers = clock.timers();
    let mut pair = [timers.interval(ms(2)), timers.interval(ms(2))];
    let most = most_in_a_turn_of_a_test(&clock, &ticks, async {
        poll_fn(|cx| {
            loop {
                let ready = pair.iter_mut().filter_map(|every| match every.poll_tick(cx) {
                    Poll::Ready(_) => Some(every),
                    Poll::Pending => None,
                });
                let ready = ready.count();
                if ready == 0 {
                    return Poll::Pending;
                }
                for _ in 0..ready {
                    clock.advance(Duration::from_micros(1500));
                    if !ticks.tick() {
                        return Poll::Ready(());
                    }
                }
            }
        })
        .await;
    });
    assert!((2..=FIRED + 2).contains(&most), "{most}");
}

/// The branches share the waker of the task, so polls of many branches do not show that the task
/// has returned.
#[test]
fn a_select_of_late_timers_returns() {
    for count in (1..=10).chain([20, 100, 1000]) {
        let (ticks, timers) = (Ticks::default(), behind().0);
        let start = timers.now() - Duration::from_secs(3600);
        let mut late: Vec<_> = (0..count).map(|_| timers.interval_at(start, ms(1))).collect();
        // Takes the first branch that is ready, as a biased `select!` does.
        let mut any = |cx: &mut Context<'_>| late.iter_mut().any(|every| every.poll_tick(cx).is_ready());
        let most = most_in_a_turn(&ticks, async {
            while ticks.tick() {
                poll_fn(|cx| if any(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
            }
        });
        // Up to eight timers that were held back before are let through.
        assert!(most <= OF_THE_MACHINE + 8, "{count}: {most}");
    }
}

/// Each future has its own waker, although all futures belong to one task.
#[test]
fn futures_with_wakers_of_their_own_return_as_one_task() {
    for (late, waiting) in [(1, 0), (1, 5), (2, 0), (5, 5), (100, 0), (1000, 1000)] {
        let (ticks, timers) = (Ticks::default(), TimerSettings::new().driven(|| {}));
        let sleep = |seconds| timers.sleep(Duration::from_secs(seconds));
        let mut futures: FuturesUnordered<_> = (0..waiting).map(|_| sleep(3600)).collect();
        futures.extend((0..late).map(|_| sleep(0)));
        let most = most_in_a_turn(&ticks, async {
            while ticks.tick() {
                futures.next().await;
                futures.push(sleep(0));
            }
        });
        assert!((2..=2 * OF_THE_MACHINE).contains(&most), "{late} beside {waiting}: {most}");
    }
}

/// The timer that was held back first is dropped. The other timers must not be held back forever.
#[test]
fn a_timer_is_ready_though_the_one_that_was_held_back_first_is_gone() {
    let (timers, mut behind) = behind();
    let task = Counter::new();
    ready_in_a_row(&task, |cx| behind.poll_tick(cx).is_ready());
    for _ in 0..100 {
        let mut sleep = pin!(timers.sleep(Duration::ZERO));
        let _ = task.poll(pin!(timers.sleep(Duration::ZERO)));
        assert!((0..=1024).any(|_| task.poll(sleep.as_mut()).is_ready()));
    }
}

#[test]
fn loops_that_are_joined_return_as_one_task() {
    for count in [8, 40] {
        let (ticks, timers) = (Ticks::default(), TimerSettings::new().driven(|| {}));
        let late = || async {
            while ticks.tick() {
                timers.sleep(Duration::ZERO).await;
            }
        };
        let most = most_in_a_turn(&ticks, join_all((0..count).map(|_| late())));
        // The first tick of each loop comes before its first wait.
        assert!((2..=OF_THE_MACHINE + count).contains(&most), "{count}: {most}");
    }
}

#[test]
fn values_that_are_due_leave_a_delay_queue_in_several_turns() {
    let (ticks, clock) = (Ticks::default(), TestClock::new());
    let mut queue = clock.timers().delay_queue();
    for number in 0..10 {
        queue.insert(number, Duration::ZERO);
    }
    let most = most_in_a_turn(&ticks, async {
        while ticks.tick() {
            let value = queue.next().await.unwrap().into_inner();
            queue.insert(value, Duration::ZERO);
        }
    });
    assert_eq!(most, OF_A_TEST + 1);
    assert_eq!(queue.len(), 10, "no value is lost");
}

/// One task spends the budget in each of its turns. Another task is polled between these turns.
#[test]
fn a_timer_is_held_back_twice_at_most() {
    let (timers, mut behind) = behind();
    let (busy, other) = (Counter::new(), Counter::new());
    for _ in 0..100 {
        let mut sleep = pin!(timers.sleep(Duration::ZERO));
        let held_back = (0..).take_while(|_| {
            ready_in_a_row(&busy, |cx| behind.poll_tick(cx).is_ready());
            other.poll(sleep.as_mut()).is_pending()
        });
        assert!(held_back.count() <= 2);
    }
}

#[test]
fn a_time_out_whose_future_is_always_late_is_given_up() {
    let (timers, mut behind) = behind();
    let late = poll_fn(|cx| {
        while behind.poll_tick(cx).is_ready() {}
        Poll::<()>::Pending
    });
    let mut timeout = pin!(timers.timeout(Duration::ZERO, late));
    let task = Counter::new();
    assert!((0..3).any(|_| task.poll(timeout.as_mut()).is_ready()));
    let mut slot = timers.slot();
    let mut pending = pin!(slot.timeout(Duration::ZERO, pending::<()>()));
    assert!((0..3).any(|_| task.poll(pending.as_mut()).is_ready()));
}

#[test]
fn a_test_that_moves_its_clock_by_hand_has_a_whole_budget_each_time() {
    let (clock, task) = (TestClock::new(), Counter::new());
    let mut every = clock.timers().interval(ms(1));
    for _ in 0..10 {
        clock.advance(ms(OF_A_TEST as u64));
        assert!((0..OF_A_TEST).all(|_| every.poll_tick(&mut task.context()).is_ready()));
    }
}

#[test]
fn a_turn_of_a_test_has_the_whole_budget() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let mut turns = 0;
    clock.block_on(poll_fn(|cx| {
        let ready = (0..OF_A_TEST).all(|_| pin!(timers.sleep(Duration::ZERO)).poll(cx).is_ready());
        assert!(ready, "turn {turns}");
        turns += 1;
        cx.waker().wake_by_ref();
        if turns == 10 { Poll::Ready(()) } else { Poll::Pending }
    }));
}

#[test]
fn a_sleep_that_was_over_at_its_first_poll_has_elapsed() {
    let (clock, task) = (TestClock::new(), Counter::new());
    let timers = clock.timers();
    for mut sleep in [timers.sleep(Duration::ZERO), timers.sleep_until(timers.now() - ms(5))] {
        assert!(!sleep.is_elapsed());
        assert!(task.poll(pin!(&mut sleep)).is_ready());
        assert!(sleep.is_elapsed());
        sleep.reset(timers.now() + ms(1));
        assert!(!sleep.is_elapsed(), "it has another deadline");
    }
}

#[test]
fn a_reset_to_the_past_is_ready_at_the_next_poll_of_the_same_task() {
    let (clock, task) = (TestClock::new(), Counter::new());
    let machine = TimerSettings::new().driven(|| {});
    for timers in [clock.timers(), machine] {
        let mut sleep = pin!(timers.sleep(Duration::from_secs(3600)));
        assert!(task.poll(sleep.as_mut()).is_pending());
        sleep.as_mut().get_mut().reset(timers.now() - ms(500));
        assert!(task.poll(sleep.as_mut()).is_ready());
        assert!(sleep.is_elapsed());
        // The sleep is armed again for another deadline.
        sleep.as_mut().get_mut().reset(timers.now() + Duration::from_secs(3600));
        assert!(task.poll(sleep.as_mut()).is_pending());
        let mut slot = timers.slot();
        slot.set_after(Duration::from_secs(3600));
        assert!(slot.poll_elapsed(&mut task.context()).is_pending());
        slot.set_after(Duration::ZERO);
        assert!(slot.poll_elapsed(&mut task.context()).is_ready());
    }
}

#[test]
fn advances_of_two_threads_add_up() {
    let clock = TestClock::new();
    let timers = clock.timers();
    let begun = timers.now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..20_000).for_each(|_| clock.advance(Duration::from_micros(1))));
        }
    });
    assert_eq!(timers.now() - begun, ms(40));
}

#[test]
fn clear_of_a_delay_queue_wakes_the_task_that_polled_last() {
    let (clock, first, second) = (TestClock::new(), Counter::new(), Counter::new());
    let mut queue = clock.timers().delay_queue();
    queue.insert(1, ms(10));
    assert!(queue.poll_expired(&mut first.context()).is_pending());
    assert!(queue.poll_expired(&mut second.context()).is_pending());
    queue.clear();
    assert_eq!((first.count(), second.count()), (0, 1));
}

#[test]
fn a_timer_that_fired_a_tick_before_its_new_deadline_is_filed_again() {
    let (clock, task) = (TestClock::new(), Counter::new());
    let timers = clock.timers_with(TimerSettings::new().resolution(Duration::from_nanos(8)));
    let start = timers.now();
    let mut sleep = pin!(timers.sleep_until(start + Duration::from_nanos(80)));
    assert!(task.poll(sleep.as_mut()).is_pending());
    clock.advance(Duration::from_nanos(80));
    assert_eq!(task.count(), 1);
    // The timer fired for tick 10 after the start. Its deadline is now tick 11.
    sleep.as_mut().get_mut().reset(start + Duration::from_nanos(88));
    assert!(task.poll(sleep.as_mut()).is_pending());
    assert!(!sleep.is_elapsed());
    clock.advance(Duration::from_nanos(8));
    assert!(task.poll(sleep.as_mut()).is_ready());
    assert_eq!(task.count(), 2);
}
