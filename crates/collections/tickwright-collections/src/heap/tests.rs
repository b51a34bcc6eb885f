//! The first tests compare the heap with a sorted vector, and call `verify` after every step. Some
//! of the other tests use a `HeapOrder` that misbehaves.

use core::cell::Cell;
use core::cmp::Ordering;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::rc::Rc;
use std::vec::Vec;

use super::HeapError;
use super::{Heap, HeapOrder};
use tickwright_nodes::Violation;
use tickwright_nodes::testing::{Random, STEPS};

#[derive(Debug)]
struct Job {
    rank: Cell<u32>,
    position: Cell<usize>,
}

fn job(rank: u32) -> Rc<Job> {
    Rc::new(Job { rank: Cell::new(rank), position: Cell::new(0) })
}

/// Orders jobs by rank. If a test sets `comparisons` to n, the comparison after the next n
/// comparisons panics; `placings` does the same for calls of `placed`.
#[derive(Default)]
struct ByRank {
    comparisons: Cell<Option<u32>>,
    placings: Cell<Option<u32>>,
}

/// Counts down, and panics at 0.
fn tick(fuse: &Cell<Option<u32>>) {
    match fuse.get() {
        Some(0) => panic!("as asked"),
        left => fuse.set(left.map(|left| left - 1)),
    }
}

impl HeapOrder<Rc<Job>> for &ByRank {
    fn compare(&self, a: &Rc<Job>, b: &Rc<Job>) -> Ordering {
        tick(&self.comparisons);
        a.rank.cmp(&b.rank)
    }

    fn placed(&self, job: &mut Rc<Job>, position: usize) {
        tick(&self.placings);
        job.position.set(position);
    }

    fn position(&self, job: &Rc<Job>) -> Option<usize> {
        Some(job.position.get())
    }

    fn same(&self, a: &Rc<Job>, b: &Rc<Job>) -> bool {
        Rc::ptr_eq(a, b)
    }
}

fn filled(order: &ByRank, ranks: impl IntoIterator<Item = u32>) -> (Heap<Rc<Job>, &ByRank>, Vec<Rc<Job>>) {
    let mut heap = Heap::new(order);
    let jobs: Vec<_> = ranks.into_iter().map(job).collect();
    for job in &jobs {
        heap.push(Rc::clone(job)).unwrap();
        heap.verify().unwrap();
    }
    (heap, jobs)
}

fn drained(mut heap: Heap<Rc<Job>, &ByRank>) -> Vec<u32> {
    core::iter::from_fn(|| heap.pop()).map(|job| job.rank.get()).collect()
}

fn descending(mut ranks: Vec<u32>) -> Vec<u32> {
    ranks.sort_unstable_by(|a, b| b.cmp(a));
    ranks
}

#[test]
fn the_greatest_leaves_first_and_then_nothing() {
    let order = ByRank::default();
    let (mut heap, _) = filled(&order, [1, 2, 3]);
    let ranks = [(); 4].map(|()| heap.pop().map(|job| job.rank.get()));
    assert_eq!(ranks, [Some(3), Some(2), Some(1), None]);
    assert!(heap.is_empty());
}

#[test]
fn peek_takes_positions_from_one_to_the_length() {
    let order = ByRank::default();
    let (heap, _) = filled(&order, [5, 7, 6]);
    assert_eq!(heap.peek().map(|job| job.rank.get()), Some(7));
    for position in 1..=3 {
        assert_eq!(heap.at(position).map(|job| job.position.get()), Some(position));
    }
    for none in [0, 4, usize::MAX] {
        assert!(heap.at(none).is_none());
    }
}

#[test]
fn it_agrees_with_a_sorted_vector() {
    let order = ByRank::default();
    let mut random = Random::new(1);
    let (mut heap, mut model) = (Heap::new(&order), Vec::<Rc<Job>>::new());
    for _ in 0..STEPS {
        match random.below(8) {
            0..=3 if model.len() < 40 => {
                let job = job(random.below(30));
                heap.push(Rc::clone(&job)).unwrap();
                model.push(job);
            }
            4 if !model.is_empty() => {
                let job = model.swap_remove(random.below(model.len() as u32) as usize);
                assert!(Rc::ptr_eq(&heap.remove(&job).unwrap(), &job));
                assert_eq!(heap.remove(&job).unwrap_err(), HeapError::Stale);
            }
            5 if !model.is_empty() => {
                let job = &model[random.below(model.len() as u32) as usize];
                job.rank.set(random.below(30));
                heap.update(job).unwrap();
            }
            6 => {
                let popped = heap.pop();
                assert_eq!(popped.as_ref().map(|job| &job.rank), model.iter().map(|job| &job.rank).max());
                model.retain(|job| popped.as_ref().is_none_or(|popped| !Rc::ptr_eq(job, popped)));
            }
            _ => {}
        }
        assert_eq!(heap.len(), model.len());
        heap.verify().unwrap();
    }
    let ranks = model.iter().map(|job| job.rank.get()).collect();
    assert_eq!(drained(heap), descending(ranks));
}

