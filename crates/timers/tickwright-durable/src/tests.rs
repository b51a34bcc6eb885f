//! One suite for both engines. No test sleeps, because every due timer was due in 1970.

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::mpsc;

use crate::statement::{Answer, Settled, Statement};
use crate::{
    Added, Background, Cancelled, Due, Engine, Error, Firing, MAX_DUE, MAX_ID, MAX_PAYLOAD, Outcome,
    Settings, Timers, Writer,
};

const FAR: Due = Due::At(MAX_DUE);

/// A store that only one test uses.
trait Store {
    type Engine: Engine + Send + 'static;
    /// The number of timers in tests with many timers.
    const MANY: i64;

    fn engine(&self) -> Self::Engine;
    /// Returns the number of rows of a table.
    fn count(&self, table: &str) -> i64;
    fn end_lease(&self);
    /// Runs `work` in a transaction of another connection. The transaction is committed if
    /// `commits` is true.
    fn within(&self, commits: bool, work: &mut dyn FnMut(&mut Writer<&mut dyn Engine>));

    fn timers(&self, settings: Settings) -> Timers<Self::Engine> {
        Timers::new(self.engine(), settings)
    }

    fn alone(&self) -> Timers<Self::Engine> {
        self.timers(Settings::alone())
    }
}

fn ids(firings: &[Firing]) -> Vec<&str> {
    firings.iter().map(|firing| &*firing.id).collect()
}

/// Runs each test over SQLite, and all tests over PostgreSQL, each test in its own shard.
macro_rules! suite {
    ($($test:ident)*) => {
        #[cfg(feature = "sqlite")]
        mod over_sqlite {
            $(#[test]
            fn $test() {
                super::$test(&super::sqlite::Folder::new(stringify!($test)));
            })*
        }

        #[cfg(feature = "postgres")]
        fn over_postgresql(store: impl Fn() -> postgres::Database) {
            $($test(&store());)*
        }
    };
}

suite! {
    adds_replaces_and_cancels_say_what_they_did
    what_is_due_comes_in_order_and_is_answered
    a_replaced_firing_does_not_answer_for_its_successor
    a_process_that_ended_is_succeeded_at_once
    a_stale_owner_neither_claims_nor_answers
    a_stale_owner_does_not_begin_what_it_claimed
    a_statement_changes_what_it_names_alone
    a_writer_in_another_transaction_is_seen
    a_batch_is_whole_or_not_at_all
    an_idle_owner_executes_nothing
    bad_arguments_are_named
    a_participant_that_is_alone_takes_over_from_whoever_was_before
    a_thread_runs_what_is_due
    futures_take_what_is_due
}

fn adds_replaces_and_cancels_say_what_they_did(store: &impl Store) {
    let mut timers = store.alone();
    assert_eq!(timers.add("a", FAR, b"1"), Ok(Added::Added));
    assert_eq!(timers.add("a", Due::At(5), b"2"), Ok(Added::Exists));
    let timer = timers.get("a").unwrap().unwrap();
    assert_eq!((timer.due, timer.running, timer.attempt, &*timer.payload), (MAX_DUE, false, 0, &b"1"[..]));
    timers.replace("a", Due::At(7), b"3").unwrap();
    assert_eq!(timers.next_due(), Ok(Some(7)));
    assert_eq!(timers.list(None, 9).unwrap().len(), 1);
    assert_eq!(timers.cancel("a"), Ok(Cancelled::Removed));
    assert_eq!(timers.cancel("a"), Ok(Cancelled::Gone));
    assert_eq!((timers.get("a"), timers.next_due()), (Ok(None), Ok(None)));
}

