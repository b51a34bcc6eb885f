//! Tests every clause on every family in each storage: one test for each clause, with the clause's
//! name.

use std::sync::LazyLock;

use tickwright_testkit::clauses::{NAMES, Tools, Verdict};
use tickwright_testkit::registry::{Kind, inline, kept, ours};

/// Each structure's verdicts, in the order of the clauses. The verdicts are computed once, for all
/// tests.
static VERDICTS: LazyLock<Vec<(String, [Verdict; 22])>> = LazyLock::new(|| {
    let judged = |kind: &Kind| (kind.name.clone(), (kind.verdicts)(&Tools::default()));
    ours().iter().chain(&kept()).chain(&inline()).map(judged).collect()
});

/// Requires that every structure keeps the clause `name`. The structures for which `but` is true do
/// not have to offer the clause.
fn all_keep(name: &str, but: fn(&str) -> bool) {
    let at = NAMES.iter().position(|clause| *clause == name).expect("a clause of that name");
    let broken: Vec<String> = VERDICTS
        .iter()
        .filter_map(|(structure, verdicts)| match &verdicts[at] {
            Verdict::Kept => None,
            Verdict::NotOffered if but(structure) => None,
            verdict => Some(format!("{structure} {name}: {verdict}")),
        })
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

fn nowhere(_: &str) -> bool {
    false
}

macro_rules! clauses {
    ($($name:ident $(, not offered by $but:expr)?;)+) => {
        $(#[test]
        fn $name() {
            let but: fn(&str) -> bool = nowhere;
            $(let _ = but; let but = $but;)?
            all_keep(stringify!($name), but);
        })+

        /// `no_allocation_after_reserve` has a separate test binary, with an allocator that counts.
        #[test]
        fn no_clause_is_left_out() {
            let mut here = vec!["no_allocation_after_reserve", $(stringify!($name)),+];
            let mut all = NAMES;
            here.sort_unstable();
            all.sort_unstable();
            assert_eq!(here, all);
        }
    };
}

clauses! {
    never_early;
    none_lost_none_twice;
    order;
    reschedule_is_remove_and_insert;
    now_is_monotone;
    past_deadlines_are_legal;
    every_deadline_is_ordinary;
    next_expiry_is_exact;
    next_wake_is_a_lower_bound;
    head_change_is_reported;
    stale_keys_stay_stale, not offered by |name: &str| name.ends_with("/kept");
    full_hands_the_value_back, not offered by |name: &str| name.ends_with("/hook") || name.ends_with("/inline");
    check_verifies_every_invariant;
    idle_time_is_free;
    budget_bounds_an_advance;
    user_code_runs_on_a_whole_queue;
    second_is_the_next_after_the_head;
    pop_and_reinsert_is_pop_then_insert;
    len_counts_what_is_pending;
    clear_empties;
    idle_timers_keep_their_keys;
}

/// The names and numbers here equal those in the contract's own text.
#[test]
fn the_suite_and_the_contract_name_the_same_clauses() {
    let text = include_str!("../../../timers/tickwright-core/src/contract.rs");
    let named: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            let (number, rest) = line.strip_prefix("/// ")?.split_once(". `")?;
            number.parse::<usize>().ok()?;
            Some(rest.split_once('`')?.0)
        })
        .collect();
    assert_eq!(named, NAMES);
}
