//! The conformance suite for ordered dictionaries: scripts of ops, a sorted vector that gives the
//! right results, and a machine that compares.
//!
//! Objects have an identity (their number) and a key. The suite reaches dictionaries through
//! [`Subject`], which names objects only by their numbers, so the suite can also test other crates'
//! dictionaries and dictionaries with a C interface. [`Ours`] is the adapter for types that
//! implement [`Dictionary`].

use core::cell::Cell;
use core::cmp::Ordering;
use core::fmt;
use core::ops::Bound;

use tickwright_collections::{
    BPlusDict, Balance, DictError, Dictionary, HookDict, KeyOrder, Link, Membership, PlainKey, RedBlack,
    Seek, SlabDict,
};

/// The number of objects that a script can name. Their numbers are 0 to `OBJECTS - 1`.
pub const OBJECTS: usize = 24;

/// All six searches.
pub const SEEKS: [Seek; 6] = [Seek::Equal, Seek::LastEqual, Seek::Geq, Seek::Gt, Seek::Leq, Seek::Lt];

/// An object that the suite inserts into dictionaries. Its key can change in place.
#[derive(Debug)]
pub struct Object<B: Balance = RedBlack> {
    /// The number that identifies the object.
    pub number: usize,
    /// The object's key.
    pub key: Cell<u64>,
    /// The object's link in a dictionary.
    pub link: Link<B>,
}

impl<B: Balance> Object<B> {
    /// Creates an object that is in no dictionary.
    #[must_use]
    pub fn new(number: usize, key: u64) -> Self {
        Self { number, key: Cell::new(key), link: Link::new() }
    }
}

/// The order of objects by their keys.
#[derive(Clone, Copy, Debug)]
pub struct ByKey;

impl<B: Balance> KeyOrder<Object<B>> for ByKey {
    type Key<'k> = u64;

    fn key<'k>(&'k self, object: &'k Object<B>) -> u64 {
        object.key.get()
    }

    fn compare(&self, a: &u64, b: &u64) -> Ordering {
        a.cmp(b)
    }
}

impl<B: Balance> PlainKey<Object<B>> for ByKey {
    type Plain = u64;

    fn plain(&self, key: &u64) -> u64 {
        *key
    }
}

impl<B: Balance> Membership<Object<B>, B> for ByKey {
    fn link<'t>(&self, object: &'t Object<B>) -> &'t Link<B> {
        &object.link
    }
}

/// A dictionary under test. Objects are named by their numbers. A hint is the number of an object
/// that is or was in the dictionary.
pub trait Subject {
    /// Whether the caller owns the objects, so that one object can be inserted twice.
    const OWN: bool;

    /// Inserts an object with this key.
    ///
    /// # Errors
    /// The error that the dictionary returns.
    fn insert(&mut self, number: usize, key: u64, hint: Option<usize>) -> Result<(), DictError>;

    /// Appends an object, or prepends it if `first` is true.
    ///
    /// # Errors
    /// The error that the dictionary returns.
    fn insert_at_end(&mut self, number: usize, key: u64, first: bool) -> Result<(), DictError>;

    /// Removes an object, and returns the number of the object that the dictionary gave back.
    ///
    /// # Errors
    /// The error that the dictionary returns.
    fn remove(&mut self, number: usize) -> Result<usize, DictError>;

    /// Changes an object's key and notifies the dictionary. Returns whether the object moved.
    ///
    /// # Errors
    /// The error that the dictionary returns.
    fn rekey(&mut self, number: usize, key: u64) -> Result<bool, DictError>;

    /// Searches for the object that `seek` defines relative to `key`. Returns the object's number,
    /// or `None` if no object matches.
    ///
    /// # Errors
    /// The error that the dictionary returns.
    fn seek(&self, seek: Seek, key: u64, hint: Option<usize>) -> Result<Option<usize>, DictError>;

    /// Returns the first object if `first` is true, otherwise the last object.
    fn end(&self, first: bool) -> Option<usize>;

    /// Returns the object after this object if `next` is true, otherwise the object before it.
    ///
    /// # Errors
    /// The error that the dictionary returns.
    fn beside(&self, number: usize, next: bool) -> Result<Option<usize>, DictError>;

    /// Walks a range from the front or, if `both` is true, alternately from both ends.
    fn range(&self, from: Bound<u64>, to: Bound<u64>, both: bool) -> Vec<usize>;

    /// Returns the number of objects in the dictionary.
    fn len(&self) -> usize;

    /// Returns whether the dictionary is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all objects.
    fn clear(&mut self);

    /// Verifies the structure.
    ///
    /// # Errors
    /// A description of what is broken.
    fn check(&self) -> Result<(), String>;
}