fn what_is_due_comes_in_order_and_is_answered(store: &impl Store) {
    let mut timers = store.alone();
    for (id, due) in [("c", 30), ("a", 10), ("\"b\\\u{1} é", 20)] {
        timers.add(id, Due::At(due), id.as_bytes()).unwrap();
    }
    timers.add("later", FAR, b"").unwrap();
    let firings = timers.take_due().unwrap();
    assert_eq!(ids(&firings), ["a", "\"b\\\u{1} é", "c"]);
    assert!(firings.iter().all(|firing| firing.attempt == 1 && firing.late > 0));
    assert!(firings.iter().all(|firing| *firing.payload == *firing.id.as_bytes()));
    assert_eq!(timers.cancel("c"), Ok(Cancelled::Running));
    assert!(timers.done(&firings[0]) && !timers.done(&firings[0]), "one answer a firing");
    assert!(timers.release(&firings[1]));
    assert_eq!(timers.again(&firings[2], Due::At(-1)), Err(Error::DueOutOfRange { due: -1 }));
    assert_eq!(timers.again(&firings[2], Due::At(40)), Ok(true), "it was cancelled: without effect");

    let firings = timers.take_due().unwrap();
    assert_eq!((firings.len(), &*firings[0].id, firings[0].attempt), (1, "\"b\\\u{1} é", 2));
    timers.again(&firings[0], Due::At(50)).unwrap();
    let firings = timers.take_due().unwrap();
    assert_eq!((firings.len(), firings[0].attempt, firings[0].due), (1, 1, 50));
    timers.done(&firings[0]);
    for id in ["x", "y"] {
        timers.add(id, Due::At(60), b"").unwrap();
    }
    let firings = timers.take_due().unwrap();
    timers.again(&firings[0], Due::After(i64::MAX)).unwrap_err();
    timers.again(&firings[0], Due::After(3_600_000_000)).unwrap();
    timers.again(&firings[1], Due::After(3_700_000_000)).unwrap();
    assert_eq!(timers.take_due().unwrap(), []);
    let list = timers.list(None, 9).unwrap();
    assert_eq!(list.iter().map(|row| &*row.id).collect::<Vec<_>>(), ["x", "y", "later"]);
    let (now, seqs) = (firings[0].due + firings[0].late, [list[0].seq, list[1].seq]);
    assert!((3_600_000_000..3_660_000_000).contains(&(list[0].due - now)), "{list:?} at {now}");
    assert!(seqs[0] > firings[1].seq && seqs[1] > firings[1].seq && seqs[0] != seqs[1], "{list:?}");
    let metrics = timers.metrics();
    assert_eq!((metrics.firings, metrics.repeated, metrics.held, metrics.takeovers), (7, 1, 0, 1));
}

fn a_replaced_firing_does_not_answer_for_its_successor(store: &impl Store) {
    let mut timers = store.alone();
    timers.add("a", Due::At(1), b"old").unwrap();
    let old = timers.take_due().unwrap();
    timers.replace("a", Due::At(2), b"new").unwrap();
    assert!(timers.done(&old[0]));
    let new = timers.take_due().unwrap();
    assert_eq!(&*new[0].payload, b"new");
    assert_eq!(timers.take_due().unwrap(), []);
    assert!(timers.get("a").unwrap().unwrap().running);
}

fn a_process_that_ended_is_succeeded_at_once(store: &impl Store) {
    let mut first = store.alone();
    first.add("a", Due::At(1), b"").unwrap();
    first.add("far", FAR, b"").unwrap();
    let before = first.take_due().unwrap();
    drop(first); // without an answer

    let mut second = store.alone();
    let after = second.take_due().unwrap();
    assert_eq!(ids(&after), ["a"]);
    assert!((after[0].fence, after[0].attempt) > (before[0].fence, before[0].attempt));
    assert!(!second.done(&before[0]), "a firing of another owner");
    assert!(second.release(&after[0]));
    second.take_due().unwrap();
    assert_eq!(second.cancel("a"), Ok(Cancelled::Running), "the first process may still run it");
    assert_eq!(second.cancel("far"), Ok(Cancelled::Removed));
    second.close().unwrap();
    assert_eq!((store.count("tickwright_timer"), store.count("tickwright_early")), (0, 0));
}

fn a_stale_owner_neither_claims_nor_answers(store: &impl Store) {
    let mut old = store.timers(Settings::named("old"));
    let mut new = store.timers(Settings::named("new"));
    old.add("a", Due::At(1), b"").unwrap();
    let held = old.take_due().unwrap();
    old.add("b", Due::At(2), b"").unwrap();
    assert_eq!((new.take_due().unwrap(), new.is_owner()), (vec![], false), "the lease is not over");

    store.end_lease();
    new.look_again();
    let taken = new.take_due().unwrap();
    assert_eq!((ids(&taken), taken[0].attempt), (vec!["a", "b"], 2));
    assert!((taken[0].fence, taken[0].attempt) > (held[0].fence, held[0].attempt));
    assert!(old.done(&held[0]), "it has not looked yet");
    assert_eq!((old.take_due().unwrap(), old.is_owner()), (vec![], false));
    assert_eq!(old.metrics().lost, 1);
    assert_eq!(store.count("tickwright_timer"), 2, "the answer had no effect");
    assert_eq!(new.cancel("b"), Ok(Cancelled::Running));
    assert!(new.done(&taken[0]) && new.done(&taken[1]));
    new.close().unwrap();
    old.look_again();
    assert_eq!((old.take_due().unwrap(), old.is_owner()), (vec![], true), "the lease was given back");
}

