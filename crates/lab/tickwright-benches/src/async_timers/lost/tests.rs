use core::task::Poll;

use super::*;

/// A sleep of a library that loses all wake-ups except those of long sleeps.
struct Deaf;

struct DeafSleep(Duration);

impl Future for DeafSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 >= LAST {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Sleeps for Deaf {
    type Sleep = DeafSleep;

    fn sleep(after: Duration) -> DeafSleep {
        DeafSleep(after)
    }
}

#[test]
fn a_library_that_loses_wake_ups_is_found() {
    let raced = races::<Deaf>(Library::Pingora, Duration::from_millis(5)).unwrap();
    // Each thread is woken only for its last sleep.
    let threads = 4 * thread::available_parallelism().map_or(1, usize::from) as u64;
    assert!(raced.sleeps >= 2 * threads, "{raced:?}");
    assert_eq!(raced.lost, raced.sleeps - threads);
}

#[test]
fn a_sleep_of_ours_is_always_woken() {
    let raced = races::<Ours>(Library::Ours, Duration::from_millis(5)).unwrap();
    assert!(raced.sleeps > 0);
    assert_eq!(raced.lost, 0);
}
