use super::*;
use crate::clock::Meter;
use crate::models::erased::Erased;
use crate::models::witness::Answer;

#[test]
fn what_expired_is_armed_again_within_the_range_and_not_all_alike() {
    let again = Again { shortest: 200, span: 59_801 };
    let delays: Vec<u64> = (0..1000).map(|id| again.delay(id, 5)).collect();
    assert!(delays.iter().all(|delay| (200..=60_000).contains(delay)));
    let mean = delays.iter().sum::<u64>() / 1000;
    assert!((27_000..33_000).contains(&mean), "{mean}");
    assert_eq!(again.delay(7, 9), again.delay(7, 9));
}

/// Notes the hints before each operation, and the timers of the operations.
#[derive(Default)]
struct Hinted {
    hints: core::cell::RefCell<Vec<[u32; 2]>>,
    moved: Vec<u32>,
}

impl BenchQueue for Hinted {
    fn insert(&mut self, id: u32, _deadline: u64) {
        self.moved.push(id);
    }
    fn remove(&mut self, _id: u32) {}
    fn head(&mut self) -> Option<u64> {
        None
    }
    fn pop_expired(&mut self, _now: u64) -> Option<(u32, u64)> {
        None
    }
    fn hint(&self, far: u32, near: u32) {
        self.hints.borrow_mut().push([far, near]);
    }
}

#[test]
fn a_server_hints_at_the_timers_of_its_next_exchanges() {
    let exchanges = (0..40).map(|id| Exchange {
        after: 0,
        id: 100 + id,
        delay: 1,
        does: if id % 2 == 0 { Does::Move } else { Does::Renew },
    });
    let server = |measure| Server::new(0, exchanges.clone().collect(), Again::default(), measure);
    let served = |measure| {
        let (mut queue, tape) =
            (Hinted::default(), Tape { server: server(measure), ..Tape::of([Step::Serve]) });
        run(&tape, &mut queue, &mut crate::models::witness::Fold::default());
        assert_eq!(queue.moved, (100..140).collect::<Vec<_>>());
        queue.hints.into_inner()
    };
    assert!(served(Measure::Exchange).is_empty());
    // For the last exchanges there is no timer ahead, so they give hints for their own timer.
    let soon = |at: u32, ahead: u32| if at + ahead < 40 { 100 + at + ahead } else { 100 + at };
    let expected: Vec<_> = (0..40).map(|at| [soon(at, 16), soon(at, 8)]).collect();
    assert_eq!(served(Measure::Hinted), expected);
}

/// A clock that shows how many bytes this thread has allocated.
struct Bytes;

impl Meter for Bytes {
    fn now(&self) -> u64 {
        crate::allocator::live_bytes().unsigned_abs() as u64
    }
}

#[test]
fn the_time_of_a_pop_does_not_include_the_record_of_its_answer() {
    let (mut queue, mut answer) = (crate::models::sampler::Empty::new(1), Answer::Logged(Default::default()));
    let mut times = Vec::with_capacity(100);
    let tape = Tape::of(vec![Step::Pop; 100]);
    queue.calls(&tape, &mut answer, &Bytes, &mut |_, bytes| times.push(bytes));
    assert_eq!((times, answer.fold().found), (vec![0; 100], 100));
}

/// Returns the page faults of this thread so far, as the kernel counts them.
#[cfg(target_os = "linux")]
fn faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let words = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    words.split_ascii_whitespace().nth(7).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_has_touched_its_memory_before_the_clock_starts() {
    const MANY: usize = 1_000_000;
    let mut log = crate::models::witness::Log::of(Notes { deliveries: MANY, reads: MANY });
    let before = faults();
    for at in 0..MANY as u64 {
        log.delivered(0, at, at);
        log.read(Some(at));
    }
    let after = faults();
    assert!(after - before < 100, "{} page faults, each 4 KiB of 40 MB", after - before);
}
