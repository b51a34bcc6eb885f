//! PostgreSQL, where it is installed.

#[path = "../../tests/common/cluster.rs"]
mod cluster;

use core::cell::Cell;
use core::sync::atomic::{AtomicU8, Ordering};
use core::time::Duration;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use cluster::Cluster;
use postgres::{Client, IsolationLevel, NoTls};

use super::{FAR, Store, over_postgresql};
use crate::postgres::{Postgres, Within, listen};
use crate::statement::Statement;
use crate::{Added, Due, Engine, Error, Settings, Timers, Writer};

/// A shard that only one test uses.
#[derive(Clone)]
pub(super) struct Database {
    parameters: String,
    shard: u32,
}

impl Store for Database {
    type Engine = Postgres;
    const MANY: i64 = 2_000;

    fn engine(&self) -> Postgres {
        Postgres::open(&self.parameters).unwrap().shard(self.shard).unwrap()
    }

    fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table} WHERE shard = {}", self.shard);
        client(&self.parameters).query_one(&sql, &[]).unwrap().get(0)
    }

    fn end_lease(&self) {
        let sql = format!("UPDATE tickwright_shard SET lease = 0 WHERE shard = {}", self.shard);
        client(&self.parameters).execute(&sql, &[]).unwrap();
    }

    fn within(&self, commits: bool, work: &mut dyn FnMut(&mut Writer<&mut dyn Engine>)) {
        let mut client = client(&self.parameters);
        let mut transaction = client.transaction().unwrap();
        work(&mut Writer::new(&mut Within::new(&mut transaction, self.shard)));
        if commits { transaction.commit().unwrap() } else { transaction.rollback().unwrap() }
    }
}

/// One server for all tests.
#[test]
fn timers_over_postgresql() {
    let Some(cluster) = Cluster::start("tests", &[]) else { return };
    let (parameters, shard) = (cluster.parameters(), Cell::new(u32::MAX - 99));
    let store = || {
        shard.set(shard.get() + 1);
        Database { parameters: parameters.clone(), shard: shard.get() }
    };
    over_postgresql(store);
    hints_and_isolation(&store());
    writers_beside_an_owner(&store());
    the_guard(&store());
    a_lost_connection(&store());
    a_lost_commit(&store());
    no_rights(&parameters);
    other_stores(&parameters);
}

fn client(parameters: &str) -> Client {
    Client::connect(parameters, NoTls).unwrap()
}

fn hints_and_isolation(store: &Database) {
    let mut owner = store.alone();
    assert_eq!(owner.take_due().unwrap(), []);
    let (sender, hints) = mpsc::channel();
    let (connect, shard) = (store.parameters.clone(), store.shard);
    let listener = listen(move || Client::connect(&connect, NoTls), shard, move || sender.send(()).is_ok());
    hints.recv().expect("one at the connection");
    let add = |id| store.within(true, &mut |writer| assert!(writer.add(id, Due::At(1), b"").is_ok()));
    add("a");
    hints.recv().expect("one at the commit");
    let mut other = client(&store.parameters);
    let mut strict =
        other.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start().unwrap();
    let refused = Writer::new(Within::new(&mut strict, shard)).add("b", FAR, b"");
    assert!(matches!(refused, Err(Error::Engine(what)) if what.contains("READ COMMITTED")));
    drop(hints);
    add("c");
    listener.join().unwrap();
}

fn writers_beside_an_owner(store: &Database) {
    let (mut owner, shard) = (store.alone(), store.shard);
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let parameters = store.parameters.clone();
            thread::spawn(move || {
                let mut client = client(&parameters);
                for number in 0..100 {
                    let mut transaction = client.transaction().unwrap();
                    let id = format!("{writer}.{number}");
                    let due = Due::After(number % 7 * 1000);
                    Writer::new(Within::new(&mut transaction, shard)).add(&id, due, b"").unwrap();
                    transaction.commit().unwrap();
                }
            })
        })
        .collect();
    let mut taken = std::collections::BTreeSet::new();
    while taken.len() < 400 {
        let ended = writers.iter().all(thread::JoinHandle::is_finished);
        owner.look_again();
        for firing in owner.take_due().unwrap() {
            assert!(firing.late >= 0 && taken.insert(firing.id.clone()), "{firing:?}");
            owner.done(&firing);
        }
        assert!(!ended || owner.next_due().unwrap().is_some() || taken.len() == 400, "{} came", taken.len());
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    owner.close().unwrap();
    assert_eq!(store.count("tickwright_timer"), 0);
}

/// An owner waits for writers and writers wait for the owner, but writers do not wait for each
/// other.
fn the_guard(store: &Database) {
    let begun = |alone| {
        let mut engine = store.engine();
        engine.client().unwrap().batch_execute("SET lock_timeout = '20ms'").unwrap();
        engine.execute(&Statement::Begin).unwrap();
        engine.execute(&Statement::Guard { alone }).map(|_| engine)
    };
    let writers = (begun(false).unwrap(), begun(false).unwrap());
    assert!(matches!(begun(true), Err(Error::Busy(_))));
    drop(writers);
    let owner = begun(true).unwrap();
    assert!(matches!(begun(true), Err(Error::Busy(_))) && matches!(begun(false), Err(Error::Busy(_))));
    drop(owner);
}

