//! Simulates processes that share a store, in virtual time. The processes crash, stop and lose
//! their connections, and the engine's clock is set.

use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

use super::Mutant;
use super::judge::{Judge, Verdict};
use super::store::{Executed, Store};
use crate::owner::Owner;
use crate::sqlite::Sqlite;
use crate::statement::{Answer, Cancelled, Due, Firing, Outcome, Statement, Waiting};
use crate::{Error, Settings};

const SECOND: i64 = 1_000_000;
pub(crate) const MARGIN: i64 = 5 * SECOND;
const RESCAN: i64 = 15 * SECOND;
/// The time after which a statement tries a lock again.
const BLOCKED: i64 = 50_000;
/// The time at which faults and writes end.
const CALM: i64 = 90 * SECOND;
const HOUR: i64 = 3600 * SECOND;
/// The time of the engine's clock at the beginning.
const START: i64 = 1_000_000_000 * SECOND;

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: i64) -> i64 {
        (self.next() % bound.unsigned_abs()) as i64
    }

    fn one_in(&mut self, n: i64) -> bool {
        self.below(n) == 0
    }
}

/// A write that is being executed.
struct Job {
    statements: VecDeque<Statement>,
    put: Option<Waiting>,
    removed: Option<Arc<str>>,
    near: i64,
}

struct Process {
    /// `None` if the process only writes.
    owner: Option<Owner>,
    name: String,
    job: Option<Job>,
    inbox: VecDeque<Firing>,
    /// The running delivery, and the time of its end.
    runs: Option<(Firing, i64)>,
    /// The time of the next step. A pause or a restart moves this time.
    at: i64,
    is_dead: bool,
    statements: u64,
}

pub(crate) struct World<'a> {
    random: Random,
    store: Store<'a>,
    judge: Judge,
    now: i64,
    /// The engine's clock minus the world's clock.
    step: i64,
    is_alone: bool,
    /// Whether the first process neither crashes nor stops, so that guarantee 6 always holds.
    has_survivor: bool,
    sets_clock: bool,
    /// The time by which everything is delivered.
    quiet: i64,
    processes: Vec<Process>,
}

/// Counts of events in a schedule.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) begun: u64,
    pub(crate) repeated: u64,
    pub(crate) statements: u64,
}

impl<'a> World<'a> {
    /// Runs one schedule, which follows from its seed.
    pub(crate) fn run(
        seed: u64,
        mutant: Option<Mutant>,
        sqlite: &'a mut Sqlite,
    ) -> Result<Counts, (u8, String)> {
        let mut random = Random(seed);
        let is_alone = random.one_in(4);
        let count = if is_alone { 1 } else { 1 + random.below(3) };
        let writers = if is_alone { 0 } else { 1 + random.below(2) };
        let has_survivor = random.one_in(2) && !is_alone;
        let sets_clock = random.one_in(6);
        let mut world = Self {
            store: Store::new(sqlite, MARGIN, mutant),
            judge: Judge::default(),
            now: 0,
            step: START,
            is_alone,
            has_survivor,
            sets_clock,
            // A process that is alone can sleep for as long as the clock was set back.
            quiet: CALM + 300 * SECOND + if sets_clock && is_alone { 5 * HOUR } else { 0 },
            processes: Vec::new(),
            random,
        };
        for at in 0..count + writers {
            let name = format!("process {at}");
            let at_first = world.random.below(SECOND);
            let owner = (at < count).then(|| world.owner(&name));
            let (job, runs, inbox) = (None, None, VecDeque::new());
            let process =
                Process { owner, name, job, inbox, runs, at: at_first, is_dead: false, statements: 0 };
            world.processes.push(process);
        }
        world.schedule()?;
        Ok(Counts {
            begun: world.judge.begun,
            repeated: world.judge.repeated,
            statements: world.store.statements,
        })
    }

