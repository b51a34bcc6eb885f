//! The clauses that can be judged from a transcript, one function each.

use crate::clauses::transcript::{End, Entry, Fact, Gone, Origin, Scene, Transcript, remaining};
use crate::subject::{Fired, Full, Stale};

pub(super) fn never_early(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    if let Some(witness) = out_of_bound(scene, entry) {
        return Some(witness);
    }
    let now = scene.ledger.now();
    if let Entry::Over { all: true, .. } = entry {
        let (value, fact) = scene.overdue().filter(|(_, fact)| scene.is_granular() && fact.latest <= now)?;
        return Some(format!(
            "timer {value} may leave at {} at the latest, but stayed at {now}",
            fact.latest
        ));
    }
    let (Entry::Deliver(fired) | Entry::Rearm { got: Some(fired), .. }) = entry else { return None };
    let fact = scene.fact(fired.value)?;
    // A granular queue has to keep the expiry that it stated.
    let earliest = if scene.is_granular() { fact.expiry } else { fact.deadline };
    (fact.gone.is_none() && earliest > now).then(|| match earliest == fact.deadline {
        true => format!("timer {} with deadline {earliest} left at {now}", fired.value),
        false => format!("timer {} that is due at {earliest} left at {now}", fired.value),
    })
}

/// Returns a witness if a granular queue gives an arriving timer an expiry before its deadline, or
/// beyond its bound.
fn out_of_bound(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    let (value, deadline, said) = match *entry {
        Entry::Insert { value, deadline, answer: Ok(_), said } => (value, deadline, said),
        Entry::Reschedule { value, deadline, answer: Ok(_), said } if is_live(scene, value) => {
            (value, deadline, said)
        }
        Entry::Rearm { got: Some(fired), delay, said, .. } if is_live(scene, fired.value) => {
            (fired.value, fired.expiry.saturating_add(delay), said)
        }
        _ => return None,
    };
    if !scene.is_granular() {
        return None;
    }
    let fact = scene.arrives(deadline, said, Origin::Insert);
    let now = scene.ledger.now();
    match said {
        None => Some(format!("it does not say when timer {value} for {deadline} is due")),
        Some(said) if said < fact.floor => {
            Some(format!("timer {value} for {deadline} is due at {said}, which is early"))
        }
        Some(said) if said > fact.latest => Some(format!(
            "timer {value} for {deadline} is due at {said}, by the bound it is by {}, armed at {now}",
            fact.latest
        )),
        Some(_) => None,
    }
}

pub(super) fn none_lost_none_twice(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    match *entry {
        Entry::Deliver(Fired { value, .. }) | Entry::Rearm { got: Some(Fired { value, .. }), .. } => {
            match scene.fact(value) {
                None => Some(format!("timer {value} was never inserted")),
                Some(Fact { gone: None, .. }) => None,
                Some(Fact { gone: Some(gone), .. }) => {
                    Some(format!("timer {value} left, but it was {gone:?} before").to_lowercase())
                }
            }
        }
        Entry::Remove { value, answer: Err(Stale) } if is_live(scene, value) => {
            Some(format!("timer {value} is pending, but removing it is refused"))
        }
        Entry::Remove { value, answer: Ok((got, _)) } if got != value && is_live(scene, value) => {
            Some(format!("removing timer {value} gave {got}"))
        }
        _ => None,
    }
}

/// Judges [`none_lost_none_twice`] at the end of a transcript.
pub(super) fn lost(transcript: &Transcript) -> Option<String> {
    let End::Drained = transcript.end else { return None };
    let &(value, fact) = remaining(transcript).first()?;
    Some(format!("{}: timer {value} with deadline {} never left", transcript.title, fact.deadline))
}

fn is_live(scene: &Scene<'_>, value: u32) -> bool {
    scene.fact(value).is_some_and(|fact| fact.gone.is_none())
}

