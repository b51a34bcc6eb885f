//! Vectors of what is not timed. `collect` is compiled for each iterator: it asks for the length,
//! takes the first item apart, and reserves memory in several ways. For reports of some dozens of
//! rows this was a twentieth of the code of the `tickwright` command.

/// Gathers the items of an iterator by one push each. No length is asked for.
pub trait Gather: Iterator + Sized {
    /// Returns the items in order, as `collect` does.
    fn gather(self) -> Vec<Self::Item> {
        let mut all = Vec::new();
        for item in self {
            all.push(item);
        }
        all
    }

    /// Returns the items in order, or the first error.
    ///
    /// # Errors
    /// The first error among the items.
    fn try_gather<T, E>(self) -> Result<Vec<T>, E>
    where
        Self: Iterator<Item = Result<T, E>>,
    {
        let mut all = Vec::new();
        for item in self {
            all.push(item?);
        }
        Ok(all)
    }
}

impl<I: Iterator> Gather for I {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_items_are_gathered_up_to_an_error() {
        assert_eq!((1..4).gather(), [1, 2, 3]);
        let halves = |number: u32| if number.is_multiple_of(2) { Ok(number / 2) } else { Err(number) };
        assert_eq!([2, 4].into_iter().map(halves).try_gather(), Ok(vec![1, 2]));
        assert_eq!([2, 3, 5].into_iter().map(halves).try_gather(), Err(3));
    }
}
