//! Tests of behavior that only SQLite has.

use core::time::Duration;
use std::path::PathBuf;
use std::sync::Mutex;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

use super::{FAR, Store};
use crate::sqlite::{Sqlite, Within};
use crate::{Added, Due, Engine, Error, Settings, Timers, Writer};

/// A folder with a file, which is removed when the test ends.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tickwright-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("timers.db")
    }

    fn sql(&self) -> Connection {
        Connection::open(self.file()).unwrap()
    }
}

impl Store for Folder {
    type Engine = Sqlite;
    const MANY: i64 = 12_000;

    fn engine(&self) -> Sqlite {
        Sqlite::open(self.file()).unwrap()
    }

    fn count(&self, table: &str) -> i64 {
        self.sql().query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    fn end_lease(&self) {
        self.sql().execute("UPDATE tickwright_shard SET lease = 0", []).unwrap();
    }

    fn within(&self, commits: bool, work: &mut dyn FnMut(&mut Writer<&mut dyn Engine>)) {
        let mut connection = self.sql();
        let transaction = connection.transaction().unwrap();
        work(&mut Writer::new(&mut Within::new(&transaction, 0)));
        if commits { transaction.commit().unwrap() } else { transaction.rollback().unwrap() }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
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
    folder.alone().add("a", Due::At(1), b"").unwrap();
    let connection = Connection::open_with_flags(folder.file(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let denied = Sqlite::new(connection).map(drop);
    assert!(matches!(denied, Err(Error::Denied(_))), "{denied:?}");
}

#[test]
fn a_full_store_loses_nothing_and_goes_on() {
    let folder = Folder::new("full");
    let mut timers = folder.alone();
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
    let mut timers = folder.alone();
    timers.engine().connection().busy_timeout(Duration::ZERO).unwrap();
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

/// If another transaction writes, SQLite at once refuses a transaction that has read before it
/// writes.
#[test]
fn an_add_in_a_transaction_of_the_callers_waits_for_another_writer() {
    static OTHER: Mutex<Option<Connection>> = Mutex::new(None);
    let folder = Folder::new("writers");
    let mut engine = folder.engine();
    let other = folder.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    *OTHER.lock().unwrap() = Some(other);
    let ends = |_| OTHER.lock().unwrap().take().is_some_and(|other| other.execute_batch("COMMIT").is_ok());
    engine.connection().busy_handler(Some(ends)).unwrap();
    let transaction = engine.connection().transaction().unwrap();
    assert_eq!(Writer::new(Within::new(&transaction, 0)).add("a", FAR, b""), Ok(Added::Added));
    transaction.commit().unwrap();
    assert_eq!(folder.count("tickwright_timer"), 1);
}

#[test]
fn shards_do_not_see_each_other() {
    let folder = Folder::new("shards");
    let mut zero = folder.alone();
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
fn a_commit_waits_for_the_disk_and_a_transaction_for_the_lock() {
    let folder = Folder::new("disk");
    let (mut timers, mut other) = (folder.alone(), folder.alone());
    let mut pragma = |name| {
        let value = timers.engine().connection().pragma_query_value(None, name, |row| row.get::<_, Value>(0));
        value.unwrap()
    };
    assert_eq!(
        [pragma("synchronous"), pragma("journal_mode")],
        [Value::from(2), Value::from("wal".to_string())]
    );
    other.engine().connection().busy_timeout(Duration::ZERO).unwrap();
    let busy = timers.batch(|_| Ok(other.add("a", FAR, b"")));
    assert!(matches!(busy, Ok(Err(Error::Busy(_)))), "a batch has the lock before its first write: {busy:?}");
    assert_eq!(other.add("a", FAR, b""), Ok(Added::Added));
}