/// Describes what is out of order in `entry`, if `ours` is true for one of the two timers
/// concerned.
fn disorder(scene: &Scene<'_>, entry: &Entry, ours: impl Fn(&Fact) -> bool) -> Option<String> {
    match *entry {
        Entry::Deliver(fired) | Entry::Rearm { got: Some(fired), .. } => {
            let fact = scene.fact(fired.value).filter(|fact| fact.gone.is_none())?;
            if let Some(deadline) = fired.deadline.filter(|&deadline| ours(fact) && deadline != fact.floor) {
                return Some(format!(
                    "timer {} was asked for {}, it says {deadline}",
                    fired.value, fact.floor
                ));
            }
            let within = !scene.is_granular() && (fact.deadline..=fact.expiry).contains(&fired.expiry);
            if ours(fact) && !within && fired.expiry != fact.expiry {
                return Some(format!(
                    "timer {} is due at {}, it says {}",
                    fired.value, fact.expiry, fired.expiry
                ));
            }
            let (first, earlier) =
                scene.overtaken_by(fired.value).filter(|(_, other)| ours(other) || ours(fact))?;
            Some(if earlier.expiry == fact.expiry {
                format!(
                    "timer {} left before {first}, which came earlier for the same tick {}",
                    fired.value, fact.expiry
                )
            } else {
                format!(
                    "timer {} for {} left before timer {first} for {}",
                    fired.value, fact.expiry, earlier.expiry
                )
            })
        }
        Entry::Over { all: true, .. } => {
            let (late, fact) = scene.overdue().filter(|(_, fact)| ours(fact))?;
            Some(format!("timer {late} was due at {}, but stayed at {}", fact.expiry, scene.ledger.now()))
        }
        _ => None,
    }
}

pub(super) fn order(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    let inserted = |fact: &Fact| fact.origin == Origin::Insert;
    disorder(scene, entry, inserted).or_else(|| match entry {
        // Only a granular queue itself knows the order of its timers of equal expiry, so the timer
        // that leaves must be the one that the queue showed.
        Entry::Deliver(fired) | Entry::Rearm { got: Some(fired), .. }
            if scene.is_granular() && scene.departed == 0 =>
        {
            let shown = scene.seen.peek??.value;
            (shown != fired.value).then(|| format!("peek showed timer {shown}, {} left", fired.value))
        }
        Entry::View(view) if scene.overdue().is_none() => {
            let (got, expected) = (view.peek?, scene.ledger.head());
            (!scene.stands_for(got, expected))
                .then(|| format!("peek shows {got:?}, {expected:?} leaves first"))
        }
        _ => None,
    })
}

pub(super) fn reschedule_is_remove_and_insert(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    match *entry {
        Entry::Reschedule { value, answer: Err(Stale), .. } if is_live(scene, value) => {
            Some(format!("timer {value} is pending, but rescheduling it is refused"))
        }
        Entry::Remove { value, answer: Err(Stale) }
            if is_live(scene, value) && scene.fact(value)?.origin == Origin::Reschedule =>
        {
            Some(format!("the key of timer {value} did not outlive a reschedule"))
        }
        Entry::Reschedule { .. } => out_of_bound(scene, entry),
        _ => disorder(scene, entry, |fact| fact.origin == Origin::Reschedule),
    }
}

pub(super) fn now_is_monotone(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    let Entry::View(view) = entry else { return None };
    let now = scene.ledger.now();
    (view.now != now).then(|| format!("now() is {}, the greatest was {now}", view.now))
}

/// Compares two runs of one script. In the second run, the queue never saw a `now` smaller than
/// before. Returns the first timer that leaves differently.
pub(super) fn clamping_matters(plain: &Transcript, clamped: &Transcript) -> Option<String> {
    let (mut left, mut right) = (plain.departures(), clamped.departures());
    loop {
        let (got, expected) = (left.next(), right.next());
        if got != expected {
            let timer = got.or(expected).map_or(0, |(_, value)| value);
            return Some(format!(
                "{}: a clock that steps back changes when timer {timer} leaves",
                plain.title
            ));
        }
        got?;
    }
}

pub(super) fn past_deadlines_are_legal(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    let now = scene.ledger.now();
    match *entry {
        Entry::Insert { value, deadline, answer: Err(Full(_)), .. } if deadline <= now => {
            Some(format!("timer {value}, past already, is refused"))
        }
        Entry::Over { all: true, .. } => {
            let (late, fact) = scene.overdue().filter(|(_, fact)| fact.was_past())?;
            let (deadline, then) = (fact.deadline, fact.expiry);
            Some(format!(
                "timer {late} for {deadline}, inserted at {then}, did not leave at the next pop, at {now}"
            ))
        }
        _ => None,
    }
}