/// Removes each element from every heap of up to 7 elements and 4 ranks, so that the element that
/// fills the place sinks, stays or rises.
#[test]
fn every_removal_from_every_small_heap() {
    let (mut rose, mut sank) = (0, 0);
    for size in 1..=7_u32 {
        for code in 0..4_u32.pow(size) {
            if cfg!(miri) && code % 997 != 0 {
                continue;
            }
            let ranks = (0..size).map(|digit| code / 4_u32.pow(digit) % 4);
            let order = ByRank::default();
            for victim in 0..size as usize {
                let (mut heap, jobs) = filled(&order, ranks.clone());
                let from = jobs[victim].position.get();
                let last = Rc::clone(heap.at(heap.len()).unwrap());
                let removed = heap.remove(&jobs[victim]).unwrap();
                assert!(Rc::ptr_eq(&removed, &jobs[victim]));
                assert_eq!(removed.position.get(), 0);
                heap.verify().unwrap();
                rose += u32::from(last.position.get() != 0 && last.position.get() < from);
                sank += u32::from(last.position.get() > from);
                let mut expected = descending(ranks.clone().collect());
                expected.remove(expected.iter().position(|&rank| rank == removed.rank.get()).unwrap());
                assert_eq!(drained(heap), expected);
            }
        }
    }
    assert!(rose > 0 && sank > 0, "{rose} rose, {sank} sank");
}

/// Tests for the first fault of Asterisk's heap. The removal of 1, a child of 3, leaves a hole,
/// which the last element, 6, fills. Since 6 is greater than 3, it must then rise above 3.
#[test]
fn what_fills_a_place_in_the_middle_may_have_to_rise() {
    let order = ByRank::default();
    //        9
    //     3     8
    //    1 2   7 6
    let (mut heap, jobs) = filled(&order, [9, 3, 8, 1, 2, 7, 6]);
    assert_eq!(jobs[3].position.get(), 4);
    assert!(heap.remove(&jobs[3]).is_ok());
    assert_eq!(jobs[6].position.get(), 2, "6 has risen over 3");
    assert_eq!(heap.verify(), Ok(()));
}

#[test]
fn positions_that_lie_are_refused() {
    let order = ByRank::default();
    let (mut heap, jobs) = filled(&order, [1, 2, 3]);
    let (mut other, others) = filled(&order, [1, 2]);
    assert_eq!(heap.remove(&others[0]).unwrap_err(), HeapError::WrongHeap, "it is in the other");
    let stranger = job(2);
    assert_eq!(heap.remove(&stranger).unwrap_err(), HeapError::Stale);
    for position in [1, 3, 4, usize::MAX] {
        stranger.position.set(position);
        assert_eq!(heap.remove(&stranger).unwrap_err(), HeapError::WrongHeap);
        assert_eq!(heap.update(&stranger).unwrap_err(), HeapError::WrongHeap);
    }
    assert!(heap.push(stranger).is_ok(), "what a newcomer records says nothing");
    let twice = heap.push(Rc::clone(&jobs[0])).unwrap_err();
    assert_eq!(twice.reason, HeapError::AlreadyIn);
    assert!(Rc::ptr_eq(&twice.value, &jobs[0]));
    assert_eq!((heap.len(), other.len()), (4, 2));
    assert_eq!((heap.verify(), other.verify()), (Ok(()), Ok(())));
    other.clear();
    assert!(others.iter().all(|job| job.position.get() == 0), "cleared elements know it");
}

#[test]
fn elements_without_positions_are_not_found() {
    let mut heap = Heap::new(|a: &u32, b: &u32| a.cmp(b));
    heap.push(7).unwrap();
    heap.push(7).unwrap();
    assert_eq!(heap.remove(&7), Err(HeapError::Stale));
    assert_eq!(heap.update(&7), Err(HeapError::Stale));
    assert_eq!((heap.len(), heap.verify()), (2, Ok(())));
}

#[test]
fn verify_names_what_is_broken() {
    let order = ByRank::default();
    let (mut heap, jobs) = filled(&order, [4, 4, 4, 4]);
    assert_eq!(heap.verify(), Ok(()), "equals above each other are fine");
    heap.elements.swap(1, 2);
    assert_eq!(heap.verify(), Err(Violation::Position));
    heap.elements.swap(1, 2);
    jobs[3].rank.set(5);
    assert_eq!(heap.verify(), Err(Violation::HeapOrder));
    heap.update(&jobs[3]).unwrap();
    assert_eq!(heap.verify(), Ok(()));
    jobs[0].position.set(0);
    assert_eq!(heap.verify(), Err(Violation::Position));
}

/// Requires that the heap holds each job once, even if the order or the positions are wrong.
fn holds_each_once(heap: &Heap<Rc<Job>, &ByRank>, jobs: &[Rc<Job>]) {
    assert_eq!(heap.len(), jobs.len());
    for job in jobs {
        assert_eq!(heap.elements.iter().filter(|held| Rc::ptr_eq(held, job)).count(), 1);
    }
}

type Step = fn(&mut Heap<Rc<Job>, &ByRank>, &Rc<Job>);

