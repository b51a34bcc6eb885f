use super::*;
use crate::structures::candidate::BenchQueue;

fn ids(patterns: &[&str]) -> Vec<&'static str> {
    let patterns: Vec<String> = patterns.iter().map(|p| (*p).to_owned()).collect();
    select(&patterns).unwrap().into_iter().map(|s| s.id).collect()
}

#[test]
fn ids_are_unique_and_each_row_can_be_visited() {
    struct Inserts;
    impl Visitor for Inserts {
        type Out = Option<(u32, u64)>;
        fn visit<C: Candidate>(self, structure: &'static Structure) -> Self::Out {
            assert_eq!(C::ORDER.is_exact(), structure.ties.exact(), "{}", structure.id);
            let arena = C::arena(2);
            let mut queue = C::queue(&arena, 2);
            queue.insert(1, 70);
            queue.insert(0, 50);
            queue.pop()
        }
    }
    for (at, structure) in STRUCTURES.iter().enumerate() {
        assert!(STRUCTURES[..at].iter().all(|other| other.id != structure.id), "{}", structure.id);
        let (id, expiry) = visit(structure, Inserts).unwrap();
        let last = 50 + (facts(structure).lateness)(50);
        assert!(id == 0 && (50..=last).contains(&expiry), "{}: {id} at {expiry}", structure.id);
    }
}

#[test]
fn shapes_are_what_families_declare() {
    let of = |id: &str| find(id).unwrap().shape;
    assert_eq!(
        [of("list/slab"), of("heap2/hook"), of("rb-cached/slab"), of("coarse/slab")],
        [Shape::List, Shape::Heap, Shape::Tree, Shape::Wheel]
    );
}

/// A family whose insert walks a list is not run with a million timers, regardless of its name.
#[test]
fn a_new_family_that_walks_is_measured_with_few_timers() {
    struct Walks;
    impl Family for Walks {
        type Of<P: structure::Handle> = <tickwright_core::SortedList as Family>::Of<P>;
        type Layout = tickwright_core::storage::Apart;
        const ID: &'static str = "skips";
        const SHAPE: structure::Shape = structure::Shape::List;
    }
    assert_eq!(Shape::of::<Walks>(), Shape::List);
    assert_eq!(linear::<Walks>(), Some(LINEAR));
}

#[test]
fn patterns_add_and_take_away() {
    assert_eq!(ids(&[]).len(), STRUCTURES.len());
    assert_eq!(ids(&["list/*"]), ["list/slab", "list/hook"]);
    assert_eq!(ids(&["list/*", "!*/hook"]), ["list/slab"]);
    assert_eq!(ids(&["!list/*"]).len(), STRUCTURES.len() - 2);
}

#[test]
fn a_family_by_itself_is_meant_in_each_storage() {
    assert_eq!(ids(&["heap4"]), ["heap4/slab", "heap4/hook"]);
    assert_eq!(ids(&["!list"]).len(), STRUCTURES.len() - 2);
    assert_eq!(family("heap4/*").unwrap().id(), "heap4");
    assert_eq!(family("heap4").unwrap().id(), "heap4");
    assert!(family("heap4/hook").unwrap_err().ends_with("'heap4'"));
    let message = find("heap4").unwrap_err().to_string();
    assert!(message.contains("are 'heap4/hook', 'heap4/slab'"), "{message}");
}

#[test]
fn what_would_take_too_long_is_left_out_with_its_reason() {
    let why = |id: &str, n: usize| why_not(find(id).unwrap(), n).unwrap();
    assert_eq!(why("list/hook", 1000), None);
    assert_eq!(why("list/hook", 1001).as_deref(), Some("insertion is O(n)"));
    assert_eq!(why("btree-map", 1_000_000), None);
    #[cfg(feature = "rivals")]
    {
        assert_eq!(why("delay-queue", 10_000), None);
        assert_eq!(why("delay-queue", 100_000).as_deref(), Some("its peek looks through a whole bucket"));
    }
}

/// A scenario can exclude a structure that only another build has. Selecting such a structure is an
/// error that names the remedy.
#[cfg(not(feature = "rivals"))]
#[test]
fn what_this_build_leaves_out_is_refused_with_the_remedy() {
    assert_eq!(ids(&["!delay-queue", "!list/slab"]).len(), STRUCTURES.len() - 1);
    assert!(is_left_out("dary-*") && !is_left_out("*") && !is_left_out("heap4"));
    for name in LEFT_OUT.iter() {
        let refused = [select(&[(*name).to_owned()]).unwrap_err(), find(name).unwrap_err()];
        for error in refused {
            let said = error.to_string();
            assert!(error.code() == 2 && said.contains(name) && said.contains("--features rivals"), "{said}");
        }
        assert!(STRUCTURES.iter().all(|structure| structure.id != *name));
    }
}

#[test]
fn a_pattern_without_a_match_names_its_neighbours() {
    let message = select(&["lits/slab".into()]).unwrap_err().to_string();
    assert!(message.contains("'list/slab'"), "{message}");
    let message = find("btreemap").unwrap_err().to_string();
    assert!(message.contains("'btree-map'"), "{message}");
    assert!(select(&["!*".into()]).is_err());
}

#[test]
fn the_default_is_the_structure_behind_the_default_queue() {
    fn id<F: Family>(_: &SlabQueue<F, ()>) -> &'static str {
        F::ID
    }
    assert_eq!(DEFAULT, format!("{}/slab", id(&tickwright_core::DefaultQueue::new())));
    assert_eq!(find(DEFAULT).unwrap().kind, Kind::Ours);
    assert_eq!([theirs("dary-heap4-contract"), theirs("dary-heap4")], [Kind::EqualContract, Kind::Baseline]);
}