/// The adapter for this project's dictionaries.
pub struct Ours<D: Dictionary, M> {
    dictionary: D,
    /// Creates the object to insert for a number and a key.
    make: M,
    /// The last entry of each object, even if that entry is stale by now.
    entries: Vec<Option<D::Entry>>,
}

impl<D: Dictionary + fmt::Debug, M> fmt::Debug for Ours<D, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ours").field("dictionary", &self.dictionary).finish_non_exhaustive()
    }
}

impl<D: Dictionary, M> Ours<D, M> {
    /// Creates an adapter over an empty dictionary.
    pub fn new(dictionary: D, make: M) -> Self {
        Self { dictionary, make, entries: (0..OBJECTS).map(|_| None).collect() }
    }

    fn entry(&self, number: usize) -> Result<D::Entry, DictError> {
        self.entries.get(number).copied().flatten().ok_or(DictError::Stale)
    }

    fn hint(&self, hint: Option<usize>) -> Result<Option<D::Entry>, DictError> {
        hint.map(|number| self.entry(number)).transpose()
    }
}

impl<B: Balance, D, M> Ours<D, M>
where
    D: Dictionary<Object = Object<B>, Order = ByKey>,
{
    fn number(&self, entry: D::Entry) -> usize {
        self.dictionary.get(entry).map_or(usize::MAX, |object| object.number)
    }
}

impl<B: Balance, D, M> Subject for Ours<D, M>
where
    D: Dictionary<Object = Object<B>, Order = ByKey>,
    D::Value: AsObject<B>,
    M: FnMut(usize, u64) -> D::Value,
{
    const OWN: bool = <D::Value as AsObject<B>>::OWN;

    fn insert(&mut self, number: usize, key: u64, hint: Option<usize>) -> Result<(), DictError> {
        let hint = self.hint(hint)?;
        let entry = match hint {
            Some(_) => self.dictionary.insert_near(hint, (self.make)(number, key))?,
            None => self.dictionary.insert((self.make)(number, key))?,
        };
        self.entries[number] = Some(entry);
        Ok(())
    }

    fn insert_at_end(&mut self, number: usize, key: u64, first: bool) -> Result<(), DictError> {
        let value = (self.make)(number, key);
        let entry = if first { self.dictionary.prepend(value)? } else { self.dictionary.append(value)? };
        self.entries[number] = Some(entry);
        Ok(())
    }

    fn remove(&mut self, number: usize) -> Result<usize, DictError> {
        let entry = self.entry(number)?;
        self.dictionary.remove(entry).map(|value| value.object().number)
    }

    fn rekey(&mut self, number: usize, key: u64) -> Result<bool, DictError> {
        let entry = self.entry(number)?;
        self.dictionary.get(entry)?.key.set(key);
        self.dictionary.rekeyed(entry)
    }

    fn seek(&self, seek: Seek, key: u64, hint: Option<usize>) -> Result<Option<usize>, DictError> {
        let hint = self.hint(hint)?;
        let dictionary = &self.dictionary;
        let found = match (seek, hint) {
            (Seek::Equal, None) => dictionary.find(&key),
            (Seek::LastEqual, None) => dictionary.find_last(&key),
            (Seek::Geq, None) => dictionary.find_geq(&key),
            (Seek::Gt, None) => dictionary.find_gt(&key),
            (Seek::Leq, None) => dictionary.find_leq(&key),
            (Seek::Lt, None) => dictionary.find_lt(&key),
            (seek, hint) => dictionary.seek(seek, &key, hint)?,
        };
        Ok(found.map(|entry| self.number(entry)))
    }

    fn end(&self, first: bool) -> Option<usize> {
        let entry = if first { self.dictionary.first() } else { self.dictionary.last() };
        entry.map(|entry| self.number(entry))
    }

    fn beside(&self, number: usize, next: bool) -> Result<Option<usize>, DictError> {
        let entry = self.entry(number)?;
        let beside = if next { self.dictionary.next(entry)? } else { self.dictionary.prev(entry)? };
        Ok(beside.map(|entry| self.number(entry)))
    }

    fn range(&self, from: Bound<u64>, to: Bound<u64>, both: bool) -> Vec<usize> {
        let mut range = self.dictionary.range(from.as_ref(), to.as_ref());
        let (mut front, mut back) = (Vec::new(), Vec::new());
        while let Some(entry) = range.next() {
            front.push(self.number(entry));
            if both {
                back.extend(range.next_back().map(|entry| self.number(entry)));
            }
        }
        front.extend(back.into_iter().rev());
        front
    }

    fn len(&self) -> usize {
        self.dictionary.len()
    }

    fn clear(&mut self) {
        self.dictionary.clear();
    }

    fn check(&self) -> Result<(), String> {
        self.dictionary.check().map_err(|violation| violation.to_string())
    }
}

