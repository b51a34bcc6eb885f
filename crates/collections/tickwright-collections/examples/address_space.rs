//! The mappings of a process, ordered by address. The example finds the mapping that contains an
//! address, and a gap for a new mapping.
//!
//! ```text
//! cargo run -p tickwright-collections --example address_space
//! ```

use core::ops::Bound;

use tickwright_collections::{By, DictError, Dictionary, SlabDict};

struct Mapping {
    start: u64,
    len: u64,
    name: &'static str,
}

impl Mapping {
    fn end(&self) -> u64 {
        self.start + self.len
    }
}

fn main() -> Result<(), DictError> {
    let mut space: SlabDict<_, Mapping> = SlabDict::new(By(|mapping: &Mapping| mapping.start));
    for (start, len, name) in [(0x7000, 0x2000, "stack"), (0x1000, 0x1000, "text"), (0x2000, 0x800, "data")] {
        space.insert(Mapping { start, len, name })?;
    }

    // An address can belong only to the last mapping that begins at or before the address.
    let at = |address: u64| {
        let mapping = space.get(space.find_leq(&address)?).ok()?;
        (address < mapping.end()).then_some(mapping.name)
    };
    assert_eq!((at(0x1fff), at(0x2000), at(0x2800), at(0x0fff)), (Some("text"), Some("data"), None, None));

    // Finds the first gap of a page or more.
    let mut free = 0x1000;
    for entry in space.iter() {
        let mapping = space.get(entry)?;
        println!("{:#6x} .. {:#6x}  {}", mapping.start, mapping.end(), mapping.name);
        if mapping.start.saturating_sub(free) >= 0x1000 {
            break;
        }
        free = mapping.end();
    }
    println!("a page is free at {free:#x}");
    assert_eq!(free, 0x2800);

    // Removes all mappings in a range.
    let low: Vec<_> = space.range(Bound::Unbounded, Bound::Excluded(&0x7000)).collect();
    for entry in low {
        space.remove(entry)?;
    }
    assert_eq!((space.len(), at_end(&space)), (1, Some("stack")));
    Ok(())
}

fn at_end<D: Dictionary<Object = Mapping>>(space: &D) -> Option<&'static str> {
    space.get(space.last()?).ok().map(|mapping| mapping.name)
}
