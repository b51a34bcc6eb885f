//! Implements the trait `Dictionary` for all dictionaries of this crate. The implementation calls
//! functions that each dictionary provides for its memory.
//!
//! A dictionary has an index, which stores the nodes in order and has the same functions as
//! [`Sorted`](super::Sorted). The dictionary itself has these functions:
//!
//! | function | does |
//! |---|---|
//! | `validate` | returns the node of an entry |
//! | `put` | inserts a value at a position |
//! | `withdraw` | unlinks a node and returns its object |
//! | `withdraw_all` | unlinks every node |
//! | `verify` | verifies the index and the memory |

/// Implements [`Dictionary`](super::Dictionary) for one type.
macro_rules! dictionary {
    (
        impl [$($generics:tt)*] $dictionary:ty;
        object $object:ty, order $order:ty, entry $entry:ty, value $value:ty,
        index $index:ident, count $($count:tt)+
    ) => {
        impl<$($generics)*> Dictionary for $dictionary {
            type Object = $object;
            type Order = $order;
            type Entry = $entry;
            type Value = $value;

            fn order(&self) -> &$order {
                &self.$index.order
            }

            #[inline]
            fn len(&self) -> usize {
                self.$($count)+
            }

            #[inline]
            fn get(&self, entry: $entry) -> Result<&$object, DictError> {
                Ok(self.$index.nodes.object(self.validate(entry)?))
            }

            #[inline]
            fn insert_near(
                &mut self,
                hint: Option<$entry>,
                value: $value,
            ) -> Result<$entry, NotInserted<$value>> {
                self.put(Position::Sorted(hint), value)
            }

            fn append(&mut self, value: $value) -> Result<$entry, NotInserted<$value>> {
                self.put(Position::Last, value)
            }

            fn prepend(&mut self, value: $value) -> Result<$entry, NotInserted<$value>> {
                self.put(Position::First, value)
            }

            #[inline]
            fn remove(&mut self, entry: $entry) -> Result<$value, DictError> {
                let p = self.validate(entry)?;
                self.withdraw(p).ok_or(DictError::Stale)
            }

            fn rekeyed(&mut self, entry: $entry) -> Result<bool, DictError> {
                let p = self.validate(entry)?;
                self.$index.rekeyed(p)
            }

            #[inline]
            fn first(&self) -> Option<$entry> {
                self.$index.nodes.entry(self.$index.first())
            }

            #[inline]
            fn last(&self) -> Option<$entry> {
                self.$index.nodes.entry(self.$index.last())
            }

            #[inline]
            fn next(&self, entry: $entry) -> Result<Option<$entry>, DictError> {
                let p = self.validate(entry)?;
                Ok(self.$index.nodes.entry(self.$index.next(p)?))
            }

            #[inline]
            fn prev(&self, entry: $entry) -> Result<Option<$entry>, DictError> {
                let p = self.validate(entry)?;
                Ok(self.$index.nodes.entry(self.$index.prev(p)?))
            }

            #[inline]
            fn seek(
                &self,
                seek: Seek,
                key: &KeyOf<'_, Self>,
                hint: Option<$entry>,
            ) -> Result<Option<$entry>, DictError> {
                let hint = hint.map(|entry| self.validate(entry)).transpose()?;
                Ok(self.$index.nodes.entry(self.$index.seek(seek, key, hint)))
            }

            fn clear(&mut self) {
                self.withdraw_all();
            }

            fn check(&self) -> Result<(), Violation> {
                self.verify()
            }
        }
    };
}
pub(super) use dictionary;
