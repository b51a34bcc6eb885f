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

/// The page faults of this thread so far, as the kernel counts them.
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
