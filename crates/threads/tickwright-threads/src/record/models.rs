//! Loom models of circles of threads that join one another, in all schedules. If no thread detected
//! a circle, its threads would wait forever.

use loom::thread;
use std::sync::Arc;

use super::{FreeList, Table};
use crate::id::ThreadId;
use crate::join_word::Claim;

fn take(free: &mut FreeList, table: &Table<()>) -> ThreadId {
    let (number, record) = free.take(table).unwrap();
    ThreadId::new(number, record.join.issue(false).unwrap()).unwrap()
}

/// Does what a runtime's `join` does before it waits. Returns whether it would wait.
fn join(table: &Table<()>, me: ThreadId, other: ThreadId) -> bool {
    let record = table.find(other).unwrap();
    assert_eq!(record.join.claim(other.generation(), false).unwrap(), Claim::Running);
    table.find(me).unwrap().joins(Some(other));
    !table.circle(me, other)
}

#[test]
fn one_of_two_who_join_each_other_sees_it() {
    loom::model(|| {
        let table = Arc::new(Table::<()>::new(1));
        let mut free = FreeList::new(0);
        let [one, two] = [(); 2].map(|()| take(&mut free, &table));
        let other = thread::spawn({
            let table = Arc::clone(&table);
            move || join(&table, two, one)
        });
        let waits = join(&table, one, two);
        assert!(!(waits && other.join().unwrap()), "both wait");
    });
}

#[test]
fn one_of_three_in_a_circle_sees_it() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let table = Arc::new(Table::<()>::new(1));
        let mut free = FreeList::new(0);
        let [one, two, three] = [(); 3].map(|()| take(&mut free, &table));
        let others = [(two, three), (three, one)].map(|(me, other)| {
            let table = Arc::clone(&table);
            thread::spawn(move || join(&table, me, other))
        });
        let waits = join(&table, one, two);
        assert!(!others.into_iter().fold(waits, |all, other| other.join().unwrap() && all), "all wait");
    });
}

/// A thread ends, and another thread uses its record and joins the thread that checks for a circle.
/// This is not a circle.
#[test]
fn what_a_later_thread_of_a_record_joins_is_no_circle() {
    loom::model(|| {
        let table = Arc::new(Table::<()>::new(1));
        let mut free = FreeList::new(0);
        let [me, target] = [(); 2].map(|()| take(&mut free, &table));
        let other = thread::spawn({
            let table = Arc::clone(&table);
            move || {
                let record = table.find(target).unwrap();
                record.release();
                free.give(target.record(), record);
                let later = take(&mut free, &table);
                assert_eq!(later.record(), target.record());
                table.find(later).unwrap().joins(Some(me));
            }
        });
        table.find(me).unwrap().joins(Some(target));
        assert!(!table.circle(me, target), "another thread's joining");
        other.join().unwrap();
    });
}
