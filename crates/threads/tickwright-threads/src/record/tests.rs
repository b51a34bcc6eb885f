//! Tests of reused records.

use super::{FreeList, Table};
use crate::id::ThreadId;

fn take(free: &mut FreeList, table: &Table<()>) -> ThreadId {
    let (number, record) = free.take(table).unwrap();
    ThreadId::new(number, record.join.issue(false).unwrap()).unwrap()
}

fn joins(table: &Table<()>, one: ThreadId, other: ThreadId) {
    table.find(one).unwrap().joins(Some(other));
}

#[test]
fn a_circle_is_seen_and_one_through_a_record_used_again_is_none() {
    let table = Table::<()>::new(1);
    let mut free = FreeList::new(0);
    let [me, target, last] = [(); 3].map(|()| take(&mut free, &table));
    joins(&table, target, last);
    joins(&table, last, me);
    assert!(table.circle(me, target));

    // `last` ends. Before `target` continues, a new thread uses the record of `last` and joins
    // `me`.
    let record = table.find(last).unwrap();
    record.release();
    free.give(last.record(), record);
    let other = take(&mut free, &table);
    assert_eq!(other.record(), last.record());
    assert!(!table.circle(me, target));
    joins(&table, target, other);
    assert!(table.circle(me, target));
}

/// If a thread ends in a section without yields, the next thread that uses its record is not in
/// that section.
#[test]
fn a_record_used_again_is_in_no_section() {
    let table = Table::<()>::new(1);
    let mut free = FreeList::new(0);
    let id = take(&mut free, &table);
    let record = table.find(id).unwrap();
    record.section.begin();
    assert!(record.section.postpones());
    record.release();
    assert!(!record.section.postpones());
    assert!(!record.section.end());
}
