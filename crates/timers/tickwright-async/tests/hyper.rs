//! Tests of the implementation of hyper's trait. The trait is called through a trait object, as
//! hyper does.

mod common;

use core::future::Future;
use core::pin::Pin;
use core::task::Poll;

use common::{Counter, ms};
use hyper::rt::{Sleep, Timer};
use tickwright_async::TestClock;

fn poll(task: &Counter, sleep: &mut Pin<Box<dyn Sleep>>) -> Poll<()> {
    sleep.as_mut().poll(&mut task.context())
}

#[test]
fn a_sleep_of_hyper_is_ours() {
    let clock = TestClock::new();
    let (timers, task) = (clock.timers(), Counter::new());
    let timer: &dyn Timer = &timers;
    let mut first = timer.sleep(ms(5));
    let mut second = timer.sleep_until(timers.now() + ms(7));
    assert_eq!((poll(&task, &mut first), poll(&task, &mut second)), (Poll::Pending, Poll::Pending));
    assert_eq!(timers.report().live, 2);
    clock.advance(ms(5));
    assert_eq!((task.count(), poll(&task, &mut first)), (1, Poll::Ready(())));
    clock.advance(ms(2));
    assert_eq!((task.count(), poll(&task, &mut second)), (2, Poll::Ready(())));
}

#[test]
fn a_reset_keeps_our_timer_and_replaces_anothers() {
    struct Other;
    impl Future for Other {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut core::task::Context<'_>) -> Poll<()> {
            Poll::Pending
        }
    }
    impl Sleep for Other {}

    let clock = TestClock::new();
    let (timers, task) = (clock.timers(), Counter::new());
    let mut sleep = Timer::sleep(&timers, ms(5));
    assert!(poll(&task, &mut sleep).is_pending());
    Timer::reset(&timers, &mut sleep, timers.now() + ms(9));
    assert_eq!(timers.report().locks, 1, "moved in place");
    clock.advance(ms(8));
    assert_eq!(task.count(), 0);
    clock.advance(ms(1));
    assert_eq!((task.count(), poll(&task, &mut sleep)), (1, Poll::Ready(())));

    let mut other: Pin<Box<dyn Sleep>> = Box::pin(Other);
    Timer::reset(&timers, &mut other, timers.now() + ms(3));
    assert!(poll(&task, &mut other).is_pending());
    clock.advance(ms(3));
    assert_eq!(poll(&task, &mut other), Poll::Ready(()));
}