    fn owner(&mut self, name: &str) -> Owner {
        let settings = if self.is_alone {
            Settings::alone()
        } else {
            Settings::named(name).rescan(Duration::from_micros(RESCAN as u64))
        };
        // The limits are small, so that the schedule reaches each limit.
        let (batch, page) = (1 + self.random.below(4), 1 + self.random.below(4));
        let window = Duration::from_secs(1 + self.random.below(20) as u64);
        let margin = Duration::from_micros(MARGIN as u64);
        let page = page as usize;
        Owner::new(Settings { page, ..settings.margin(margin).batch(batch as usize).window(window) })
    }

    fn engine(&self) -> i64 {
        self.now + self.step
    }

    fn schedule(&mut self) -> Verdict {
        while let Some(at) = (0..self.processes.len()).min_by_key(|&at| self.processes[at].at) {
            if self.processes[at].at > self.quiet {
                break;
            }
            self.now = self.now.max(self.processes[at].at);
            self.judge.clock(self.engine());
            // The bound includes time for a failover, for the end of a session, and for some
            // handlers of a batch.
            let bound = 2 * MARGIN + RESCAN + 4 * SECOND;
            let is_bound = !self.sets_clock && (self.has_survivor || self.now > CALM + 60 * SECOND);
            self.judge.bound = is_bound.then_some(bound);
            self.trouble(at);
            if self.processes[at].at <= self.now {
                self.step(at)?;
            }
            if is_bound && !self.store.is_in_turn() {
                let overdue = self.store.overdue(self.engine() - bound);
                overdue.iter().try_for_each(|row| self.judge.is_in_time(row))?;
            }
        }
        self.now = self.quiet;
        self.judge.end(&mut self.store)?;
        self.idle()
    }

    /// Lets an hour without timers pass.
    fn idle(&mut self) -> Verdict {
        for process in &mut self.processes {
            process.statements = 0;
        }
        while let Some(at) = (0..self.processes.len()).min_by_key(|&at| self.processes[at].at) {
            if self.processes[at].at > self.quiet + HOUR {
                break;
            }
            self.now = self.now.max(self.processes[at].at);
            self.step(at)?;
        }
        // Each rescan executes a statement, and a turn that began before the hour may add a few.
        let most = if self.is_alone { 0 } else { (HOUR / RESCAN) as u64 + 8 };
        match self.processes.iter().find(|process| process.statements > most) {
            Some(busy) => {
                Err((8, format!("{} executed {} statements in an hour", busy.name, busy.statements)))
            }
            None => Ok(()),
        }
    }

    /// Lets one random fault happen to a process before its step.
    fn trouble(&mut self, at: usize) {
        if self.now > CALM && self.sets_clock {
            self.step = START + 2 * HOUR;
        }
        if self.now > CALM || (self.has_survivor && at == 0) {
            return;
        }
        if self.sets_clock && self.random.one_in(200) {
            let step = self.step - START + (self.random.below(3) - 1) * HOUR;
            self.step = START + step.clamp(-2 * HOUR, 2 * HOUR);
        }
        if self.random.one_in(60) {
            // The process stops. This can happen at any statement.
            self.processes[at].at = self.now + self.random.below(3 * MARGIN);
        } else if self.random.one_in(60) {
            self.store.disconnect(at);
            let back = self.now + self.random.below(2 * MARGIN);
            let process = &mut self.processes[at];
            (process.job, process.runs, process.is_dead, process.at) = (None, None, true, back);
            process.inbox.clear();
        }
    }

