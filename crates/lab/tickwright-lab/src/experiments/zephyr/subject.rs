//! The back ends that are compared.

use clap::ValueEnum;
use tickwright_core::{DaryHeap, SortedList, Timer, Wheel};

use super::backend::{Ticking, Visitor};
use super::delta::DeltaList;
use super::heap::MinHeap;
use super::skip::SkipList;
use super::wheel::ThreeWheel;
use crate::structures::candidate::Candidate;
use crate::structures::ours::{Hook, Slab};

/// A back end of Zephyr, or a structure of this project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Subject {
    /// Zephyr's default: a sorted list of differences
    List,
    /// Zephyr's binary heap
    Heap,
    /// Zephyr's wheel of three distances
    Wheel,
    /// Zephyr's skip list of eight levels
    SkipList,
    /// Our list, in nodes of the caller
    OurList,
    /// Our heap of four children, in nodes of the caller
    OurHeap,
    /// Our wheel, in nodes of the caller
    OurWheel,
    /// Our heap of four children, in a slab
    OurSlabHeap,
}

impl Subject {
    /// Returns whether time-outs of one tick fire in the order of their insertion, according to the
    /// authors of the back end.
    pub(super) fn keeps_order(self) -> bool {
        !matches!(self, Self::Heap | Self::Wheel)
    }

    /// Returns whether the subject is a back end of Zephyr.
    pub(super) fn is_zephyrs(self) -> bool {
        matches!(self, Self::List | Self::Heap | Self::Wheel | Self::SkipList)
    }

    /// Returns the bytes of a time-out with its links, its callback and its tick. The callback is a
    /// number as wide as a pointer. Returns `None` for a queue that owns its timers.
    pub(super) fn bytes(self) -> Option<usize> {
        match self {
            Self::List => Some(DeltaList::BYTES),
            Self::Heap => Some(MinHeap::BYTES),
            Self::Wheel => Some(ThreeWheel::BYTES),
            Self::SkipList => Some(SkipList::BYTES),
            Self::OurList => Some(size_of::<Timer<SortedList, usize>>()),
            Self::OurHeap => Some(size_of::<Timer<DaryHeap<4>, usize>>()),
            Self::OurWheel => Some(size_of::<Timer<Wheel, usize>>()),
            Self::OurSlabHeap => None,
        }
    }

    /// Passes `queues` empty queues to `visitor`, each with room for `n` time-outs.
    pub(super) fn visit<V: Visitor>(self, queues: usize, n: usize, visitor: V) -> V::Out {
        fn many<B>(queues: usize, new: impl Fn() -> B) -> Vec<B> {
            (0..queues).map(|_| new()).collect()
        }
        match self {
            Self::List => visitor.visit(&mut many(queues, || DeltaList::new(n))),
            Self::Heap => visitor.visit(&mut many(queues, || MinHeap::new(n))),
            Self::Wheel => visitor.visit(&mut many(queues, || ThreeWheel::new(n))),
            Self::SkipList => visitor.visit(&mut many(queues, || SkipList::new(n))),
            Self::OurList => ours::<Hook<SortedList>, V>(queues, n, visitor),
            Self::OurHeap => ours::<Hook<DaryHeap<4>>, V>(queues, n, visitor),
            Self::OurWheel => ours::<Hook<Wheel>, V>(queues, n, visitor),
            Self::OurSlabHeap => ours::<Slab<DaryHeap<4>>, V>(queues, n, visitor),
        }
    }
}

fn ours<C: Candidate, V: Visitor>(queues: usize, n: usize, visitor: V) -> V::Out {
    let arenas: Vec<C::Arena> = (0..queues).map(|_| C::arena(n)).collect();
    let mut all: Vec<_> = arenas.iter().map(|arena| Ticking::new(C::queue(arena, n))).collect();
    visitor.visit(&mut all)
}
