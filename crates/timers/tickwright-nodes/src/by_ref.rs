//! References that identify a node by its address.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// A reference to a node that the caller owns. Two references are equal if and only if they refer
/// to the same node; the nodes' values are not compared.
pub struct ByRef<'a, T>(&'a T);

impl<'a, T> ByRef<'a, T> {
    /// Returns the node, with the lifetime of the reference.
    #[inline]
    #[must_use]
    pub const fn get(self) -> &'a T {
        self.0
    }
}

impl<T> Clone for ByRef<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ByRef<'_, T> {}

impl<T> PartialEq for ByRef<'_, T> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.0, other.0)
    }
}

impl<T> Eq for ByRef<'_, T> {}

impl<T> Hash for ByRef<'_, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        core::ptr::from_ref(self.0).hash(state);
    }
}

impl<T> fmt::Debug for ByRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ByRef({:p})", self.0)
    }
}

impl<T> Deref for ByRef<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0
    }
}

impl<'a, T> From<&'a T> for ByRef<'a, T> {
    #[inline]
    fn from(node: &'a T) -> Self {
        Self(node)
    }
}

#[cfg(test)]
mod tests {
    use super::ByRef;

    #[test]
    fn references_are_equal_when_they_are_to_one_node() {
        // The two values are equal; only their addresses differ.
        let nodes = [7, 7];
        let [first, second] = nodes.each_ref().map(ByRef::from);
        assert_eq!(first, ByRef::from(&nodes[0]));
        assert_ne!(first, second);
    }
}
