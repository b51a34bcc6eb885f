use super::ClockWord;
use crate::sync::Arc;
use crate::time::{Clock, SystemClock, Ticks, Timeline, VirtualHost};

fn word(clock: Option<Arc<dyn Clock>>, ticks: Ticks) -> ClockWord {
    let word = ClockWord::none();
    word.publish(clock.as_deref(), ticks);
    word
}

#[test]
fn a_clock_of_the_machine_is_read_and_no_other_clock() {
    for clock in [SystemClock::Monotonic, SystemClock::BootTime, SystemClock::RealTime] {
        for length in [1, 7, 1_000, 1_000_000] {
            let ticks = Ticks::of(length);
            let word = word(Some(Arc::new(clock)), ticks);
            let now = ticks.now(clock.now());
            assert!(now == 0 || !word.is_at_most(now - 1), "{clock:?} in ticks of {length} ns");
            let hour = 3_600_000_000_000 / length;
            assert!(word.is_at_most(now + hour), "{clock:?} in ticks of {length} ns");
        }
    }
    let host = VirtualHost::new();
    assert!(!word(Some(Arc::new(host.monotonic())), Ticks::NANOSECOND).is_at_most(u64::MAX));
    assert!(!word(Some(Arc::new(SystemClock::Monotonic)), Ticks::of(1 << 62)).is_at_most(u64::MAX));
    assert!(word(None, Ticks::MILLISECOND).is_at_most(0), "no clock: the last advance has the time");
}

/// A smart pointer to a clock has the same timeline as that clock.
#[test]
fn a_pointer_to_a_clock_of_the_machine_is_such_a_clock() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::BootTime);
    assert_eq!((&&clock).timeline(), Some(Timeline::BootTime));
}
