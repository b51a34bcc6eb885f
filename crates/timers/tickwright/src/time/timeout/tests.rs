use core::time::Duration;

use super::{timeout, timeout_ms};
use crate::time::Instant;

const MS: u64 = 1_000_000;

#[test]
fn milliseconds_round_up_at_every_edge_and_phase() {
    for phase in [0, 1, MS / 2, MS - 1, 17 * MS + 3] {
        for ms in [0_i32, 1, 2, 3, 9, 10, 99, 1000, 59_999, i32::MAX - 1] {
            let span = u64::from(ms.unsigned_abs()) * MS;
            assert_eq!(
                timeout_ms(Instant::from_nanos(phase), Some(Instant::from_nanos(phase + span))),
                ms,
                "{ms} ms at {phase}"
            );
            assert_eq!(
                timeout_ms(Instant::from_nanos(phase), Some(Instant::from_nanos(phase + span + 1))),
                ms + 1,
                "{ms} ms and 1 ns at {phase}"
            );
            if ms > 0 {
                assert_eq!(
                    timeout_ms(Instant::from_nanos(phase), Some(Instant::from_nanos(phase + span - 1))),
                    ms,
                    "1 ns less than {ms} ms at {phase}"
                );
            }
        }
    }
}

#[test]
fn it_ends_at_the_greatest_int() {
    let most = u64::from(i32::MAX.unsigned_abs()) * MS;
    for span in [most - MS + 1, most - 1, most, most + 1, most + MS, 2 * most, 4 * most + 4 * MS] {
        assert_eq!(
            timeout_ms(Instant::from_nanos(5), Some(Instant::from_nanos(5 + span))),
            i32::MAX,
            "{span}"
        );
    }
    assert_eq!(timeout_ms(Instant::from_nanos(5), Some(Instant::from_nanos(5 + most - MS))), i32::MAX - 1);
    assert_eq!(timeout_ms(Instant::ZERO, Some(Instant::MAX)), i32::MAX);
}

#[test]
fn past_is_zero_and_none_is_for_ever() {
    for now in [0, 1, MS, u64::MAX] {
        assert_eq!(timeout_ms(Instant::from_nanos(now), None), -1);
        assert_eq!(timeout(Instant::from_nanos(now), None), None);
        for wake in [0, 1, now / 2, now].into_iter().filter(|&wake| wake <= now) {
            assert_eq!(timeout_ms(Instant::from_nanos(now), Some(Instant::from_nanos(wake))), 0);
            assert_eq!(
                timeout(Instant::from_nanos(now), Some(Instant::from_nanos(wake))),
                Some(Duration::ZERO)
            );
        }
    }
    assert_eq!(timeout(Instant::from_nanos(3), Some(Instant::from_nanos(10))), Some(Duration::from_nanos(7)));
    assert_eq!(timeout(Instant::ZERO, Some(Instant::MAX)), Some(Duration::from_nanos(u64::MAX)));
}