    /// Executes one step of a process: a statement, or the beginning or the end of a delivery.
    fn step(&mut self, at: usize) -> Verdict {
        let latency = 1 + self.random.below(3000);
        if core::mem::take(&mut self.processes[at].is_dead) && self.processes[at].owner.is_some() {
            let name = self.processes[at].name.clone();
            self.processes[at].owner = Some(self.owner(&name));
        }
        if self.processes[at].job.is_some() {
            self.processes[at].at = self.now + latency;
            return self.work(at);
        }
        let is_in_turn = self.processes[at].owner.as_ref().is_some_and(|owner| owner.statement().is_some());
        if is_in_turn {
            self.processes[at].at = self.now + latency;
            return self.turn(at);
        }
        if let Some((firing, end)) = self.processes[at].runs.clone() {
            if end > self.now {
                self.processes[at].at = end;
                return Ok(());
            }
            self.processes[at].runs = None;
            self.answer(at, &firing);
        } else if let Some((firing, is_held)) = self.next(at) {
            self.judge.begins(&firing, is_held)?;
            let end = self.now + self.random.below(SECOND / 2);
            self.processes[at].runs = Some((firing, end));
            self.processes[at].at = end;
            return Ok(());
        }
        let writes = self.now < CALM && self.random.one_in(3);
        if writes {
            self.write(at);
        }
        let think = self.now + self.random.below(2 * SECOND);
        let host = self.now;
        let heartbeat = self.store.mutant == Some(Mutant::Heartbeat);
        let process = &mut self.processes[at];
        process.at = if self.now < CALM { think } else { i64::MAX };
        if let Some(owner) = &mut process.owner {
            if owner.next() <= host && process.job.is_none() {
                owner.start(host);
                process.at = host;
            } else {
                process.at = process.at.min(owner.next().max(host + 1));
            }
            if heartbeat {
                owner.look_again();
                process.at = process.at.min(host + SECOND);
            }
        }
        if writes {
            process.at = self.now;
        }
        Ok(())
    }

    /// Returns the next delivery of a process, and whether the process holds the firing.
    fn next(&mut self, at: usize) -> Option<(Firing, bool)> {
        let Process { owner, inbox, .. } = &mut self.processes[at];
        let owner = owner.as_ref()?;
        let is_stale = self.store.mutant == Some(Mutant::StaleInbox);
        let next = core::iter::from_fn(|| inbox.pop_front());
        next.map(|firing| (owner.holds(&firing), firing))
            .find(|(is_held, _)| *is_held || is_stale)
            .map(|(is_held, firing)| (firing, is_held))
    }

    fn answer(&mut self, at: usize, firing: &Firing) {
        let outcome = match self.random.below(10) {
            0 if self.now < CALM => Outcome::Release,
            1 | 2 if self.now < CALM => Outcome::Again(Due::After(self.random.below(20 * SECOND))),
            _ => Outcome::Done,
        };
        let owner = self.processes[at].owner.as_mut().expect("it claimed");
        let is_ours = owner.settle(firing, outcome).expect("in range");
        if is_ours && outcome == Outcome::Release {
            self.judge.released(firing);
        }
    }

    /// Begins a write.
    fn write(&mut self, at: usize) {
        let near = self.processes[at].owner.as_ref().map_or(0, Owner::epoch);
        if self.processes[at].owner.is_some() && near == 0 && self.is_alone {
            return;
        }
        let id: Arc<str> = format!("timer {}", self.random.below(8)).into();
        let delay = if self.random.one_in(8) { 60 * SECOND } else { 8 * SECOND };
        let due = match self.random.below(8) {
            // Several timers get the same due time.
            0 => Due::At((self.engine() / (10 * SECOND) - self.random.below(6)) * 10 * SECOND),
            _ => Due::After(self.random.below(delay)),
        };
        let statement = match self.random.below(10) {
            0..5 => Statement::Put { id, due, payload: Vec::new(), replace: false, near },
            5..7 => Statement::Put { id, due, payload: Vec::new(), replace: true, near },
            _ => Statement::Cancel { id },
        };
        let guard = Statement::Guard { alone: false };
        let statements = [Statement::Begin, guard, statement, Statement::Commit].into();
        self.processes[at].job = Some(Job { statements, put: None, removed: None, near });
    }

