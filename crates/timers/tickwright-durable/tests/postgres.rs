//! Timers over PostgreSQL, where it is installed.
#![cfg(feature = "postgres")]

#[path = "common/cluster.rs"]
mod cluster;

use core::time::Duration;
use std::sync::mpsc;
use std::thread;

use cluster::Cluster;
use postgres::{Client, IsolationLevel, NoTls};
use tickwright_durable::postgres::{Postgres, Within, listen};
use tickwright_durable::{
    Added, Cancelled, Due, Engine, Error, Firing, MAX_DUE, Settings, Statement, Timers, Writer,
};

const FAR: Due = Due::At(MAX_DUE);

fn ids(firings: &[Firing]) -> Vec<&str> {
    firings.iter().map(|firing| &*firing.id).collect()
}

/// One server for all: each test has a shard of its own.
#[test]
fn timers_over_postgresql() {
    let Some(cluster) = Cluster::start("tests") else { return };
    let parameters = cluster.parameters();
    answers(&parameters, 1);
    a_stale_owner(&parameters, 2);
    a_transaction_of_the_callers(&parameters, 3);
    writers_beside_an_owner(&parameters, 4);
    a_lost_connection(&parameters, 5);
    no_rights(&parameters);
    other_stores(&parameters);
}

fn timers(parameters: &str, shard: u32, settings: Settings) -> Timers<Postgres> {
    Timers::new(Postgres::open(parameters).unwrap().shard(shard).unwrap(), settings)
}

fn client(parameters: &str) -> Client {
    Client::connect(parameters, NoTls).unwrap()
}

fn count(parameters: &str, table: &str, shard: i64) -> i64 {
    let sql = format!("SELECT count(*) FROM {table} WHERE shard = $1");
    client(parameters).query_one(&sql, &[&shard]).unwrap().get(0)
}

fn answers(parameters: &str, shard: u32) {
    let mut timers = timers(parameters, shard, Settings::alone());
    for (id, due) in [("c", 30), ("a", 10), ("b", 20)] {
        assert_eq!(timers.add(id, Due::At(due), id.as_bytes()), Ok(Added::Added));
    }
    timers.add("far", FAR, b"1").unwrap();
    assert_eq!(timers.add("far", FAR, b"2"), Ok(Added::Exists));
    assert!(matches!(timers.add("x", Due::After(MAX_DUE), b""), Err(Error::DueOutOfRange { .. })));
    assert_eq!(&*timers.get("far").unwrap().unwrap().payload, b"1");
    let firings = timers.take_due().unwrap();
    assert_eq!(ids(&firings), ["a", "b", "c"]);
    assert_eq!(timers.cancel("c"), Ok(Cancelled::Running));
    assert!(timers.done(&firings[0]) && timers.release(&firings[1]));
    timers.again(&firings[2], Due::At(40)).unwrap();
    let firings = timers.take_due().unwrap();
    assert_eq!((ids(&firings), firings[0].attempt), (vec!["b"], 2));
    timers.again(&firings[0], Due::At(50)).unwrap();
    let firings = timers.take_due().unwrap();
    assert_eq!((ids(&firings), firings[0].attempt, firings[0].due), (vec!["b"], 1, 50));
    timers.again(&firings[0], Due::After(i64::MAX)).unwrap_err();
    timers.again(&firings[0], Due::After(3_600_000_000)).unwrap();
    assert_eq!(timers.take_due().unwrap(), []);
    let waits = timers.poll_timeout().unwrap();
    assert!(waits > Duration::from_secs(3590) && waits <= Duration::from_secs(3600), "{waits:?}");
    timers.replace("b", Due::At(60), b"new").unwrap();
    let firings = timers.take_due().unwrap();
    assert_eq!((ids(&firings), &*firings[0].payload), (vec!["b"], &b"new"[..]));
    timers.done(&firings[0]);
    assert_eq!(timers.cancel("far"), Ok(Cancelled::Removed));
    timers.close().unwrap();
    assert_eq!(count(parameters, "tickwright_timer", 1), 0);
}