fn a_stale_owner_does_not_begin_what_it_claimed(store: &impl Store) {
    // With this margin, a turn follows each firing.
    let mut old = store.timers(Settings::named("old").margin(Duration::from_micros(1)));
    old.add("a", Due::At(1), b"").unwrap();
    old.add("b", Due::At(2), b"").unwrap();
    let ((begins, begun), (go, gone)) = (mpsc::channel(), mpsc::channel::<()>());
    let background = Background::spawn(old, move |firing| {
        begins.send(firing.id.to_string()).unwrap();
        let _ = gone.recv();
        Outcome::Done
    });
    let background = background.unwrap();
    assert_eq!(begun.recv().unwrap(), "a");
    store.end_lease();
    let mut new = store.timers(Settings::named("new"));
    assert_eq!(new.take_due().unwrap().len(), 2);
    drop(go);
    while background.with(|timers| Ok(timers.is_owner())).unwrap() {
        std::thread::yield_now();
    }
    background.stop().unwrap();
    assert!(begun.try_recv().is_err(), "`new` has `b`");
}

/// The statements also check the conditions that a turn checks before it executes them.
fn a_statement_changes_what_it_names_alone(store: &impl Store) {
    store.alone().add("a", Due::At(10), b"").unwrap();
    let mut engine = store.engine();
    let mut waits = Writer::new(&mut engine).list(None, 1).unwrap().remove(0);
    let mut claim = |row: &crate::Waiting, now| {
        let statement = Statement::Claim { epoch: 7, now, rows: vec![row.clone()] };
        match transact(&mut engine, &statement) {
            Answer::Claimed(claimed) => claimed,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(claim(&waits, 9), [], "it is not due");
    waits.seq += 1;
    assert_eq!(claim(&waits, 10), [], "it was replaced");
    waits.seq -= 1;
    let Firing { id, due, seq, attempt, .. } = claim(&waits, 10).remove(0);
    assert_eq!(claim(&waits, 10), [], "it is running");

    for outcome in [Outcome::Done, Outcome::Release, Outcome::Again(FAR)] {
        let settled = Settled { id: id.clone(), due, seq, attempt, outcome };
        for (epoch, seq, attempt) in [(6, seq, 1), (7, seq + 1, 1), (7, seq, 2)] {
            let answers = vec![Settled { seq, attempt, ..settled.clone() }];
            transact(&mut engine, &Statement::Settle { epoch, now: 10, answers });
            let timer = Writer::new(&mut engine).get("a").unwrap();
            assert!(timer.is_some_and(|timer| timer.running), "{epoch} {seq} {attempt} {outcome:?}");
        }
    }
    let answers = vec![Settled { id, due, seq, attempt, outcome: Outcome::Done }];
    transact(&mut engine, &Statement::Settle { epoch: 7, now: 10, answers });
    assert_eq!(store.count("tickwright_timer"), 0);
}

fn transact(engine: &mut impl Engine, statement: &Statement) -> Answer {
    engine.execute(&Statement::Begin).unwrap();
    engine.execute(&Statement::Guard { alone: true }).unwrap();
    let answer = engine.execute(statement).unwrap();
    engine.execute(&Statement::Commit).unwrap();
    answer
}

fn a_writer_in_another_transaction_is_seen(store: &impl Store) {
    let mut owner = store.alone();
    assert_eq!(owner.take_due().unwrap(), []);
    assert_eq!(owner.poll_timeout(), None);
    store.within(false, &mut |writer| {
        writer.add("lost", Due::At(1), b"").unwrap();
    });
    store.within(true, &mut |writer| {
        assert_eq!(writer.add("a", Due::At(1), b""), Ok(Added::Added));
        writer.replace("b", Due::At(2), b"").unwrap();
        assert_eq!(writer.add("c", Due::At(3), b""), Ok(Added::Added));
        assert_eq!(writer.cancel("c"), Ok(Cancelled::Removed));
        assert_eq!(writer.cancel("c"), Ok(Cancelled::Gone));
        assert_eq!((writer.next_due(), writer.get("c")), (Ok(Some(1)), Ok(None)));
    });
    assert_eq!(store.count("tickwright_early"), 2);
    owner.look_again();
    let firings = owner.take_due().unwrap();
    assert_eq!((ids(&firings), store.count("tickwright_early")), (vec!["a", "b"], 0));
}

fn a_batch_is_whole_or_not_at_all<S: Store>(store: &S) {
    let mut timers = store.alone();
    let count = timers.batch(|batch| {
        for number in 0..S::MANY {
            batch.add(&format!("timer {number}"), Due::At(number / 3), b"")?;
        }
        Ok(S::MANY)
    });
    assert_eq!(count, Ok(S::MANY));
    let ignored = timers.batch(|batch| {
        batch.add("good", FAR, b"")?;
        let _ = batch.add("", FAR, b"");
        Ok(())
    });
    assert_eq!((ignored, timers.get("good")), (Err(Error::IdLength { bytes: 0 }), Ok(None)));
    let panics = core::panic::AssertUnwindSafe(|| {
        timers.batch(|batch| -> Result<(), Error> {
            batch.add("good", FAR, b"")?;
            std::panic::resume_unwind(Box::new("on purpose"))
        })
    });
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(timers.get("good"), Ok(None));
    let mut taken = 0;
    loop {
        let firings = timers.take_due().unwrap();
        if firings.is_empty() {
            break;
        }
        assert!(firings.len() <= 256);
        for firing in firings {
            assert_eq!(firing.due, taken / 3);
            taken += 1;
            timers.done(&firing);
        }
    }
    assert_eq!((taken, timers.next_due()), (S::MANY, Ok(None)));
    assert!(timers.metrics().late_us > 1 << 60, "each is some 56 years late");
}

fn an_idle_owner_executes_nothing(store: &impl Store) {
    let mut timers = store.alone();
    timers.add("far", FAR, b"").unwrap();
    timers.take_due().unwrap();
    let before = timers.metrics().statements;
    for _ in 0..1000 {
        assert!(!timers.poll_timeout().unwrap().is_zero());
        assert_eq!(timers.take_due().unwrap(), []);
    }
    assert_eq!(timers.metrics().statements, before);
}

fn bad_arguments_are_named(store: &impl Store) {
    let mut timers = store.alone();
    let long = "x".repeat(MAX_ID + 1);
    assert_eq!(timers.add("", FAR, b""), Err(Error::IdLength { bytes: 0 }));
    assert_eq!(timers.add(&long, FAR, b""), Err(Error::IdLength { bytes: 256 }));
    assert_eq!(timers.add("a\0b", FAR, b""), Err(Error::IdZero));
    let payload = vec![0; MAX_PAYLOAD + 1];
    let bytes = payload.len();
    assert_eq!(timers.add("a", FAR, &payload), Err(Error::PayloadLength { bytes }));
    for due in [Due::At(-1), Due::At(MAX_DUE + 1), Due::After(-1), Due::After(MAX_DUE), Due::After(i64::MAX)]
    {
        assert!(matches!(timers.add("a", due, b""), Err(Error::DueOutOfRange { .. })), "{due:?}");
    }
    assert_eq!(timers.next_due(), Ok(None));
    timers.add(&long[1..], FAR, &payload[1..]).unwrap();
    let text = Error::NewerSchema { found: 9 }.to_string();
    assert!(text.contains('9') && text.contains("newer version"), "{text}");
}

/// A process that is the only one takes over at once, because nothing would end its wait for
/// another owner's lease.
fn a_participant_that_is_alone_takes_over_from_whoever_was_before(store: &impl Store) {
    let mut other = store.timers(Settings::named("worker 1"));
    assert_eq!(other.take_due(), Ok(vec![]));
    drop(other);
    let mut alone = store.alone();
    assert_eq!(alone.take_due(), Ok(vec![]));
    alone.add("a", Due::At(1), b"").unwrap();
    assert_eq!(alone.poll_timeout(), Some(Duration::ZERO));
    assert_eq!(alone.take_due().unwrap().len(), 1);
}

fn a_thread_runs_what_is_due(store: &impl Store) {
    let (sender, receiver) = mpsc::channel();
    let mut left = 3;
    let run = move |firing: &Firing| {
        sender.send((firing.id.to_string(), firing.due)).unwrap();
        left -= 1;
        if left > 0 { Outcome::Again(Due::At(firing.due + 1)) } else { Outcome::Done }
    };
    let background = Background::spawn(store.alone(), run).unwrap();
    background.with(|timers| timers.add("a", Due::At(5), b"")).unwrap();
    for due in 5..8 {
        assert_eq!(receiver.recv().unwrap(), ("a".to_string(), due));
    }
    background.stop().unwrap();
    assert_eq!(background.with(|timers| timers.add("b", FAR, b"")), Err(Error::Stopped));
    assert_eq!(store.count("tickwright_timer"), 0);
}

fn futures_take_what_is_due(store: &impl Store) {
    let (background, mut firings) = Background::channel(store.alone()).unwrap();
    background.with(|timers| timers.add("a", Due::At(5), b"")).unwrap();
    let firing = block_on(&mut firings).unwrap();
    assert_eq!(&*firing.id, "a");
    assert_eq!(background.with(|timers| Ok(timers.done(&firing))), Ok(true));
    background.stop().unwrap();
    assert_eq!(block_on(&mut firings), None);
    assert_eq!(store.count("tickwright_timer"), 0);
}

/// Polls the next firing until it is ready. The thread parks between polls.
fn block_on<E: Engine>(firings: &mut crate::Firings<E>) -> Option<Firing> {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
    let mut next = pin!(firings.next());
    loop {
        match next.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(firing) => return firing,
            Poll::Pending => std::thread::park(),
        }
    }
}
