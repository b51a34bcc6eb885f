use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::ids::Ids;
use super::*;

fn context<O: Order>() -> Context<O, impl Fn(u64) -> u64> {
    Context::new(|ahead| ahead)
}

fn add<O: Order, C: Fn(u64) -> u64>(context: &Context<O, C>, delays: &[u32]) -> Vec<i32> {
    delays.iter().enumerate().map(|(at, &delay)| context.add(delay, |_| 0, at)).collect()
}

#[test]
fn the_table_finds_every_id_however_it_grows() {
    let mut ids = Ids::new();
    (1..=1000).for_each(|id| ids.insert(id, id * 10));
    (1..=1000).step_by(2).for_each(|id| ids.remove(id));
    ids.remove(1);
    for id in 1..=1000 {
        let expected = (id % 2 == 0).then_some(id * 10);
        assert_eq!(ids.get(id).copied(), expected, "{id}");
    }
    ids.insert(-5, 7);
    assert_eq!(ids.get(-5), Some(&7), "ids run over into the negative");
}

#[test]
fn at_most_so_many_freed_entries_are_kept_and_used_again() {
    let context = context::<Heap>();
    let delays: Vec<u32> = (0..300).collect();
    for id in add(&context, &delays) {
        assert!(context.del(id));
    }
    assert_eq!(context.lock().freed.len(), KEPT);
    let ids = add(&context, &[1, 2, 3]);
    assert_eq!(context.lock().freed.len(), KEPT - 3);
    assert_eq!(
        (context.when(ids[2]), context.when(1), context.len()),
        (Some(3000), None, 3),
        "an old id stays stale"
    );
}

/// A walk starts at the nearer end. The entry is put after the entries of equal time in a forward
/// walk, and before them in a backward walk.
#[test]
fn the_list_puts_equals_last_forward_and_first_backward() {
    let context = context::<List>();
    add(&context, &[0, 100, 20, 20, 80, 80]);
    let order: Vec<usize> = core::iter::from_fn(|| context.pop()).map(|(at, _)| at).collect();
    assert_eq!(order, [0, 2, 3, 5, 4, 1]);
}

/// The bug of the heap of 2009: an entry that fills the place of a removed entry can have to move
/// up.
#[test]
fn removals_from_the_middle_keep_the_order() {
    fn keeps<O: Order>(seed: u64) {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let context = context::<O>();
        let mut left: Vec<u32> = (0..100).map(|_| random.random_range(0..1000)).collect();
        let mut ids = add(&context, &left);
        for _ in 0..60 {
            let at = random.random_range(0..ids.len());
            assert!(context.del(ids.swap_remove(at)));
            left.swap_remove(at);
        }
        left.sort_unstable();
        let order: Vec<u64> = core::iter::from_fn(|| context.pop()).map(|(_, when)| when / 1000).collect();
        assert_eq!(order, left.into_iter().map(u64::from).collect::<Vec<_>>(), "seed {seed}");
    }
    for seed in 0..20 {
        keeps::<Heap>(seed);
        keeps::<List>(seed);
    }
}