pub(super) fn every_deadline_is_ordinary(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    match *entry {
        Entry::Insert { value, deadline, answer: Err(Full(_)), .. } => {
            Some(format!("timer {value} for {deadline} is refused, nothing bounds the queue"))
        }
        Entry::Over { all: true, .. } => disorder(scene, entry, |_| true),
        _ => never_early(scene, entry),
    }
}

/// Judges [`every_deadline_is_ordinary`] at the end of a transcript.
pub(super) fn panicked(transcript: &Transcript) -> Option<String> {
    match &transcript.end {
        End::Panicked { dead_key: false, message } => Some(panic_witness(transcript, message)),
        _ => None,
    }
}

fn panic_witness(transcript: &Transcript, message: &str) -> String {
    let last = transcript.entries.iter().rev().find_map(|entry| match entry {
        Entry::Ask { at, op, .. } => Some(format!(", op {at} {op:?}")),
        _ => None,
    });
    format!("{}{}: panics: {message}", transcript.title, last.unwrap_or_default())
}

pub(super) fn next_expiry_is_exact(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    let Entry::View(view) = entry else { return None };
    let (got, expected) = (view.next_expiry?, scene.ledger.head().map(|head| head.expiry));
    (got != expected).then(|| format!("next_expiry() is {got:?}, the head is due at {expected:?}"))
}

pub(super) fn next_wake_is_a_lower_bound(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    let Entry::View(view) = entry else { return None };
    let wake = view.next_wake?;
    let head = scene.ledger.head();
    let now = scene.ledger.now();
    match (wake, head) {
        (None, None) => None,
        (None, Some(head)) => Some(format!("no wake, but timer {} is due at {}", head.value, head.expiry)),
        (Some(wake), None) => Some(format!("a wake at {wake}, but nothing is pending")),
        (Some(wake), Some(head)) if wake > head.expiry.max(now) => {
            Some(format!("the wake {wake} is after timer {}, due at {}", head.value, head.expiry))
        }
        (Some(wake), Some(_)) if scene.complete == Some(true) && wake <= now && scene.overdue().is_none() => {
            Some(format!("the wake {wake} is not after {now}, though an advance was complete"))
        }
        _ => None,
    }
}

pub(super) fn head_change_is_reported(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    let Entry::View(view) = entry else { return None };
    let (before, after) = (scene.seen.next_wake?, view.next_wake?);
    (scene.reported == Some(false) && before != after)
        .then(|| format!("the wake went from {before:?} to {after:?} without a report"))
}

pub(super) fn stale_keys_stay_stale(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    match *entry {
        Entry::Remove { value, answer: Ok((got, _)) } if !is_live(scene, value) => {
            Some(format!("the dead key of timer {value} removed timer {got}"))
        }
        Entry::Reschedule { value, answer: Ok(_), .. } if !is_live(scene, value) => {
            Some(format!("the dead key of timer {value} rescheduled something"))
        }
        _ => None,
    }
}

/// Judges [`stale_keys_stay_stale`] at the end of a transcript.
pub(super) fn panicked_over_a_dead_key(transcript: &Transcript) -> Option<String> {
    match &transcript.end {
        End::Panicked { dead_key: true, message } => Some(panic_witness(transcript, message)),
        _ => None,
    }
}

pub(super) fn check_verifies_every_invariant(_: &Scene<'_>, entry: &Entry) -> Option<String> {
    let Entry::View(view) = entry else { return None };
    view.check.as_ref()?.as_ref().err().map(|violation| format!("check() says: {violation}"))
}

