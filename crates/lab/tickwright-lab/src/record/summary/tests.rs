//! Tests of the lines at the end of a recording.

use std::os::unix::process::ExitStatusExt;

use super::*;

fn lines(totals: &Totals, outcome: &Outcome) -> Vec<String> {
    let (elapsed, file) = (Duration::from_secs(2), Path::new("a.twt"));
    let program = ["./a server".into(), "-p".into(), "it's".into()];
    let ended = Ended { status: ExitStatus::from_raw(0), elapsed, file, program: &program };
    text(&ended, totals, outcome).lines().map(String::from).collect()
}

#[test]
fn what_was_lost_is_told_from_what_was_left_out() {
    let all = Totals { left_out: 1000, ..Totals::default() };
    let outcome = Outcome { lost: 1003, ..Outcome::default() };
    let shown = lines(&all, &outcome);
    assert!(shown.contains(&"tickwright: 3 records lost".to_owned()), "{shown:?}");
    let expected = "tickwright: 1000 expiries left out: a timer expired too often to be written";
    assert!(shown.contains(&expected.to_owned()), "{shown:?}");
}

#[test]
fn a_recording_without_losses_says_so() {
    let shown = lines(&Totals::default(), &Outcome::default());
    assert!(shown.contains(&"tickwright: 0 records lost".to_owned()), "{shown:?}");
    assert!(!shown.iter().any(|line| line.contains("left out")), "{shown:?}");
}

#[test]
fn a_recording_without_timers_says_why_and_what_to_do() {
    let recorded = |written: &[(u8, u64)]| {
        let outcome = Outcome { written: written.iter().copied().collect(), ..Outcome::default() };
        lines(&Totals::default(), &outcome)
    };
    let has = |shown: &[String], words: &str| shown.iter().any(|line| line.contains(words));
    let waits = [(source::POLL, 3), (source::SEM, 1)];
    for (written, why) in [(&[][..], "makes its system calls without libc"), (&waits, "only waits were seen")]
    {
        let shown = recorded(written);
        assert!(has(&shown, why), "{shown:?}");
        let perf =
            r"-o perf.data -- './a server' -p 'it'\''s'`, then `perf script -i perf.data > timers.txt`";
        assert!(has(&shown, perf) && has(&shown, "`tickwright import timers.txt`"), "{shown:?}");
        assert!(has(&shown, "`tickwright import FILE.csv`") && !has(&shown, "describe"), "{shown:?}");
    }
    // The trace has a library's timer in addition to waits, or a timer of the kernel.
    for written in [[(source::LIBUV, 5), (source::EPOLL, 5)], [(source::TIMERFD, 1), (source::POLL, 1)]] {
        let shown = recorded(&written);
        assert!(has(&shown, "describe") && !has(&shown, "next,"), "{shown:?}");
    }
}

#[test]
fn a_recording_says_when_it_began_and_what_it_cannot_see() {
    let header = header(&["a".into(), "b c".into()]);
    assert_eq!((header.of.as_str(), header.source.as_str()), ("a b c", "record"));
    let started = header.started;
    assert!(started.len() == 20 && started.starts_with("20") && started.ends_with('Z'), "{started}");
    assert!(header.unseen.iter().any(|line| line.contains("vfork, _Fork or a raw clone")));
    assert!(header.unseen.iter().any(|line| line.contains("POSIX timers of processor time")));
}
