//! Timers over SQLite. Nothing sleeps: what is due was due in 1970.
#![cfg(feature = "sqlite")]

use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::path::PathBuf;
use std::sync::mpsc;

use rusqlite::{Connection, OpenFlags};
use tickwright_durable::sqlite::{Sqlite, Within};
use tickwright_durable::{
    Added, Background, Cancelled, Due, Error, Firing, MAX_DUE, MAX_ID, MAX_PAYLOAD, Outcome, Settings,
    Timers, Writer,
};

const FAR: Due = Due::At(MAX_DUE);

/// A folder that is gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tickwright-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("timers.db")
    }

    fn timers(&self, settings: Settings) -> Timers<Sqlite> {
        Timers::new(Sqlite::open(self.file()).unwrap(), settings)
    }

    fn sql(&self) -> Connection {
        Connection::open(self.file()).unwrap()
    }

    fn count(&self, table: &str) -> i64 {
        self.sql().query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn memory() -> Timers<Sqlite> {
    Timers::new(Sqlite::new(Connection::open_in_memory().unwrap()).unwrap(), Settings::alone())
}

fn ids(firings: &[Firing]) -> Vec<&str> {
    firings.iter().map(|firing| &*firing.id).collect()
}

#[test]
fn adds_replaces_and_cancels_say_what_they_did() {
    let mut timers = memory();
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

#[test]
fn what_is_due_comes_in_order_and_is_answered() {
    let mut timers = memory();
    for (id, due) in [("c", 30), ("a", 10), ("b", 20)] {
        timers.add(id, Due::At(due), id.as_bytes()).unwrap();
    }
    timers.add("later", FAR, b"").unwrap();
    let firings = timers.take_due().unwrap();
    assert_eq!(ids(&firings), ["a", "b", "c"]);
    assert!(firings.iter().all(|firing| firing.attempt == 1 && firing.late > 0));
    assert_eq!(timers.cancel("c"), Ok(Cancelled::Running));
    assert!(timers.done(&firings[0]) && !timers.done(&firings[0]), "one answer a firing");
    assert!(timers.release(&firings[1]));
    assert_eq!(timers.again(&firings[2], Due::At(-1)), Err(Error::DueOutOfRange { due: -1 }));
    assert_eq!(timers.again(&firings[2], Due::At(40)), Ok(true), "it was cancelled: without effect");

    let firings = timers.take_due().unwrap();
    assert_eq!((ids(&firings), firings[0].attempt), (vec!["b"], 2));
    timers.again(&firings[0], Due::At(50)).unwrap();
    let firings = timers.take_due().unwrap();
    assert_eq!((ids(&firings), firings[0].attempt, firings[0].due), (vec!["b"], 1, 50));
    timers.done(&firings[0]);
    assert_eq!(timers.take_due().unwrap(), []);
    assert_eq!(timers.list(None, 9).unwrap().len(), 1);
    let metrics = timers.metrics();
    assert_eq!((metrics.firings, metrics.repeated, metrics.held, metrics.takeovers), (5, 1, 0, 1));
}

#[test]
fn a_replaced_firing_does_not_answer_for_its_successor() {
    let mut timers = memory();
    timers.add("a", Due::At(1), b"old").unwrap();
    let old = timers.take_due().unwrap();
    timers.replace("a", Due::At(2), b"new").unwrap();
    assert!(timers.done(&old[0]));
    let new = timers.take_due().unwrap();
    assert_eq!(&*new[0].payload, b"new");
    assert_eq!(timers.take_due().unwrap(), []);
    assert!(timers.get("a").unwrap().unwrap().running);
}

#[test]
fn a_process_that_ended_is_succeeded_at_once() {
    let folder = Folder::new("succeeded");
    let mut first = folder.timers(Settings::alone());
    first.add("a", Due::At(1), b"").unwrap();
    first.add("far", FAR, b"").unwrap();
    let before = first.take_due().unwrap();
    drop(first); // without an answer

    let mut second = folder.timers(Settings::alone());
    let after = second.take_due().unwrap();
    assert_eq!(ids(&after), ["a"]);
    assert!((after[0].fence, after[0].attempt) > (before[0].fence, before[0].attempt));
    assert!(!second.done(&before[0]), "a firing of another owner");
    assert!(second.release(&after[0]));
    second.turn_once();
    assert_eq!(second.cancel("a"), Ok(Cancelled::Running), "the first process may still run it");
    assert_eq!(second.cancel("far"), Ok(Cancelled::Removed));
    second.close().unwrap();
    assert_eq!((folder.count("tickwright_timer"), folder.count("tickwright_early")), (0, 0));
}

trait TurnOnce {
    fn turn_once(&mut self);
}

impl TurnOnce for Timers<Sqlite> {
    /// Writes the answers, and takes what is due again.
    fn turn_once(&mut self) {
        self.take_due().unwrap();
    }
}

#[test]
fn a_stale_owner_neither_claims_nor_answers() {
    let folder = Folder::new("stale");
    let mut old = folder.timers(Settings::named("old"));
    let mut new = folder.timers(Settings::named("new"));
    old.add("a", Due::At(1), b"").unwrap();
    let held = old.take_due().unwrap();
    old.add("b", Due::At(2), b"").unwrap();
    assert_eq!((new.take_due().unwrap(), new.is_owner()), (vec![], false), "the lease is not over");

    folder.sql().execute("UPDATE tickwright_shard SET lease = 0", []).unwrap();
    new.look_again();
    let taken = new.take_due().unwrap();
    assert_eq!((ids(&taken), taken[0].attempt), (vec!["a", "b"], 2));
    assert!(old.done(&held[0]), "it has not looked yet");
    assert_eq!((old.take_due().unwrap(), old.is_owner()), (vec![], false));
    assert_eq!(old.metrics().lost, 1);
    assert!(folder.count("tickwright_timer") == 2, "the answer had no effect");
    assert!(new.done(&taken[0]) && new.done(&taken[1]));
    new.close().unwrap();
    old.look_again();
    assert_eq!((old.take_due().unwrap(), old.is_owner()), (vec![], true), "the lease was given back");
}

#[test]
fn a_writer_in_another_transaction_is_seen() {
    let folder = Folder::new("writer");
    let mut owner = folder.timers(Settings::alone());
    assert_eq!(owner.take_due().unwrap(), []);
    assert_eq!(owner.poll_timeout(), None);

    let mut other = folder.sql();
    let back = other.transaction().unwrap();
    Writer::new(Within::new(&back, 0)).add("lost", Due::At(1), b"").unwrap();
    back.rollback().unwrap();
    let order = other.transaction().unwrap();
    order.execute_batch("CREATE TABLE orders (id)").unwrap();
    let mut writer = Writer::new(Within::new(&order, 0));
    assert_eq!(writer.add("a", Due::At(1), b""), Ok(Added::Added));
    writer.replace("b", Due::At(2), b"").unwrap();
    assert_eq!(writer.add("c", Due::At(3), b""), Ok(Added::Added));
    assert_eq!(writer.cancel("c"), Ok(Cancelled::Removed));
    assert_eq!((writer.next_due(), writer.get("c")), (Ok(Some(1)), Ok(None)));
    order.commit().unwrap();
    assert_eq!(folder.count("tickwright_early"), 2);

    owner.look_again();
    let firings = owner.take_due().unwrap();
    assert_eq!((ids(&firings), folder.count("tickwright_early")), (vec!["a", "b"], 0));
}

#[test]
fn a_batch_is_whole_or_not_at_all() {
    let mut timers = memory();
    let count = timers.batch(|batch| {
        for number in 0..12_000 {
            batch.add(&format!("timer {number}"), Due::At(number), b"")?;
        }
        Ok(12_000)
    });
    assert_eq!(count, Ok(12_000));
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
            assert_eq!(firing.due, taken);
            taken += 1;
            timers.done(&firing);
        }
    }
    assert_eq!((taken, timers.next_due()), (12_000, Ok(None)));
    assert_eq!(timers.metrics().late_us, u64::MAX, "each is some 56 years late");
}

