//! Everything that a queue returns during a script, and a ledger of the ops that were run on it.
//!
//! Only the transcript decides the verdict on a clause. The ledger follows what the queue *did*,
//! not what it should have done, so a queue that breaks one clause is still judged fairly by the
//! other clauses.

use crate::clauses::quiet;
use crate::machine::{inserts, offered, pick, resolve};
use crate::oracle::Oracle;
use crate::script::{Op, When};
use crate::subject::{Advanced, Fired, Full, Make, Offers, Stale, Subject};

/// One request to the queue, or one result of it.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// The op with the number `at` begins. `now` is present if the op passes a `now`.
    Ask {
        at: usize,
        op: Op,
        told: Option<u64>,
        budget: Option<usize>,
    },
    /// Here and below, `said` is the expiry that a granular queue states for the timer after the
    /// op.
    Insert {
        value: u32,
        deadline: u64,
        answer: Result<bool, Full>,
        said: Option<u64>,
    },
    Remove {
        value: u32,
        answer: Result<(u32, bool), Stale>,
    },
    Reschedule {
        value: u32,
        deadline: u64,
        answer: Result<bool, Stale>,
        said: Option<u64>,
    },
    Deliver(Fired),
    /// A pop or an advance has ended. `all` is true if the op asked for every due timer.
    Over {
        all: bool,
        answer: Option<Advanced>,
        delivered: usize,
    },
    Rearm {
        got: Option<Fired>,
        asked: Option<u64>,
        delay: u64,
        said: Option<u64>,
    },
    Clear,
    View(View),
}

/// What the queue's read-only methods return; `None` for each method that the queue does not offer.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub now: u64,
    pub len: usize,
    pub peek: Option<Option<Fired>>,
    pub second: Option<Option<Fired>>,
    pub next_expiry: Option<Option<u64>>,
    pub next_wake: Option<Option<u64>>,
    pub check: Option<Result<(), String>>,
}

/// How a transcript ends.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// Every op was run, and the queue was drained.
    Drained,
    /// The transcript ends before a step that would take the queue too long.
    OutOfReach,
    /// The queue has panicked, either because of a dead key or in an ordinary op.
    Panicked { dead_key: bool, message: String },
}

#[derive(Clone, Debug)]
pub(crate) struct Transcript {
    pub title: String,
    pub entries: Vec<Entry>,
    pub end: End,
    /// The bound of a granular queue.
    pub lateness: Option<fn(u64) -> u64>,
    /// Whether the queue is allowed to move timers inside.
    pub moves: bool,
    /// For each value: the number of the entry with which the timer left for good.
    left: Vec<Option<usize>>,
}

/// How a script is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// The queue is not advanced by more ticks than this while timers are pending.
    pub reach: u64,
    /// Whether dead keys are used. If the queue lets a dead key act on another timer, nothing after
    /// that use can be judged.
    pub dead_keys: bool,
    /// Whether a `now` that is smaller than an earlier `now` is clamped before it is passed to the
    /// queue.
    pub clamped: bool,
}

/// Runs `script` and then drains the queue.
pub(crate) fn transcribe<M: Make>(title: &str, script: &[Op], manner: Manner) -> Transcript {
    let mut entries = Vec::new();
    let mut dead_key = false;
    let arena = M::arena(inserts(script));
    let result = quiet::catch(|| {
        let mut drive = Drive {
            subject: M::make(&arena, 0),
            keys: Vec::new(),
            ledger: Oracle::new(),
            offers: M::OFFERS,
            granular: M::LATENESS.is_some(),
            manner,
            entries: &mut entries,
            dead_key: &mut dead_key,
        };
        drive.script(script)
    });
    let end = match result {
        Ok(Some(())) => End::Drained,
        Ok(None) => End::OutOfReach,
        Err(message) => End::Panicked { dead_key, message },
    };
    let mut left = vec![None; inserts(script)];
    for (at, entry) in entries.iter().enumerate() {
        if let Entry::Deliver(fired) = entry
            && let Some(last) = left.get_mut(fired.value as usize)
        {
            *last = Some(at);
        }
    }
    Transcript { title: title.into(), entries, end, lateness: M::LATENESS, moves: M::MOVES, left }
}

