use tickwright_trace::Event;

use super::*;
use crate::clock::FakeMeter;
use crate::experiments::request;
use crate::traces::replay::ReplayArgs;

#[test]
fn a_replay_of_more_than_a_minute_says_so() {
    let within = Duration::from_secs(10);
    let ms = Duration::from_millis;
    let said = |time: u64, is_kept| long([ms(2 * time), ms(time), within], 30, is_kept);
    assert_eq!((said(10, true), said(800, true)), (None, None));
    let kept = said(1000, true).unwrap_or_default();
    assert!(kept.starts_with("about 70.0 s: 60.0 s to compare the answers of 30 structures"), "{kept}");
    // Each of the twelve rounds decodes again.
    assert!(said(800, false).unwrap_or_default().contains("about 346"), "{:?}", said(800, false));
}

#[test]
fn the_fastest_structures_run_if_the_time_does_not_suffice_for_all() {
    // Seven rounds of each structure take 700, 70, 350 and 210 ns.
    let costs = [100, 10, 50, 30];
    for (left, fits) in [
        (2000, [true, true, true, true]),
        (1330, [true, true, true, true]),
        (1329, [true, true, false, true]),
        (980, [true, true, false, true]),
        (979, [true, true, false, false]),
        (0, [true, true, false, false]),
    ] {
        assert_eq!(fitting(&costs, left), fits, "{left} ns");
    }
    assert_eq!((fitting(&[5], 0), fitting(&[], 0)), (vec![true], vec![]));
}

#[test]
fn the_number_of_rounds_follows_from_the_first() {
    let rounds = |ms: u64, most| expected_rounds(Duration::from_millis(ms), Duration::from_secs(10), most);
    assert_eq!((rounds(1000, 21), rounds(100, 21), rounds(9000, 21)), (11, 22, 7));
    assert_eq!(rounds(1000, 2), 3);
    assert_eq!(expected_rounds(Duration::ZERO, Duration::from_secs(1), 9), 10);
}

#[test]
fn single_calls_are_timed_in_the_first_pieces() {
    let kept = [3, 3, 1].map(|length| Tape::of(vec![Step::Remove { id: 0 }; length]));
    let found = [0, 1, 3, 4, 6, 7, 8].map(|operations| pieces(&kept, operations));
    assert_eq!(found, [0, 1, 1, 2, 2, 3, 3]);
    // Steps that tell the time are not operations.
    let timed = kept.map(|piece| Tape::of([vec![Step::Clock { at: 1 }; 2], piece.steps].concat()));
    assert_eq!([0, 1, 3, 4, 6, 7, 8].map(|operations| pieces(&timed, operations)), found);
}

fn plan(structures: &str, events: Vec<Event>) -> Plan {
    let args: ReplayArgs = request::words(&["-", "--cold"]).unwrap_or_else(|error| panic!("{error}"));
    let ids: Vec<String> = structures.split(',').map(Into::into).collect();
    let structures = registry::select(&ids).unwrap_or_else(|error| panic!("{error}"));
    args.settings.plan(Input::Made(events), structures)
}

#[cfg(feature = "rivals")]
#[test]
fn a_structure_that_is_called_at_each_tick_does_not_run_for_many_ticks() {
    let plan = plan("hash-wheel,heap4/slab", Vec::new());
    for (ticks, ids) in [(MOST_TICKS, "heap4/slab,hash-wheel"), (MOST_TICKS + 1, "heap4/slab")] {
        let meter = FakeMeter::steady(10);
        let mut lab = Lab { meter: &meter, notes: Vec::new(), interrupted: false };
        let (counts, mut without) = (Counts { ticks, ..Counts::default() }, Vec::new());
        let able = able(&plan, &counts, &mut without, &mut lab).unwrap();
        assert_eq!(able.iter().map(|structure| structure.id).collect::<Vec<_>>().join(","), ids);
        let left_out: Vec<_> = without.iter().map(|left| (left.structure.id, left.is_able)).collect();
        assert_eq!(left_out, if ticks > MOST_TICKS { vec![("hash-wheel", true)] } else { Vec::new() });
        assert_eq!(lab.notes.join("").contains("hash-wheel: it is called at each tick"), ticks > MOST_TICKS);
    }
}

/// This test uses pieces of 64 operations, as for cold caches.
#[test]
fn decoding_ends_at_the_first_error() {
    let arm = |at: i64| Event::new(at, at as u64, What::Arm { deadline: at + 1_000_000, period: 0 });
    let (plan, meter) = (plan("heap4/slab", (0..1000).map(arm).collect()), FakeMeter::steady(10));
    let steps = Steps::of(&plan, None, 1, &Profile::default(), &meter);
    for last in [1, 3] {
        let mut taken = Vec::new();
        let decoded = steps.decode(&mut |piece| {
            taken.push(piece.operations());
            if taken.len() < last { Ok(()) } else { Err(LabError::failed("a test")) }
        });
        assert!(decoded.is_err_and(|error| error.to_string().contains("a test")));
        assert_eq!(taken, vec![64; last]);
    }
}