/// What goes into and comes out of a dictionary: an object, or a reference to one.
pub trait AsObject<B: Balance> {
    /// Whether the type is a reference.
    const OWN: bool;

    /// Returns the object.
    fn object(&self) -> &Object<B>;
}

impl<B: Balance> AsObject<B> for Object<B> {
    const OWN: bool = false;

    fn object(&self) -> &Object<B> {
        self
    }
}

impl<B: Balance> AsObject<B> for &Object<B> {
    const OWN: bool = true;

    fn object(&self) -> &Object<B> {
        self
    }
}

/// One step of a script. Numbers are below [`OBJECTS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Inserts an object; with a hint, searches from the hint on.
    Insert(usize, u64, Option<usize>),
    /// Appends an object.
    Append(usize, u64),
    /// Prepends an object.
    Prepend(usize, u64),
    /// Removes an object.
    Remove(usize),
    /// Gives an object another key.
    Rekey(usize, u64),
    /// Searches for a key in all six ways; with a hint, from the hint on.
    Seek(u64, Option<usize>),
    /// Walks the entries between two keys.
    Range(Bound<u64>, Bound<u64>),
    /// Removes the first object.
    RemoveFirst,
    /// Removes all objects.
    Clear,
}

/// The model that gives the right results: a vector that is sorted by key, with objects of equal
/// key in the order of arrival.
#[derive(Clone, Debug, Default)]
struct Model(Vec<(u64, usize)>);

impl Model {
    fn place(&self, number: usize) -> Option<usize> {
        self.0.iter().position(|&(_, other)| other == number)
    }

    fn lower(&self, key: u64) -> usize {
        self.0.partition_point(|&(other, _)| other < key)
    }

    fn upper(&self, key: u64) -> usize {
        self.0.partition_point(|&(other, _)| other <= key)
    }

    fn insert(&mut self, number: usize, key: u64) -> usize {
        let place = self.upper(key);
        self.0.insert(place, (key, number));
        place
    }

    fn at(&self, place: Option<usize>) -> Option<usize> {
        Some(self.0.get(place?)?.1)
    }

    fn seek(&self, seek: Seek, key: u64) -> Option<usize> {
        let (lower, upper) = (self.lower(key), self.upper(key));
        let some = upper > lower;
        match seek {
            Seek::Equal => self.at(some.then_some(lower)),
            Seek::LastEqual => self.at(upper.checked_sub(1).filter(|_| some)),
            Seek::Geq => self.at(Some(lower)),
            Seek::Gt => self.at(Some(upper)),
            Seek::Leq => self.at(upper.checked_sub(1)),
            Seek::Lt => self.at(lower.checked_sub(1)),
        }
    }

    fn range(&self, from: Bound<u64>, to: Bound<u64>) -> Vec<usize> {
        let after = |key| match from {
            Bound::Included(from) => key >= from,
            Bound::Excluded(from) => key > from,
            Bound::Unbounded => true,
        };
        let before = |key| match to {
            Bound::Included(to) => key <= to,
            Bound::Excluded(to) => key < to,
            Bound::Unbounded => true,
        };
        self.0.iter().filter(|&&(key, _)| after(key) && before(key)).map(|&(_, number)| number).collect()
    }
}

/// Runs a script and compares every result. After every op it also compares the order, the ends,
/// the length and the structure.
///
/// # Errors
/// If a result is wrong. The error has the op, the expected result and the actual result.
pub fn run<S: Subject>(subject: &mut S, script: &[Op]) -> Result<(), String> {
    let mut model = Model::default();
    let mut known = [false; OBJECTS];
    for (at, op) in script.iter().enumerate() {
        step(subject, &mut model, &mut known, op)
            .and_then(|()| compare(subject, &model))
            .map_err(|what| format!("op {at}, {op:?}: {what}"))?;
    }
    Ok(())
}

fn expect<T: PartialEq + fmt::Debug>(what: &str, answer: T, expected: T) -> Result<(), String> {
    if answer == expected { Ok(()) } else { Err(format!("{what}: {answer:?} instead of {expected:?}")) }
}

