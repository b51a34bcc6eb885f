//! Tests every operation in every state of a timer: the result of the operation, and the state of
//! the timer afterwards.
#![cfg(not(loom))]

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use tickwright::shard::{ArmError, Shards, SharedTimer, TryCancel, Was, WouldDeadlock};

/// Columns are states of the timer, as the calling thread sees them:
///
/// - `idle`; `pending` for tick 500 of a shard at 100; `parked`, with a deadline beyond the last
///   level; `due`, but not taken because of a budget;
/// - `own`, if the timer's callback makes the call; `own-armed`, if the callback has armed the
///   timer again for 500 before the call; `other`, if another thread makes the call while the
///   callback runs;
/// - `dead`, if the timer is shut down; `gone`, if its shards were dropped.
///
/// Each cell has the result and the state of the timer afterwards. The results are `ok`, `yes` (it
/// was pending), `no` (it was not pending), `removed`, `not`, `running`, or an error: `pending!`,
/// `shut!`, `gone!`, `deadlock!`. The states are `-` (idle), `P` (pending) and `D` (dead).
const TABLE: &str = "
               idle     pending    parked     due        own         own-armed   other     dead    gone
add            ok/P     pending!/P pending!/P pending!/P ok/P        pending!/P  ok/P      shut!/D gone!/-
add_on         ok/P     pending!/P pending!/P pending!/P ok/P        pending!/P  ok/P      shut!/D gone!/-
modify         no/P     yes/P      yes/P      yes/P      no/P        yes/P       no/P      shut!/D gone!/-
modify_on      no/P     yes/P      yes/P      yes/P      no/P        yes/P       no/P      shut!/D gone!/-
modify_pending no/-     yes/P      yes/P      yes/P      no/-        yes/P       no/-      shut!/D gone!/-
reduce_earlier no/P     yes/P      yes/P      yes/P      no/P        yes/P       no/P      shut!/D gone!/-
reduce_later   no/P     yes/P      yes/P      yes/P      no/P        yes/P       no/P      shut!/D gone!/-
cancel         no/-     yes/-      yes/-      yes/-      no/-        yes/-       no/-      no/D    no/-
try_cancel     not/-    removed/-  removed/-  removed/-  running/-   running/P   running/- not/D   not/-
cancel_sync    no/-     yes/-      yes/-      yes/-      deadlock!/- deadlock!/P no/-      no/D    no/-
shutdown       no/D     yes/D      yes/D      yes/D      no/D        yes/D       no/D      no/D    no/D
shutdown_sync  no/D     yes/D      yes/D      yes/D      deadlock!/- deadlock!/P no/D      no/D    no/D
";

/// Converts a result to its name in the table.
trait Word {
    fn word(self) -> &'static str;
}

impl Word for Was {
    fn word(self) -> &'static str {
        match self {
            Self::Pending => "yes",
            Self::Idle => "no",
        }
    }
}

impl Word for () {
    fn word(self) -> &'static str {
        "ok"
    }
}

impl Word for TryCancel {
    fn word(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::NotPending => "not",
            Self::Running => "running",
        }
    }
}

impl<T: Word> Word for Result<T, ArmError> {
    fn word(self) -> &'static str {
        match self {
            Ok(answer) => answer.word(),
            Err(ArmError::AlreadyPending) => "pending!",
            Err(ArmError::ShutDown) => "shut!",
            Err(ArmError::ShardsGone) => "gone!",
            Err(_) => "error",
        }
    }
}

impl<T: Word> Word for Result<T, WouldDeadlock> {
    fn word(self) -> &'static str {
        self.map_or("deadlock!", Word::word)
    }
}

fn call(timer: &SharedTimer, operation: &str) -> &'static str {
    match operation {
        "add" => timer.add(300).word(),
        "add_on" => timer.add_on(1, 300).word(),
        "modify" => timer.modify(300).word(),
        "modify_on" => timer.modify_on(1, 300).word(),
        "modify_pending" => timer.modify_pending(300).word(),
        "reduce_earlier" => timer.reduce(50).word(),
        "reduce_later" => timer.reduce(u64::MAX).word(),
        "cancel" => timer.cancel().word(),
        "try_cancel" => timer.try_cancel().word(),
        "cancel_sync" => timer.cancel_sync().word(),
        "shutdown" => timer.shutdown().word(),
        "shutdown_sync" => timer.shutdown_sync().word(),
        unknown => panic!("the table has an operation {unknown}"),
    }
}