fn a_stale_owner(parameters: &str, shard: u32) {
    let mut old = timers(parameters, shard, Settings::named("old"));
    let mut new = timers(parameters, shard, Settings::named("new"));
    old.add("a", Due::At(1), b"").unwrap();
    let held = old.take_due().unwrap();
    assert_eq!((new.take_due().unwrap(), new.is_owner()), (vec![], false), "the lease is not over");
    client(parameters).execute("UPDATE tickwright_shard SET lease = 0 WHERE shard = 2", &[]).unwrap();
    new.look_again();
    let taken = new.take_due().unwrap();
    assert!((taken[0].fence, taken[0].attempt) > (held[0].fence, held[0].attempt));
    assert!(old.done(&held[0]), "it has not looked yet");
    assert_eq!((old.take_due().unwrap(), old.is_owner()), (vec![], false));
    assert_eq!(count(parameters, "tickwright_timer", 2), 1, "the answer had no effect");
    assert_eq!(new.cancel("a"), Ok(Cancelled::Running));
}

fn a_transaction_of_the_callers(parameters: &str, shard: u32) {
    let mut owner = timers(parameters, shard, Settings::alone());
    assert_eq!(owner.take_due().unwrap(), []);
    assert_eq!(owner.poll_timeout(), None);
    let (sender, hints) = mpsc::channel();
    let connect = parameters.to_string();
    let listener = listen(move || Client::connect(&connect, NoTls), shard, move || sender.send(()).is_ok());
    hints.recv().expect("one at the connection");

    let mut other = client(parameters);
    let mut order = other.transaction().unwrap();
    order.batch_execute("CREATE TABLE orders (id int)").unwrap();
    let mut writer = Writer::new(Within::new(&mut order, shard));
    assert_eq!(writer.add("a", Due::At(1), b""), Ok(Added::Added));
    assert_eq!(writer.cancel("none"), Ok(Cancelled::Gone));
    order.commit().unwrap();
    hints.recv().expect("one at the commit");
    owner.look_again();
    assert_eq!(ids(&owner.take_due().unwrap()), ["a"]);
    assert_eq!(count(parameters, "tickwright_early", 3), 0);

    let mut strict =
        other.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start().unwrap();
    let refused = Writer::new(Within::new(&mut strict, shard)).add("b", FAR, b"");
    assert!(matches!(refused, Err(Error::Engine(what)) if what.contains("READ COMMITTED")));
    strict.rollback().unwrap();
    drop(hints);
    owner.add("now", Due::At(1), b"").unwrap();
    Writer::new(Within::new(&mut other.transaction().unwrap(), shard)).add("c", Due::At(1), b"").unwrap();
    let mut last = other.transaction().unwrap();
    Writer::new(Within::new(&mut last, shard)).add("d", Due::At(1), b"").unwrap();
    last.commit().unwrap();
    listener.join().unwrap();
}

fn writers_beside_an_owner(parameters: &str, shard: u32) {
    let mut owner = timers(parameters, shard, Settings::alone());
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let parameters = parameters.to_string();
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
    assert_eq!(count(parameters, "tickwright_timer", 4), 0);
}

fn a_lost_connection(parameters: &str, shard: u32) {
    let mut timers = timers(parameters, shard, Settings::alone());
    timers.add("a", Due::At(1), b"").unwrap();
    let firings = timers.take_due().unwrap();
    timers.done(&firings[0]);
    let own: i32 =
        timers.engine().client().unwrap().query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    client(parameters).execute("SELECT pg_terminate_backend($1, 5000)", &[&own]).unwrap();
    let lost = timers.add("b", Due::At(2), b"");
    assert!(matches!(lost, Err(Error::Disconnected(_)) | Ok(_)), "{lost:?}");
    timers.replace("b", Due::At(2), b"").unwrap();

    let mut engine = Postgres::open(parameters).unwrap().shard(shard).unwrap();
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
    assert_eq!(count(parameters, "tickwright_timer", 5), 1, "the answer outlived the connection");
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