#[test]
fn an_idle_owner_executes_nothing() {
    let folder = Folder::new("idle");
    let mut timers = folder.timers(Settings::alone());
    timers.add("far", FAR, b"").unwrap();
    timers.take_due().unwrap();
    let before = timers.metrics().statements;
    for _ in 0..1000 {
        assert!(!timers.poll_timeout().unwrap().is_zero());
        assert_eq!(timers.take_due().unwrap(), []);
    }
    assert_eq!(timers.metrics().statements, before);
}

#[test]
fn bad_arguments_are_named() {
    let mut timers = memory();
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

#[test]
fn stores_that_are_not_ours_are_refused_and_not_touched() {
    let folder = Folder::new("refused");
    let open = || Sqlite::open(folder.file()).map(drop);
    std::fs::write(folder.file(), "this is a letter, and no database of any kind. ".repeat(40)).unwrap();
    let before = std::fs::read(folder.file()).unwrap();
    assert!(matches!(open(), Err(Error::Foreign(_))));
    assert_eq!(std::fs::read(folder.file()).unwrap(), before);

    std::fs::remove_file(folder.file()).unwrap();
    folder.sql().execute_batch("CREATE TABLE tickwright_timer (mine)").unwrap();
    assert!(matches!(open(), Err(Error::Foreign(_))));
    folder.sql().execute_batch("DROP TABLE tickwright_timer; CREATE TABLE mine (x)").unwrap();
    open().expect("tables of the program's own are no obstacle");
    folder.sql().execute_batch("UPDATE tickwright_store SET version = 2").unwrap();
    assert_eq!(open(), Err(Error::NewerSchema { found: 2 }));
    folder.sql().execute_batch("UPDATE tickwright_store SET version = 0").unwrap();
    assert!(matches!(open(), Err(Error::Foreign(_))));
    folder.sql().execute_batch("DELETE FROM tickwright_store").unwrap();
    assert!(matches!(open(), Err(Error::Foreign(_))));
    assert!(matches!(Sqlite::open(folder.0.join("none/timers.db")).map(drop), Err(Error::Denied(_))));
}

#[test]
fn without_the_right_to_write_nothing_changes() {
    let folder = Folder::new("rights");
    folder.timers(Settings::alone()).add("a", Due::At(1), b"").unwrap();
    let connection = Connection::open_with_flags(folder.file(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let denied = Sqlite::new(connection).map(drop);
    assert!(matches!(denied, Err(Error::Denied(_))), "{denied:?}");
}

#[test]
fn a_full_store_loses_nothing_and_goes_on() {
    let folder = Folder::new("full");
    let mut timers = folder.timers(Settings::alone());
    timers.add("a", Due::At(1), b"").unwrap();
    let firings = timers.take_due().unwrap();
    let limit = |timers: &mut Timers<Sqlite>, pages: i64| {
        let pages = format!("PRAGMA max_page_count = {pages}");
        timers.engine().connection().query_row(&pages, [], |row| row.get::<_, i64>(0)).unwrap();
    };
    limit(&mut timers, 1);
    let payload = vec![7; 100_000];
    assert!(matches!(timers.add("b", FAR, &payload), Err(Error::Full(_))));
    assert_eq!(timers.get("b"), Ok(None));
    assert_eq!(timers.add("c", FAR, b""), Ok(Added::Added), "there is room for this one");
    assert!(timers.done(&firings[0]));
    limit(&mut timers, 1_000_000);
    timers.add("b", FAR, &payload).unwrap();
    timers.take_due().unwrap();
    assert_eq!(folder.count("tickwright_timer"), 2);
}

#[test]
fn an_answer_outlives_a_turn_that_fails() {
    let folder = Folder::new("fails");
    let mut timers = folder.timers(Settings::alone());
    timers.engine().connection().busy_timeout(core::time::Duration::ZERO).unwrap();
    timers.add("a", Due::At(1), b"").unwrap();
    let firings = timers.take_due().unwrap();
    let other = folder.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(timers.add("b", FAR, b""), Err(Error::Busy(_))));
    assert!(timers.done(&firings[0]));
    assert!(matches!(timers.take_due(), Err(Error::Busy(_))));
    assert!(!timers.poll_timeout().unwrap().is_zero(), "it waits before it tries again");
    assert_eq!(timers.take_due(), Ok(vec![]));
    other.execute_batch("ROLLBACK").unwrap();
    timers.close().unwrap();
    assert_eq!(folder.count("tickwright_timer"), 0);
}

/// Nothing would end its wait for the lease of another.
#[test]
fn a_participant_that_is_alone_takes_over_from_whoever_was_before() {
    let folder = Folder::new("alone");
    let mut other = folder.timers(Settings::named("worker 1"));
    assert_eq!(other.take_due(), Ok(vec![]));
    drop(other);
    let mut alone = folder.timers(Settings::alone());
    assert_eq!(alone.take_due(), Ok(vec![]));
    alone.add("a", Due::At(1), b"").unwrap();
    assert_eq!(alone.poll_timeout(), Some(core::time::Duration::ZERO));
    assert_eq!(alone.take_due().unwrap().len(), 1);
}

#[test]
fn shards_do_not_see_each_other() {
    let folder = Folder::new("shards");
    let mut zero = folder.timers(Settings::alone());
    let mut one = Timers::new(Sqlite::open(folder.file()).unwrap().shard(1).unwrap(), Settings::alone());
    zero.add("a", Due::At(1), b"zero").unwrap();
    one.add("a", Due::At(1), b"one").unwrap();
    assert_eq!(&*one.take_due().unwrap()[0].payload, b"one");
    assert_eq!(&*zero.take_due().unwrap()[0].payload, b"zero");
    let other = folder.sql();
    let mut writer = Writer::new(Within::new(&other, 2));
    assert_eq!(writer.add("a", FAR, b""), Err(Error::NoTransaction));
    other.execute_batch("BEGIN").unwrap();
    assert_eq!(writer.add("a", FAR, b""), Err(Error::NoShard(2)));
}

#[test]
fn a_thread_runs_what_is_due() {
    let folder = Folder::new("thread");
    let (sender, receiver) = mpsc::channel();
    let mut left = 3;
    let run = move |firing: &Firing| {
        sender.send((firing.id.to_string(), firing.due)).unwrap();
        left -= 1;
        if left > 0 { Outcome::Again(Due::At(firing.due + 1)) } else { Outcome::Done }
    };
    let background = Background::spawn(folder.timers(Settings::alone()), run).unwrap();
    background.add("a", Due::At(5), b"").unwrap();
    for due in 5..8 {
        assert_eq!(receiver.recv().unwrap(), ("a".to_string(), due));
    }
    background.stop().unwrap();
    assert_eq!(background.add("b", FAR, b""), Err(Error::Stopped));
    assert_eq!(folder.count("tickwright_timer"), 0);
}

#[test]
fn futures_take_what_is_due() {
    let folder = Folder::new("futures");
    let (background, mut firings) = Background::channel(folder.timers(Settings::alone())).unwrap();
    background.add("a", Due::At(5), b"").unwrap();
    let firing = block_on(&mut firings).unwrap();
    assert_eq!(&*firing.id, "a");
    assert!(background.done(&firing));
    background.stop().unwrap();
    assert_eq!(block_on(&mut firings), None);
    assert_eq!(folder.count("tickwright_timer"), 0);
}

/// Polls until it is ready, parked in between.
fn block_on(firings: &mut tickwright_durable::Firings<Sqlite>) -> Option<Firing> {
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