fn a_lost_connection(store: &Database) {
    let (mut timers, parameters) = (store.alone(), &store.parameters);
    timers.add("a", Due::At(1), b"").unwrap();
    let firings = timers.take_due().unwrap();
    timers.done(&firings[0]);
    let own: i32 =
        timers.engine().client().unwrap().query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    client(parameters).execute("SELECT pg_terminate_backend($1, 5000)", &[&own]).unwrap();
    let lost = timers.add("b", Due::At(2), b"");
    assert!(matches!(lost, Err(Error::Disconnected(_)) | Ok(_)), "{lost:?}");
    timers.replace("b", Due::At(2), b"").unwrap();

    let mut engine = store.engine();
    let own: i32 = engine.client().unwrap().query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    engine.execute(&Statement::Begin).unwrap();
    engine.execute(&Statement::Guard { alone: true }).unwrap();
    client(parameters).execute("SELECT pg_terminate_backend($1, 5000)", &[&own]).unwrap();
    for _ in 0..2 {
        let half = engine.execute(&Statement::Look);
        assert!(matches!(half, Err(Error::Disconnected(_))), "not outside of its transaction: {half:?}");
    }
    engine.execute(&Statement::Rollback).unwrap();
    engine.execute(&Statement::Look).unwrap();
    timers.close().unwrap();
    assert_eq!(store.count("tickwright_timer"), 1, "the answer outlived the connection");
}

/// The connection ends at a commit, before it reaches the server or after that.
fn a_lost_commit(store: &Database) {
    let (proxy, cut) = proxy(&store.parameters);
    let mut timers =
        Timers::new(Postgres::open(&proxy).unwrap().shard(store.shard).unwrap(), Settings::alone());
    for (id, when) in [("before", BEFORE), ("after", AFTER)] {
        cut.store(when, Ordering::SeqCst);
        let lost = timers.add(id, FAR, b"");
        assert!(matches!(lost, Err(Error::UnknownOutcome(_))), "{lost:?}");
        cut.store(NEVER, Ordering::SeqCst);
        while when == AFTER && store.count("tickwright_timer") < 2 {
            thread::yield_now();
        }
        let is_lost = when == BEFORE;
        assert_eq!(timers.add(id, FAR, b""), Ok(if is_lost { Added::Added } else { Added::Exists }));
    }
    assert_eq!((timers.take_due(), timers.is_owner()), (Ok(vec![]), true));
    timers.add("due", Due::At(1), b"").unwrap();
    cut.store(AFTER, Ordering::SeqCst);
    assert!(matches!(timers.take_due(), Err(Error::UnknownOutcome(_))));
    cut.store(NEVER, Ordering::SeqCst);
    let end = Instant::now() + Duration::from_secs(20);
    let firing = loop {
        assert!(Instant::now() < end, "it is not claimed again");
        if let Some(firing) = timers.take_due().unwrap_or_default().pop() {
            break firing;
        }
    };
    assert_eq!((firing.fence, firing.attempt), (2, 2), "what it may have claimed is claimed again");
}

const NEVER: u8 = 0;
const BEFORE: u8 = 1;
const AFTER: u8 = 2;

/// Returns a socket whose connections lead to the server, until a commit.
fn proxy(parameters: &str) -> (String, Arc<AtomicU8>) {
    let folder = parameters.split(' ').next().unwrap().strip_prefix("host=").unwrap().to_string();
    let listener = UnixListener::bind(format!("{folder}/.s.PGSQL.1")).unwrap();
    let (parameters, cut) = (format!("{parameters} port=1"), Arc::new(AtomicU8::new(NEVER)));
    let when = cut.clone();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, when) = (client.unwrap(), when.clone());
            let mut server = UnixStream::connect(format!("{folder}/.s.PGSQL.5432")).unwrap();
            let (mut back, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut answers, &mut back));
            thread::spawn(move || {
                let mut bytes = [0; 65536];
                while let Ok(count @ 1..) = client.read(&mut bytes) {
                    let is_commit = bytes[..count].windows(7).any(|word| word == b"COMMIT\0");
                    let when = if is_commit { when.load(Ordering::SeqCst) } else { NEVER };
                    if when != NEVER {
                        let _ = client.shutdown(Shutdown::Both);
                    }
                    if when != BEFORE && server.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
            });
        }
    });
    (parameters, cut)
}

fn no_rights(parameters: &str) {
    client(parameters).batch_execute("CREATE ROLE reader LOGIN").unwrap();
    let reader = parameters.replace("user=postgres", "user=reader");
    assert!(matches!(Postgres::open(&reader), Err(Error::Denied(_))));
    let nobody = parameters.replace("user=postgres", "user=nobody");
    assert!(matches!(Postgres::open(&nobody), Err(Error::Denied(_))));
    assert!(matches!(Postgres::open("host=/nowhere user=x"), Err(Error::Disconnected(_))));
}

fn other_stores(parameters: &str) {
    let mut client = client(parameters);
    client.batch_execute("UPDATE tickwright_store SET version = 2").unwrap();
    assert_eq!(Postgres::open(parameters).map(drop), Err(Error::NewerSchema { found: 2 }));
    client.batch_execute("DROP TABLE tickwright_store").unwrap();
    assert!(matches!(Postgres::open(parameters), Err(Error::Foreign(_))));
}
