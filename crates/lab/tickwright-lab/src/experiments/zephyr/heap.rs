//! The heap: an array of time-outs, each of which stores its index in the array, so that an abort
//! needs no search. Time-outs of equal ticks fire in any order. The array has a fixed size.

use super::backend::BackEnd;

#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    callback: usize,
    tick: u64,
    place: u32,
}

#[derive(Debug)]
pub(super) struct MinHeap {
    nodes: Vec<Node>,
    heap: Vec<usize>,
    now: u64,
}

impl MinHeap {
    pub(super) const BYTES: usize = size_of::<Node>();

    pub(super) fn new(n: usize) -> Self {
        let nodes = (0..n).map(|callback| Node { callback, tick: 0, place: 0 }).collect();
        Self { nodes, heap: Vec::with_capacity(n), now: 0 }
    }

    #[inline]
    fn tick(&self, place: usize) -> u64 {
        self.nodes[self.heap[place]].tick
    }

    #[inline]
    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        self.nodes[self.heap[one]].place = one as u32;
        self.nodes[self.heap[other]].place = other as u32;
    }

    #[inline]
    fn up(&mut self, mut place: usize) {
        while place > 0 && self.tick(place) < self.tick((place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    #[inline]
    fn down(&mut self, mut place: usize) {
        loop {
            let mut child = 2 * place + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.tick(child + 1) < self.tick(child) {
                child += 1;
            }
            if self.tick(place) <= self.tick(child) {
                break;
            }
            self.swap(place, child);
            place = child;
        }
    }

    #[inline]
    fn take(&mut self, place: usize) {
        let last = self.heap.len() - 1;
        self.swap(place, last);
        self.heap.pop();
        if place < last {
            self.down(place);
            self.up(place);
        }
    }
}

impl BackEnd for MinHeap {
    #[inline]
    fn insert(&mut self, id: u32, ticks: u64) {
        let place = self.heap.len();
        let node = &mut self.nodes[id as usize];
        (node.tick, node.place) = (self.now + ticks, place as u32);
        self.heap.push(id as usize);
        self.up(place);
    }

    #[inline]
    fn abort(&mut self, id: u32) {
        self.take(self.nodes[id as usize].place as usize);
    }

    #[inline]
    fn announce(&mut self, ticks: u64, mut fire: impl FnMut(u32, u64)) {
        self.now += ticks;
        while let Some(&first) = self.heap.first() {
            let Node { callback, tick, .. } = self.nodes[first];
            if tick > self.now {
                break;
            }
            self.take(0);
            fire(callback as u32, tick);
        }
    }
}
