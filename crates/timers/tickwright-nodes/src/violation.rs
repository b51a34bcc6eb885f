//! The violations that a check can report.

/// An invariant that a `check` found violated. The documentation of each structure names the
/// violation next to each invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Violation {
    /// The number of nodes that can be reached by links is not the number of pending nodes.
    Count,
    /// A neighbor of a node does not point back to the node (`next`/`prev`, `child`/`parent`).
    BackLink,
    /// A node is before a node with an earlier expiry.
    Order,
    /// The stored head, tail, root or cached head does not match the links.
    Head,
    /// A red node has a red parent, or the root is red.
    RedRed,
    /// Two paths from a node to its missing children pass unequal numbers of black nodes.
    BlackHeight,
    /// A balance factor is not the difference of the heights, or is outside -1..=1.
    Balance,
    /// A heap entry is earlier than its parent.
    HeapOrder,
    /// The recorded position of a node is not its actual position.
    Position,
    /// Two entries share an arrival number, or an arrival number is not below the counter.
    Sequence,
    /// An unused cell is not empty.
    UnusedCell,
    /// A node that is not pending can be reached by links, or the free list is broken.
    Storage,
    /// A node that can be reached by links is marked as owned by another queue, or as unlinked.
    Owner,
    /// A mark in a bitmap of buckets does not match the content of the bucket.
    Occupied,
    /// The recorded minimum of a bucket is not the expiry of its earliest node.
    Minimum,
    /// A node is in a bucket other than the bucket of its expiry.
    Bucket,
}

error_texts! { Violation:
    Self::Count => "the number of reachable nodes is not the number of pending timers",
    Self::BackLink => "a neighbour does not point back",
    Self::Order => "a node stands before one with an earlier expiry",
    Self::Head => "a head, tail or root pointer is not what the links say",
    Self::RedRed => "a red node has a red parent, or the root is red",
    Self::BlackHeight => "two paths hold unequal numbers of black nodes",
    Self::Balance => "a balance factor is wrong",
    Self::HeapOrder => "a heap entry is earlier than its parent",
    Self::Position => "a recorded position is wrong",
    Self::Sequence => "arrival numbers are not unique and below the counter",
    Self::UnusedCell => "an unused cell is not empty",
    Self::Storage => "a free slot is linked, or the free list is broken",
    Self::Owner => "a linked node does not carry this queue's identity",
    Self::Occupied => "the mark of a bucket is not what it holds",
    Self::Minimum => "the earliest expiry noted for a bucket is wrong",
    Self::Bucket => "a node stands in the wrong bucket",
}
