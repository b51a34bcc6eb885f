//! The skip list of Pugh (1990): eight sorted lists on top of each other. Each time-out is in the
//! lowest list, and each level has about half of the time-outs of the level below.

use super::backend::BackEnd;

const LEVELS: usize = 8;

#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    forward: [usize; LEVELS],
    callback: usize,
    tick: u64,
    height: u8,
}

#[derive(Debug)]
pub(super) struct SkipList {
    /// Time-outs `0..n`, then the head, which also ends each list.
    nodes: Vec<Node>,
    head: usize,
    /// The state of the generator of heights.
    random: u64,
    now: u64,
}

impl SkipList {
    pub(super) const BYTES: usize = size_of::<Node>();

    pub(super) fn new(n: usize) -> Self {
        let node = |callback| Node { forward: [n; LEVELS], callback, tick: 0, height: 0 };
        Self { nodes: (0..=n).map(node).collect(), head: n, random: 1, now: 0 }
    }

    /// Draws the height of a node: 1 with a chance of 1/2, 2 with 1/4, and so on.
    #[inline]
    fn height(&mut self) -> usize {
        // Marsaglia's xorshift.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        LEVELS.min(1 + self.random.trailing_ones() as usize)
    }

    /// For each level, returns the last node that `passes` accepts. In each level, the accepted
    /// nodes precede all other nodes.
    #[inline]
    fn before(&self, passes: impl Fn(u64) -> bool) -> [usize; LEVELS] {
        let mut before = [self.head; LEVELS];
        let mut at = self.head;
        for level in (0..LEVELS).rev() {
            loop {
                let next = self.nodes[at].forward[level];
                if next == self.head || !passes(self.nodes[next].tick) {
                    break;
                }
                at = next;
            }
            before[level] = at;
        }
        before
    }
}

impl BackEnd for SkipList {
    #[inline]
    fn insert(&mut self, id: u32, ticks: u64) {
        let (id, tick, height) = (id as usize, self.now + ticks, self.height());
        let before = self.before(|other| other <= tick);
        self.nodes[id].tick = tick;
        self.nodes[id].height = height as u8;
        for (level, at) in before.into_iter().enumerate().take(height) {
            self.nodes[id].forward[level] = self.nodes[at].forward[level];
            self.nodes[at].forward[level] = id;
        }
    }

    #[inline]
    fn abort(&mut self, id: u32) {
        let id = id as usize;
        let Node { tick, height, forward, .. } = self.nodes[id];
        let before = self.before(|other| other < tick);
        for (level, mut at) in before.into_iter().enumerate().take(usize::from(height)) {
            // Time-outs of the same tick can precede `id`.
            while self.nodes[at].forward[level] != id {
                at = self.nodes[at].forward[level];
            }
            self.nodes[at].forward[level] = forward[level];
        }
    }

    #[inline]
    fn announce(&mut self, ticks: u64, mut fire: impl FnMut(u32, u64)) {
        self.now += ticks;
        loop {
            let first = self.nodes[self.head].forward[0];
            let Node { tick, height, forward, callback } = self.nodes[first];
            if first == self.head || tick > self.now {
                break;
            }
            let height = usize::from(height);
            self.nodes[self.head].forward[..height].copy_from_slice(&forward[..height]);
            fire(callback as u32, tick);
        }
    }
}