/// A queue, its keys, and the ledger that names its timers.
struct Drive<'t, S: Subject> {
    subject: S,
    keys: Vec<Option<S::Key>>,
    ledger: Oracle,
    offers: Offers,
    granular: bool,
    manner: Manner,
    entries: &'t mut Vec<Entry>,
    dead_key: &'t mut bool,
}

impl<S: Subject> Drive<'_, S> {
    /// Runs the script. Returns `None` if a step was out of reach.
    fn script(&mut self, script: &[Op]) -> Option<()> {
        self.view();
        for (at, &op) in script.iter().enumerate() {
            self.step(at, op)?;
            self.view();
        }
        // The first step ends at the last pending timer, so that a queue with a small reach runs as
        // much of the script as possible.
        let last = self.ledger.in_order().last().map_or(0, |fired| fired.expiry);
        for (extra, when) in
            [When::At(last), When::After(1 << 19), When::At(u64::MAX)].into_iter().enumerate()
        {
            self.step(script.len() + extra, Op::Advance(when, usize::MAX))?;
            self.view();
        }
        Some(())
    }

    fn step(&mut self, at: usize, op: Op) -> Option<()> {
        let Some(op) = offered(op, self.offers) else { return Some(()) };
        let told = match op {
            Op::Pop(when) | Op::Advance(when, _) | Op::Tell(when) | Op::Rearm(when, _) => {
                Some(resolve(&self.ledger, when))
            }
            _ => None,
        };
        if told.is_some_and(|told| told.saturating_sub(self.ledger.now()) > self.manner.reach)
            && !self.ledger.is_empty()
        {
            return None;
        }
        let budget = match op {
            Op::Advance(_, budget) => Some(budget),
            _ => None,
        };
        self.entries.push(Entry::Ask { at, op, told, budget });
        self.ledger.tell(told.unwrap_or(0));
        let told = told.map(|told| if self.manner.clamped { told.max(self.ledger.now()) } else { told });
        match op {
            Op::Insert(when) => self.insert(resolve(&self.ledger, when)),
            Op::Remove(whom) => {
                if let Some((value, key)) = self.key(whom) {
                    let answer = self.subject.remove(key);
                    self.ledger.remove(value);
                    self.entries.push(Entry::Remove { value, answer });
                }
            }
            Op::Reschedule(whom, when) => {
                let deadline = resolve(&self.ledger, when);
                if let Some((value, key)) = self.key(whom) {
                    let answer = self.subject.reschedule(key, deadline);
                    let pending = self.ledger.reschedule(value, deadline);
                    let said = if pending { self.settle(value) } else { None };
                    self.entries.push(Entry::Reschedule { value, deadline, answer, said });
                }
            }
            Op::Pop(_) => {
                let got = self.subject.pop_expired(told?);
                self.deliver(got);
                self.over(got.is_none(), None, usize::from(got.is_some()));
            }
            Op::Advance(_, budget) => self.advance(told?, budget),
            Op::Tell(_) => self.subject.tell(told?),
            Op::Rearm(_, delay) => self.rearm(told?, delay),
            Op::Clear => {
                self.subject.clear();
                self.ledger.clear();
                self.entries.push(Entry::Clear);
            }
        }
        *self.dead_key = false;
        Some(())
    }

    fn key(&mut self, whom: crate::script::Whom) -> Option<(u32, S::Key)> {
        let value = pick(&self.ledger, self.keys.len(), whom)?;
        let key = (*self.keys.get(value as usize)?)?;
        let live = self.ledger.expiry(value).is_some();
        *self.dead_key = !live;
        (live || self.offers.stale_keys && self.manner.dead_keys).then_some((value, key))
    }

    fn insert(&mut self, deadline: u64) {
        let value = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        let answer = self.subject.insert(deadline, value);
        if answer.is_ok() {
            self.ledger.insert(deadline, value);
        }
        self.keys.push(answer.as_ref().ok().map(|&(key, _)| key));
        let said = if answer.is_ok() { self.settle(value) } else { None };
        self.entries.push(Entry::Insert { value, deadline, answer: answer.map(|(_, head)| head), said });
    }

    /// Enters into the ledger the expiry that a granular queue states for a timer that has just
    /// arrived.
    fn settle(&mut self, value: u32) -> Option<u64> {
        let key = (*self.keys.get(value as usize)?)?;
        let said = if self.granular { self.subject.expiry(key) } else { None }?;
        self.ledger.settle(value, said);
        Some(said)
    }

    fn deliver(&mut self, got: Option<Fired>) {
        if let Some(fired) = got {
            self.ledger.remove(fired.value);
            self.entries.push(Entry::Deliver(fired));
        }
    }

    fn over(&mut self, all: bool, answer: Option<Advanced>, delivered: usize) {
        self.entries.push(Entry::Over { all, answer, delivered });
    }

    fn advance(&mut self, now: u64, budget: usize) {
        let mut delivered = 0;
        let (entries, ledger) = (&mut *self.entries, &mut self.ledger);
        let answer = self.subject.advance(now, budget, &mut |fired| {
            delivered += 1;
            ledger.remove(fired.value);
            entries.push(Entry::Deliver(fired));
        });
        self.over(budget == usize::MAX, Some(answer), delivered);
    }

    fn rearm(&mut self, now: u64, delay: u64) {
        let mut asked = None;
        let got = self.subject.rearm_expired(now, &mut |expiry| {
            asked = Some(expiry);
            expiry.saturating_add(delay)
        });
        let said = got.and_then(|fired| {
            let pending = self.ledger.reschedule(fired.value, fired.expiry.saturating_add(delay));
            if pending { self.settle(fired.value) } else { None }
        });
        self.entries.push(Entry::Rearm { got, asked, delay, said });
    }

    fn view(&mut self) {
        let Self { subject, offers, .. } = self;
        let view = View {
            now: subject.now(),
            len: subject.len(),
            peek: offers.peek.then(|| subject.peek()),
            second: offers.second.then(|| subject.second()),
            next_expiry: offers.next_expiry.then(|| subject.next_expiry()),
            next_wake: offers.next_wake.then(|| subject.next_wake()),
            check: offers.check.then(|| subject.check()),
        };
        self.entries.push(Entry::View(view));
    }
}