fn left(timer: &SharedTimer) -> &'static str {
    match (timer.is_pending(), timer.is_shut_down()) {
        (false, false) => "-",
        (true, false) => "P",
        (false, true) => "D",
        (true, true) => "both",
    }
}

type Answer = Arc<Mutex<String>>;

fn noted_in(answer: &Answer) -> String {
    answer.lock().unwrap().clone()
}

/// Brings a timer into the state, and calls the operation. Returns the operation's result, and the
/// timer's state right after the call.
fn cell(state: &str, operation: &'static str) -> String {
    let shards = Shards::starting_at(2, 100);
    let answer = Answer::default();
    let noted = answer.clone();
    let own = match state {
        "own" => Some(false),
        "own-armed" => Some(true),
        _ => None,
    };
    // In the state `other`, the callback reports that it is running, and waits until the test
    // allows it to go on.
    let (runs, running) = channel::<()>();
    let (go, going) = channel::<()>();
    let going: Mutex<Option<Receiver<()>>> = Mutex::new((state == "other").then_some(going));
    let timer = shards.shard(0).unwrap().timer(move |firing| {
        if let Some(armed) = own {
            if armed {
                firing.timer().add(500).unwrap();
            }
            let word = call(firing.timer(), operation);
            *noted.lock().unwrap() = format!("{word}/{}", left(firing.timer()));
        }
        if let Some(going) = going.lock().unwrap().take() {
            runs.send(()).unwrap();
            going.recv().unwrap();
        }
    });
    let note = |timer: &SharedTimer| {
        let word = call(timer, operation);
        *answer.lock().unwrap() = format!("{word}/{}", left(timer));
    };
    match state {
        "idle" => note(&timer),
        "pending" => {
            timer.add(500).unwrap();
            note(&timer);
        }
        "parked" => {
            timer.add(u64::MAX - 1).unwrap();
            note(&timer);
        }
        "due" => {
            timer.add(150).unwrap();
            assert!(!shards.shard(0).unwrap().advance_within(200, 0).unwrap().complete);
            note(&timer);
        }
        "own" | "own-armed" => {
            timer.add(150).unwrap();
            assert_eq!(shards.shard(0).unwrap().advance_within(200, 1).unwrap().delivered, 1);
        }
        "other" => {
            timer.add(150).unwrap();
            thread::scope(|scope| {
                let owner =
                    scope.spawn(|| shards.shard(0).unwrap().advance_within(200, 1).unwrap().delivered);
                running.recv().unwrap();
                if operation.ends_with("_sync") {
                    // The operation waits for the end of the callback, so the test must let the
                    // callback go on before or during the operation.
                    go.send(()).unwrap();
                    note(&timer);
                } else {
                    note(&timer);
                    go.send(()).unwrap();
                }
                assert_eq!(owner.join().unwrap(), 1);
            });
        }
        "dead" => {
            timer.shutdown();
            note(&timer);
        }
        "gone" => {
            timer.add(150).unwrap();
            drop(shards);
            note(&timer);
            return noted_in(&answer);
        }
        unknown => panic!("the table has a state {unknown}"),
    }
    assert_eq!(shards.check(), Ok(()), "{operation} in {state}");
    noted_in(&answer)
}

#[test]
fn every_operation_in_every_state_answers_as_the_table_says() {
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let states: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    let mut cells = 0;
    for line in lines {
        let (operation, expected) = line.split_once(' ').unwrap();
        let expected: Vec<_> = expected.split_whitespace().collect();
        assert_eq!(expected.len(), states.len(), "{operation}");
        for (state, expected) in states.iter().zip(expected) {
            assert_eq!(cell(state, operation), expected, "{operation} in {state}");
            cells += 1;
        }
    }
    assert_eq!(cells, 12 * 9);
}

#[test]
fn errors_name_the_remedy() {
    assert!(ArmError::AlreadyPending.to_string().contains("modify"));
    assert!(ArmError::ShutDown.to_string().contains("make a new one"));
    assert!(ArmError::ShardsGone.to_string().contains("dropped"));
    assert!(ArmError::NoSuchShard.to_string().contains("Shards::len()"));
    assert!(WouldDeadlock.to_string().contains("use cancel"));
}