fn step<S: Subject>(
    subject: &mut S,
    model: &mut Model,
    known: &mut [bool; OBJECTS],
    op: &Op,
) -> Result<(), String> {
    // An object that was never inserted has no entry, so it cannot be a hint.
    let hint_of = |hint: Option<usize>| hint.filter(|&hint| known[hint]);
    match *op {
        Op::Insert(number, key, hint) => {
            let hint = hint_of(hint);
            let expected = match hint {
                _ if model.place(number).is_some() && !S::OWN => return Ok(()),
                Some(hint) if model.place(hint).is_none() => Err(DictError::Stale),
                _ if model.place(number).is_some() => Err(DictError::AlreadyLinked),
                _ => Ok(()),
            };
            // An object that is in the dictionary keeps its key while it is inserted again.
            let key = model.place(number).map_or(key, |place| model.0[place].0);
            expect("insert", subject.insert(number, key, hint), expected)?;
            if expected.is_ok() {
                model.insert(number, key);
                known[number] = true;
            }
        }
        Op::Append(number, key) | Op::Prepend(number, key) => {
            let first = matches!(op, Op::Prepend(..));
            if model.place(number).is_some() {
                return Ok(());
            }
            let fits = match (first, model.0.first(), model.0.last()) {
                (true, Some(&(least, _)), _) => key < least,
                (false, _, Some(&(greatest, _))) => key >= greatest,
                _ => true,
            };
            let expected = if fits { Ok(()) } else { Err(DictError::OutOfOrder) };
            expect("insert at an end", subject.insert_at_end(number, key, first), expected)?;
            if fits {
                model.insert(number, key);
                known[number] = true;
            }
        }
        Op::Remove(number) => {
            let place = model.place(number);
            let expected = place.map(|_| number).ok_or(DictError::Stale);
            expect("remove", subject.remove(number), expected)?;
            place.map(|place| model.0.remove(place));
        }
        Op::Rekey(number, key) => {
            let Some(place) = model.place(number) else {
                return expect("rekey", subject.rekey(number, key), Err(DictError::Stale));
            };
            model.0.remove(place);
            let moved = model.insert(number, key) != place;
            expect("rekey", subject.rekey(number, key), Ok(moved))?;
        }
        Op::Seek(key, hint) => {
            let hint = hint_of(hint);
            let stale = hint.is_some_and(|hint| model.place(hint).is_none());
            for seek in SEEKS {
                let expected = if stale { Err(DictError::Stale) } else { Ok(model.seek(seek, key)) };
                expect(&format!("{seek:?}"), subject.seek(seek, key, hint), expected)?;
            }
        }
        Op::Range(from, to) => {
            for both in [false, true] {
                expect("range", subject.range(from, to, both), model.range(from, to))?;
            }
        }
        Op::RemoveFirst => {
            if !model.0.is_empty() {
                let (_, number) = model.0.remove(0);
                expect("first", subject.end(true), Some(number))?;
                expect("remove", subject.remove(number), Ok(number))?;
            }
        }
        Op::Clear => {
            subject.clear();
            model.0.clear();
        }
    }
    Ok(())
}

fn compare<S: Subject>(subject: &S, model: &Model) -> Result<(), String> {
    subject.check()?;
    expect("length", subject.len(), model.0.len())?;
    let all: Vec<usize> = model.0.iter().map(|&(_, number)| number).collect();
    expect("order", subject.range(Bound::Unbounded, Bound::Unbounded, false), all.clone())?;
    expect("first", subject.end(true), all.first().copied())?;
    expect("last", subject.end(false), all.last().copied())?;
    for (place, &number) in all.iter().enumerate() {
        expect("next", subject.beside(number, true), Ok(all.get(place + 1).copied()))?;
        expect("prev", subject.beside(number, false), Ok(place.checked_sub(1).map(|place| all[place])))?;
    }
    Ok(())
}

/// Runs a script on a slab dictionary.
///
/// # Errors
/// The errors of [`run`].
pub fn run_slab<B: Balance>(script: &[Op]) -> Result<(), String> {
    let dictionary = SlabDict::<_, _, B>::balanced(ByKey);
    run(&mut Ours::new(dictionary, Object::<B>::new), script).map_err(|what| format!("slab: {what}"))
}

/// Runs a script on a B+ tree.
///
/// # Errors
/// The errors of [`run`].
pub fn run_bplus(script: &[Op]) -> Result<(), String> {
    let dictionary = BPlusDict::<_, Object>::new(ByKey);
    run(&mut Ours::new(dictionary, Object::new), script).map_err(|what| format!("B+ tree: {what}"))
}

/// Runs a script on a hook dictionary.
///
/// # Errors
/// The errors of [`run`].
pub fn run_hook<B: Balance>(script: &[Op]) -> Result<(), String> {
    let objects: Vec<Object<B>> = (0..OBJECTS).map(|number| Object::new(number, 0)).collect();
    let dictionary = HookDict::<_, _, B>::balanced(ByKey);
    let make = |number: usize, key| {
        objects[number].key.set(key);
        &objects[number]
    };
    run(&mut Ours::new(dictionary, make), script).map_err(|what| format!("hook: {what}"))
}