impl Transcript {
    /// Returns the timers that left, each with the number of its entry. Two transcripts have equal
    /// event logs if these sequences are equal.
    pub(crate) fn departures(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.entries.iter().enumerate().filter_map(|(at, entry)| match entry {
            Entry::Deliver(fired) | Entry::Rearm { got: Some(fired), .. } => Some((at, fired.value)),
            _ => None,
        })
    }
}

/// The op that put a timer at its place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Insert,
    Reschedule,
    Rearm,
}

/// Why a timer is not pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    Delivered,
    Removed,
    Cleared,
    Refused,
}

/// What the ledger knows about a timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fact {
    /// The deadline of the last (re)insert.
    pub deadline: u64,
    /// `max(deadline, now)` at the last (re)insert.
    pub floor: u64,
    /// In an exact queue, the same as `floor`. In a granular queue, the expiry that the queue
    /// stated.
    pub expiry: u64,
    /// The latest expiry that the timer is allowed to have.
    pub latest: u64,
    pub origin: Origin,
    pub gone: Option<Gone>,
}

impl Fact {
    /// Returns whether the timer's deadline had already passed when the timer was armed.
    pub(crate) fn was_past(&self) -> bool {
        self.deadline < self.floor
    }
}

/// The ledger as it was before an entry of a transcript.
#[derive(Debug)]
pub(crate) struct Scene<'t> {
    pub transcript: &'t Transcript,
    /// The number of the entry.
    pub index: usize,
    pub ledger: Oracle,
    pub facts: Vec<Fact>,
    /// The last view.
    pub seen: View,
    /// How many timers have left since the last view.
    pub departed: usize,
    /// What the op since the last view reported about the head.
    pub reported: Option<bool>,
    /// The `now` and the budget that the op passed.
    pub told: Option<u64>,
    pub budget: Option<usize>,
    /// The value of `complete` that an advance returned, if one ran since the last view.
    pub complete: Option<bool>,
    op: Option<(usize, Op)>,
}

