use std::vec::Vec;

use super::Geometry;
use crate::contract::{Span, Tick};

type Standard = Geometry<64, 3, 9>;

/// Each power of two and its neighbors.
fn edges() -> impl Iterator<Item = u64> {
    (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).chain([u64::MAX - 1, u64::MAX])
}

#[test]
fn the_starts_are_those_of_linux() {
    let starts: Vec<Span> = (0..=9).map(Standard::start).collect();
    assert_eq!(starts, [0, 63, 504, 4032, 32256, 258_048, 2_064_384, 16_515_072, 132_120_576, 1_056_964_608]);
}

fn levels_change_at_their_starts<const B: usize, const S: u32, const D: usize>() {
    for level in 0..D {
        let start = Geometry::<B, S, D>::start(level);
        assert_eq!(Geometry::<B, S, D>::level(start), Some(level));
        assert_eq!(Geometry::<B, S, D>::level(start + 1), Some(level));
        if level > 0 {
            assert_eq!(Geometry::<B, S, D>::level(start - 1), Some(level - 1));
        }
        assert_eq!(Geometry::<B, S, D>::lateness(start.max(1)), 1 << (S as usize * level));
    }
    let cutoff = Geometry::<B, S, D>::start(D);
    assert_eq!(Geometry::<B, S, D>::level(cutoff - 1), Some(D - 1));
    for far in [cutoff, cutoff + 1, Span::MAX] {
        assert_eq!(Geometry::<B, S, D>::level(far), None);
        assert_eq!(Geometry::<B, S, D>::lateness(far), 1 << (S as usize * (D - 1)));
    }
    assert_eq!(Geometry::<B, S, D>::lateness(0), 0);
}

#[test]
fn levels_change_at_their_starts_in_every_geometry() {
    levels_change_at_their_starts::<64, 3, 9>();
    levels_change_at_their_starts::<64, 3, 8>();
    levels_change_at_their_starts::<8, 2, 4>();
    levels_change_at_their_starts::<16, 4, 3>();
    levels_change_at_their_starts::<4, 1, 3>();
}

/// A timer is never early, and it is at most one granule late. From the second level on, it is late
/// by at most an eighth of its delay.
#[test]
fn an_end_is_after_its_deadline_and_within_the_granule() {
    for deadline in edges() {
        for level in 0..9 {
            let end = Standard::bucket_end(deadline, level);
            let granule = Standard::granule(level);
            if end == Tick::MAX {
                assert!(deadline >= Tick::MAX - granule);
            } else {
                assert!(end > deadline && end - deadline <= granule && end.is_multiple_of(granule));
                assert!(Standard::same_bucket(deadline, end - 1, level));
                assert!(!Standard::same_bucket(deadline, end, level));
            }
        }
    }
    for delay in edges().filter(|&delay| (63..Standard::start(9)).contains(&delay)) {
        assert!(Standard::lateness(delay) <= delay * 8 / 63, "{delay}");
    }
}

#[test]
fn what_does_not_fit_is_the_last_tick() {
    type Tall = Geometry<64, 63, 2>;
    assert_eq!(Tall::granule(1), 1 << 63);
    assert_eq!(Tall::start(2), Span::MAX);
    assert_eq!(Tall::level(Span::MAX), None);
    assert_eq!(Tall::lateness(Span::MAX), 1 << 63);
    for level in [22, 64, usize::MAX] {
        assert_eq!(Standard::granule(level), Span::MAX);
        assert_eq!(Standard::start(level), Span::MAX);
        assert_eq!(Standard::bucket_end(0, level), Tick::MAX);
        assert!(Standard::same_bucket(0, Tick::MAX, level));
    }
}

/// The end computed from the clock and the index equals the end computed from the deadline and the
/// level.
#[test]
fn the_clock_and_an_index_say_when_a_bucket_ends() {
    for clock in edges() {
        for delay in edges().filter(|&delay| delay > 0 && clock.checked_add(delay).is_some()) {
            let deadline = clock + delay;
            let Some(level) = Standard::level(delay) else { continue };
            let index = Standard::index(deadline, level);
            let end = Standard::bucket_end(deadline, level);
            assert_eq!(Standard::first(1 << index, clock, level), Some((index, end)), "{clock} + {delay}");
            // The latest tick at which the bucket can still hold a timer.
            if end > clock + 1 {
                assert_eq!(
                    Standard::first(1 << index, end - 1, level),
                    Some((index, end)),
                    "{clock} + {delay}"
                );
            }
            assert!(Standard::in_reach(deadline, clock));
        }
    }
}

/// Of several occupied buckets, `first` finds the bucket that ends next, on each level and for any
/// clock.
#[test]
fn the_first_bucket_is_the_next_one_around() {
    for level in 0..9 {
        let granule = Standard::granule(level);
        for number in 0..130 {
            let clock = number * granule + granule / 2;
            for ahead in 1..=64u64 {
                let bit = |ahead: u64| 1u64 << ((number + ahead) % 64);
                let occupied = (ahead..=64).map(bit).fold(0, |all, bit| all | bit);
                let expected = ((number + ahead) % 64) as usize;
                let end = (number + ahead) * granule;
                assert_eq!(Standard::first(occupied, clock, level), Some((expected, end)));
            }
            assert_eq!(Standard::first(0, clock, level), None);
        }
    }
}