pub(super) fn budget_bounds_an_advance(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    let now = scene.ledger.now();
    match entry {
        Entry::Over { answer: Some(answer), delivered, .. } => {
            let budget = scene.budget.unwrap_or(usize::MAX);
            if *delivered > budget || answer.delivered.saturating_add(answer.moved) > budget {
                return Some(format!("{delivered} delivered, budget {budget}"));
            }
            if answer.delivered != *delivered {
                return Some(format!("{delivered} delivered, it says {}", answer.delivered));
            }
            if answer.moved > 0 && !scene.transcript.moves {
                return Some(format!("{} moved, but it has nothing to move", answer.moved));
            }
            let due = scene.overdue().is_some();
            // An advance that reports "not complete" must have left a due timer or used up its
            // budget.
            let used_up = answer.delivered.saturating_add(answer.moved) >= budget;
            let wrong = if answer.complete { due } else { !used_up && !scene.ledger.has_due() };
            wrong.then(|| {
                format!(
                    "at {now}, with {} due left, complete is {}",
                    if due { "some" } else { "none" },
                    answer.complete
                )
            })
        }
        Entry::Deliver(fired) if scene.budget.is_some_and(|budget| budget < usize::MAX) => {
            // If equal timers leave in another order than they arrived, the clause `order` judges
            // this.
            let fact = scene.fact(fired.value)?;
            scene.overtaken_by(fired.value).filter(|(_, other)| other.expiry < fact.expiry)?;
            disorder(scene, entry, |_| true)
        }
        Entry::View(view) if scene.complete == Some(false) => {
            let wake = view.next_wake?;
            (wake.is_none_or(|wake| wake > now))
                .then(|| format!("due timers are left at {now}, the wake is {wake:?}"))
        }
        _ => None,
    }
}

pub(super) fn second_is_the_next_after_the_head(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    match entry {
        Entry::Deliver(fired) if scene.is_granular() && scene.departed == 1 => {
            let shown = scene.seen.second??.value;
            (shown != fired.value).then(|| format!("second showed timer {shown}, {} left", fired.value))
        }
        Entry::View(view) => {
            let (got, expected) = (view.second?, scene.ledger.second());
            let both = got.is_some() && got == view.peek.flatten();
            (!scene.stands_for(got, expected) || both)
                .then(|| format!("second shows {got:?}, {expected:?} leaves after the head"))
        }
        _ => None,
    }
}

pub(super) fn pop_and_reinsert_is_pop_then_insert(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    match *entry {
        Entry::Rearm { got, asked, .. } => {
            let expected = scene.ledger.head().filter(|head| head.expiry <= scene.ledger.now());
            if !scene.stands_for(got, expected) {
                return Some(format!("it re-arms {got:?}, a pop would take {expected:?}"));
            }
            let due = expected.map(|head| head.expiry);
            if asked != due {
                return Some(format!("the closure got {asked:?}, the head was due at {due:?}"));
            }
            out_of_bound(scene, entry)
        }
        Entry::Remove { value, answer: Err(Stale) } | Entry::Reschedule { value, answer: Err(Stale), .. }
            if is_live(scene, value) && scene.fact(value)?.origin == Origin::Rearm =>
        {
            Some(format!("the key of timer {value} did not outlive a re-arm"))
        }
        Entry::Deliver(fired) if scene.fact(fired.value)?.origin == Origin::Rearm => {
            never_early(scene, entry).or_else(|| disorder(scene, entry, |fact| fact.origin == Origin::Rearm))
        }
        _ => disorder(scene, entry, |fact| fact.origin == Origin::Rearm),
    }
}

pub(super) fn len_counts_what_is_pending(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    let Entry::View(view) = entry else { return None };
    let expected = scene.ledger.len();
    (view.len != expected).then(|| format!("len() is {}, {expected} are pending", view.len))
}

pub(super) fn clear_empties(scene: &Scene<'_>, entry: &Entry) -> Option<String> {
    let cleared = |value| scene.fact(value).is_some_and(|fact| fact.gone == Some(Gone::Cleared));
    match *entry {
        Entry::Deliver(Fired { value, .. }) if cleared(value) => {
            Some(format!("timer {value} left after the clear"))
        }
        Entry::Remove { value, answer: Ok(_) } | Entry::Reschedule { value, answer: Ok(_), .. }
            if cleared(value) =>
        {
            Some(format!("the key of timer {value} outlived the clear"))
        }
        Entry::View(ref view) if matches!(last_act(scene), Some(Entry::Clear)) => {
            if view.len != 0 || view.peek.flatten().is_some() || view.next_wake.flatten().is_some() {
                return Some(format!("after a clear: len {}, head {:?}", view.len, view.peek.flatten()));
            }
            let now = scene.ledger.now();
            (view.now != now).then(|| format!("the clear moved now() from {now} to {}", view.now))
        }
        _ => None,
    }
}

fn last_act<'t>(scene: &Scene<'t>) -> Option<&'t Entry> {
    scene.transcript.entries.get(scene.index.checked_sub(1)?)
}