impl<'t> Scene<'t> {
    fn new(transcript: &'t Transcript) -> Self {
        Self {
            transcript,
            index: 0,
            ledger: Oracle::new(),
            facts: Vec::new(),
            seen: View::default(),
            departed: 0,
            reported: None,
            told: None,
            budget: None,
            complete: None,
            op: None,
        }
    }

    pub(crate) fn fact(&self, value: u32) -> Option<&Fact> {
        self.facts.get(value as usize)
    }

    /// Returns whether `value` leaves for good at a later entry than the current one.
    pub(crate) fn leaves_later(&self, value: u32) -> bool {
        self.transcript
            .left
            .get(value as usize)
            .is_some_and(|left| left.is_some_and(|left| left > self.index))
    }

    /// Returns the first pending timer that is overdue and that leaves at a later entry.
    pub(crate) fn overdue(&self) -> Option<(u32, &Fact)> {
        let now = self.ledger.now();
        let mut due = self.ledger.in_order().take_while(|fired| fired.expiry <= now);
        let late = due.find(|fired| self.leaves_later(fired.value))?;
        Some((late.value, self.fact(late.value)?))
    }

    /// Returns whether the queue is granular: it delivers in the order of expiries, and timers of
    /// equal expiry in any order.
    pub(crate) fn is_granular(&self) -> bool {
        self.transcript.lateness.is_some()
    }

    /// Returns whether `got` is `expected` or, in a granular queue, a timer with the same expiry as
    /// `expected`.
    pub(crate) fn stands_for(&self, got: Option<Fired>, expected: Option<Fired>) -> bool {
        let at = |fired: Option<Fired>| fired.map(|fired| (fired.value, fired.expiry));
        let equal = || got.zip(expected).filter(|(got, _)| self.ledger.expiry(got.value) == Some(got.expiry));
        at(got) == at(expected)
            || self.is_granular() && equal().is_some_and(|(got, expected)| got.expiry == expected.expiry)
    }

    /// Returns the facts about a timer that arrives now. `said` is the expiry that the queue
    /// stated.
    pub(crate) fn arrives(&self, deadline: u64, said: Option<u64>, origin: Origin) -> Fact {
        let now = self.ledger.now();
        let floor = deadline.max(now);
        let late = self.transcript.lateness.map_or(0, |lateness| lateness(floor - now));
        let (expiry, latest) = (said.unwrap_or(floor), floor.saturating_add(late));
        Fact { deadline, floor, expiry, latest, origin, gone: None }
    }

    /// Returns the first pending timer that should leave before `value` but leaves after it.
    pub(crate) fn overtaken_by(&self, value: u32) -> Option<(u32, &Fact)> {
        let expiry = self.ledger.expiry(value);
        let equal = |fired: &Fired| self.is_granular() && Some(fired.expiry) == expiry;
        let before = self.ledger.in_order().take_while(|fired| fired.value != value && !equal(fired));
        let first = before.into_iter().find(|fired| self.leaves_later(fired.value))?;
        Some((first.value, self.fact(first.value)?))
    }

