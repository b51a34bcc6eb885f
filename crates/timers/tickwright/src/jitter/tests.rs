use core::time::Duration;

use super::jitter;

#[test]
fn a_jitter_is_the_same_in_each_version_and_on_each_machine() {
    let second = Duration::from_secs(1);
    let got = [("", 0), ("a", 0), ("a", 1), ("connection 7", 3)].map(|(key, turn)| jitter(key, turn, second));
    assert_eq!(got.map(|delay| delay.as_nanos()), [504_867_640, 251_867_446, 929_733_122, 732_381_584]);
}

#[test]
fn a_jitter_is_less_than_its_span_whatever_that_is() {
    for span in [Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(60), Duration::MAX] {
        for key in 0..1000_u32 {
            let delay = jitter(key.to_le_bytes(), 0, span);
            assert!(delay < span || span.is_zero() && delay.is_zero(), "{key}: {delay:?} of {span:?}");
        }
    }
}

/// Spreads 10,000 keys over 100 parts of a period: no part gets twice its share. Then all keys of
/// one part retry, and the second attempt spreads them too.
#[test]
fn a_herd_is_spread_and_one_that_meets_parts_again() {
    let period = Duration::from_millis(100);
    let part = |key: u32, turn| jitter(key.to_le_bytes(), turn, period).as_millis() as usize;
    let mut parts = vec![Vec::new(); 100];
    (0..10_000).for_each(|key| parts[part(key, 0)].push(key));
    assert!(parts.iter().all(|keys| (50..200).contains(&keys.len())));
    let mut again: Vec<usize> = parts[7].iter().map(|&key| part(key, 1)).collect();
    again.sort_unstable();
    again.dedup();
    assert!(again.len() > parts[7].len() / 2, "{} of {}", again.len(), parts[7].len());
}