#[test]
#[cfg_attr(not(panic = "unwind"), ignore = "catches a panic")]
fn a_comparator_that_panics_changes_nothing() {
    let steps: [Step; 4] = [
        |heap, _| drop(heap.push(job(50))),
        |heap, _| drop(heap.pop()),
        |heap, job| drop(heap.remove(job)),
        |heap, job| {
            let _ = heap.update(job);
        },
    ];
    let ranks = [9, 3, 8, 1, 2, 7, 6, 0, 1, 2, 2, 5, 4, 3, 5];
    let mut panics = 0;
    for step in steps {
        for fuse in 0..8 {
            for victim in 0..ranks.len() {
                let order = ByRank::default();
                let (mut heap, jobs) = filled(&order, ranks);
                order.comparisons.set(Some(fuse));
                let outcome = catch_unwind(AssertUnwindSafe(|| step(&mut heap, &jobs[victim])));
                order.comparisons.set(None);
                assert_eq!(heap.verify(), Ok(()));
                if outcome.is_err() {
                    panics += 1;
                    holds_each_once(&heap, &jobs);
                    assert_eq!(drained(heap), descending(ranks.to_vec()));
                }
            }
        }
    }
    assert!(panics > 100, "{panics}");
}

#[test]
#[cfg_attr(not(panic = "unwind"), ignore = "catches a panic")]
fn a_panic_in_placed_loses_nobody_and_is_found() {
    let order = ByRank::default();
    let (mut heap, mut jobs) = filled(&order, [9, 3, 8, 1, 2, 7, 6]);
    jobs[3].rank.set(10);
    order.placings.set(Some(1));
    assert!(catch_unwind(AssertUnwindSafe(|| heap.update(&jobs[3]))).is_err());
    order.placings.set(None);
    holds_each_once(&heap, &jobs);
    assert_eq!(heap.verify(), Err(Violation::Position));
    // A removal by position is refused. A pop removes the element.
    assert_eq!(heap.remove(&jobs[3]).unwrap_err(), HeapError::WrongHeap);
    assert!(Rc::ptr_eq(&heap.pop().unwrap(), &jobs.remove(3)));
    holds_each_once(&heap, &jobs);
}

#[test]
fn a_comparator_that_contradicts_itself_loses_nobody() {
    let random = Cell::new(Random::new(3));
    let answer = || {
        let mut next = random.replace(Random::new(0));
        let answer = [Ordering::Less, Ordering::Equal, Ordering::Greater][next.below(3) as usize];
        random.set(next);
        answer
    };
    let mut heap = Heap::new(|_: &u32, _: &u32| answer());
    let count = if cfg!(miri) { 40 } else { 1000 };
    for number in 0..count {
        heap.push(number).unwrap();
    }
    let mut popped: Vec<u32> = core::iter::from_fn(|| heap.pop()).collect();
    popped.sort_unstable();
    assert_eq!(popped, Vec::from_iter(0..count));
}

#[test]
fn room_is_refused_where_there_is_none() {
    let mut heap = Heap::new(|a: &u64, b: &u64| a.cmp(b));
    assert_eq!(heap.reserve(usize::MAX), Err(HeapError::Full));
    heap.reserve(10).unwrap();
    let before = heap.elements.capacity();
    (0..10).for_each(|number| heap.push(number).unwrap());
    assert_eq!(heap.elements.capacity(), before);
}

/// Ranks are in the elements, and positions are outside of them. Elements are identified by a
/// number, so a copy with another rank identifies the same element.
struct ByNumber([Cell<usize>; 4]);

impl HeapOrder<(usize, u32)> for &ByNumber {
    fn compare(&self, a: &(usize, u32), b: &(usize, u32)) -> Ordering {
        a.1.cmp(&b.1)
    }

    fn placed(&self, element: &mut (usize, u32), position: usize) {
        self.0[element.0].set(position);
    }

    fn position(&self, element: &(usize, u32)) -> Option<usize> {
        Some(self.0[element.0].get())
    }

    fn same(&self, a: &(usize, u32), b: &(usize, u32)) -> bool {
        a.0 == b.0
    }
}

#[test]
fn update_files_the_element_by_the_rank_that_it_has_in_the_heap() {
    let order = ByNumber(Default::default());
    let mut heap = Heap::new(&order);
    for element in [(0, 9), (1, 5), (2, 3), (3, 1)] {
        heap.push(element).unwrap();
    }
    for rank in [0, 10] {
        heap.update(&(3, rank)).unwrap();
        heap.update(&(0, rank)).unwrap();
        assert_eq!(heap.verify(), Ok(()));
        assert_eq!(heap.peek(), Some(&(0, 9)));
    }
}

#[test]
fn the_end_of_a_heap_takes_the_positions_back() {
    let order = ByNumber(Default::default());
    let mut heap = Heap::new(&order);
    heap.push((1, 5)).unwrap();
    heap.push((2, 7)).unwrap();
    assert_eq!(order.0.each_ref().map(Cell::get), [0, 2, 1, 0]);
    drop(heap);
    assert_eq!(order.0.each_ref().map(Cell::get), [0; 4]);
}