    fn apply(&mut self, entry: &Entry) {
        match *entry {
            Entry::Ask { at, op, told, budget } => {
                self.op = Some((at, op));
                (self.told, self.budget) = (told, budget);
                // A `tell` reports nothing, because it changes no wake-up.
                self.reported = matches!(op, Op::Tell(_)).then_some(false);
                self.ledger.tell(told.unwrap_or(0));
            }
            Entry::Insert { value, deadline, answer, said } => {
                let gone = answer.is_err().then_some(Gone::Refused);
                let fact = Fact { gone, ..self.arrives(deadline, said, Origin::Insert) };
                self.facts.push(fact);
                if answer.is_ok() {
                    self.ledger.insert(deadline, value);
                    self.ledger.settle(value, fact.expiry);
                }
                self.reported = answer.ok();
            }
            Entry::Remove { value, answer } => {
                self.gone(value, Gone::Removed);
                self.reported = answer.ok().map(|(_, reported)| reported);
            }
            Entry::Reschedule { value, deadline, answer, said } => {
                self.moved(value, deadline, said, Origin::Reschedule);
                self.reported = answer.ok();
            }
            Entry::Deliver(fired) => {
                self.departed += 1;
                self.gone(fired.value, Gone::Delivered);
            }
            Entry::Over { answer, .. } => self.complete = answer.map(|answer| answer.complete),
            Entry::Rearm { got: Some(fired), delay, said, .. } => {
                self.moved(fired.value, fired.expiry.saturating_add(delay), said, Origin::Rearm);
            }
            Entry::Rearm { got: None, .. } => {}
            Entry::Clear => {
                let cleared: Vec<u32> = self.ledger.in_order().map(|fired| fired.value).collect();
                for value in cleared {
                    self.gone(value, Gone::Cleared);
                }
            }
            Entry::View(ref view) => {
                self.seen = view.clone();
                self.departed = 0;
                (self.reported, self.complete) = (None, None);
            }
        }
    }

    fn gone(&mut self, value: u32, gone: Gone) {
        if self.ledger.remove(value)
            && let Some(fact) = self.facts.get_mut(value as usize)
        {
            fact.gone = Some(gone);
        }
    }

    fn moved(&mut self, value: u32, deadline: u64, said: Option<u64>, origin: Origin) {
        let arrives = self.arrives(deadline, said, origin);
        if self.ledger.reschedule(value, deadline)
            && let Some(fact) = self.facts.get_mut(value as usize)
        {
            self.ledger.settle(value, arrives.expiry);
            *fact = arrives;
        }
    }
}

/// Judges an entry by the state of the ledger before this entry. Returns a witness if the entry
/// breaks the clause.
pub(crate) type Judge = fn(&Scene<'_>, &Entry) -> Option<String>;

/// One clause, judged over the transcripts, and the first witness against it.
#[derive(Debug)]
pub(crate) struct Case {
    pub by: Judge,
    /// Judges the whole transcript after its end, if no entry has broken the clause.
    pub at_the_end: fn(&Transcript) -> Option<String>,
    pub witness: Option<String>,
}

/// Judges the clauses that have no witness yet, in a single walk through the transcript.
pub(crate) fn judge(transcript: &Transcript, cases: &mut [Case]) {
    let mut scene = Scene::new(transcript);
    for (index, entry) in transcript.entries.iter().enumerate() {
        scene.index = index;
        for case in cases.iter_mut().filter(|case| case.witness.is_none()) {
            case.witness = (case.by)(&scene, entry).map(|witness| {
                let op = scene.op.map_or_else(String::new, |(at, op)| format!(", op {at} {op:?}"));
                let all = usize::MAX.to_string();
                format!("{}{op}: {witness}", transcript.title).replace(&all, "MAX")
            });
        }
        scene.apply(entry);
    }
    for case in cases.iter_mut().filter(|case| case.witness.is_none()) {
        case.witness = (case.at_the_end)(transcript);
    }
}

/// Returns the timers that are pending at the end.
pub(crate) fn remaining(transcript: &Transcript) -> Vec<(u32, Fact)> {
    let mut scene = Scene::new(transcript);
    for entry in &transcript.entries {
        scene.apply(entry);
    }
    scene.ledger.in_order().filter_map(|fired| Some((fired.value, *scene.fact(fired.value)?))).collect()
}