    /// Executes the next statement of a write.
    fn work(&mut self, at: usize) -> Verdict {
        let mut job = self.processes[at].job.take().expect("a write is on its way");
        let Some(statement) = job.statements.pop_front() else { return Ok(()) };
        match self.execute(at, &statement)? {
            Executed::Blocked => {
                self.processes[at].at = self.now + BLOCKED;
                job.statements.push_front(statement);
            }
            Executed::Failed(error) => {
                self.store.disconnect(at);
                if matches!(error, Error::UnknownOutcome(_))
                    && let Some(owner) = &mut self.processes[at].owner
                {
                    owner.unknown();
                }
                return Ok(());
            }
            Executed::Answer(Answer::Put(put)) => {
                if let (Some(Mutant::AddBeforeCommit), Some(row)) = (self.store.mutant, &put) {
                    self.judge.promised(row.seq);
                }
                job.put = put;
            }
            Executed::Answer(Answer::Cancelled(Cancelled::Removed)) => {
                job.removed = if let Statement::Cancel { id } = statement { Some(id) } else { None };
            }
            Executed::Answer(_) => {}
        }
        let process = &mut self.processes[at];
        if !job.statements.is_empty() {
            process.job = Some(job);
            return Ok(());
        }
        // The call returns.
        if let Some(id) = &job.removed {
            self.judge.removed(id);
            process.owner.iter_mut().for_each(|owner| owner.cancelled(id));
        }
        if let Some(row) = job.put {
            self.judge.promised(row.seq);
            process.owner.iter_mut().for_each(|owner| owner.put(row.clone(), job.near));
        }
        Ok(())
    }

    /// Executes the next statement of a turn.
    fn turn(&mut self, at: usize) -> Verdict {
        let owner = self.processes[at].owner.as_ref().expect("it is in a turn");
        let (epoch, statement) = (owner.epoch(), owner.statement().cloned().expect("it is in a turn"));
        let executed = self.execute(at, &statement)?;
        let (host, mutant) = (self.now, self.store.mutant);
        let owner = self.processes[at].owner.as_mut().expect("it is in a turn");
        match executed {
            Executed::Blocked => {
                self.processes[at].at = self.now + BLOCKED;
                return Ok(());
            }
            Executed::Failed(Error::UnknownOutcome(_)) if mutant == Some(Mutant::UnknownIsSuccess) => {
                owner.answer(Answer::Nothing, host).expect("as after a commit");
            }
            Executed::Failed(mut error) => {
                if mutant == Some(Mutant::UnknownIsFailure) {
                    error = Error::Disconnected(error.to_string());
                }
                owner.failed(&error, host);
                if owner.statement().is_some() {
                    owner.answer(Answer::Nothing, host).expect("a rollback");
                }
                self.store.disconnect(at);
            }
            Executed::Answer(mut answer) => {
                if let Answer::Shard(shard) = &mut answer {
                    match mutant {
                        Some(Mutant::NoFence) if epoch != 0 => shard.epoch = epoch,
                        Some(Mutant::EarlyClaim) if epoch != 0 => shard.now += SECOND,
                        Some(Mutant::TakeoverAtOnce) if epoch == 0 => shard.announced.lease = 0,
                        Some(Mutant::LeaseIgnoresEarly) if shard.announced.lease >= shard.now => {
                            shard.early = shard.early.filter(|due| epoch != 0 || due + MARGIN >= shard.now);
                        }
                        _ => {}
                    }
                }
                owner.answer(answer, host).expect("the model answers");
            }
        }
        if owner.statement().is_none() {
            let firings = owner.finish();
            self.processes[at].inbox.extend(firings);
        }
        Ok(())
    }

    /// Executes one statement, during which the connection can be lost.
    fn execute(&mut self, at: usize, statement: &Statement) -> Result<Executed, (u8, String)> {
        let is_safe = self.now > CALM || (self.has_survivor && at == 0) || self.is_alone;
        let is_commit = matches!(statement, Statement::Commit);
        let is_lost = !is_safe && self.random.one_in(if is_commit { 20 } else { 120 });
        let now = self.engine();
        self.processes[at].statements += 1;
        if is_lost && !(is_commit && self.random.one_in(2)) {
            self.store.disconnect(at);
            let lost = "lost".to_string();
            return Ok(Executed::Failed(if is_commit {
                Error::UnknownOutcome(lost)
            } else {
                Error::Disconnected(lost)
            }));
        }
        let executed = self.store.execute(at, now, statement);
        let log = core::mem::take(&mut self.store.log);
        self.judge.committed(log, self.store.shard.epoch)?;
        if is_lost && is_commit && matches!(executed, Executed::Answer(_)) {
            return Ok(Executed::Failed(Error::UnknownOutcome("lost".into())));
        }
        Ok(executed)
    }
}
