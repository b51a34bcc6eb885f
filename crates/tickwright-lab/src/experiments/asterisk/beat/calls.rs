//! Short calls through a proxy. An arriving call sends a request. The request is retransmitted
//! after 500 ms (T1 of SIP). Each further pause is twice as long, until an answer comes. After 32 s
//! the caller gives the request up. An answered call lasts about a second, and a request of the
//! same kind ends it. Timers also play the remote side.

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tickwright::clock::Instant;
use tickwright::scheduler::{Firing, Next, Plain, Scheduler, TimerId};
use tickwright::service::{Missed, Settings, Structure, Timing};

use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::interrupt;
use crate::progress::Progress;

/// The delay of the first retransmission (RFC 3261, T1), and the limit for an answer (64 T1).
const RETRANSMIT: Duration = Duration::from_millis(500);
const GIVE_UP: Duration = Duration::from_secs(32);
/// Means of two exponential times: the wait for an answer, and the duration of a call.
const ANSWER: Duration = Duration::from_millis(150);
const TALK: Duration = Duration::from_secs(1);
/// One request in 20 is lost.
const LOST: u32 = 20;

/// A load to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) lasts: Duration,
    /// Calls per second.
    pub(crate) calls: u32,
    pub(crate) interval: Duration,
    pub(crate) structure: Structure,
    pub(crate) seed: u64,
}

impl Load {
    /// The load that the experiment runs.
    pub(crate) fn usual(lasts: Duration, seed: u64) -> Self {
        let interval = Duration::from_millis(10);
        Self { lasts, calls: 2000, interval, structure: Structure::default(), seed }
    }

    pub(super) fn warm_up(&self) -> Duration {
        (self.lasts / 5).min(Duration::from_secs(3))
    }
}

/// An entry that ran.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ran {
    /// ns since the start.
    pub(super) at_ns: u64,
    pub(super) late_ns: u64,
}

/// Counts of calls, by their outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) begun: u64,
    pub(crate) completed: u64,
    pub(crate) given_up: u64,
    pub(crate) retransmitted: u64,
    /// Active calls at the end.
    pub(crate) live: u64,
}

/// The meaning of a timer. A call is identified by its slot.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Arrival,
    Retransmit(usize),
    GiveUp(usize),
    Answer(usize),
    Bye(usize),
}

/// The timers of an unanswered request.
#[derive(Debug, Clone, Copy)]
struct Request {
    retransmit: TimerId,
    give_up: TimerId,
    answer: Option<TimerId>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Call {
    request: Option<Request>,
    /// Retransmissions of the current request.
    retransmissions: u32,
    /// Whether the current request ends the call.
    ending: bool,
}

struct Exchange {
    random: Pcg64Mcg,
    /// Mean time between arrivals.
    gap: Duration,
    calls: Vec<Call>,
    free: Vec<usize>,
    counts: Counts,
    origin: Instant,
    ran: Vec<Ran>,
}

struct Event {
    kind: Kind,
    exchange: Arc<Mutex<Exchange>>,
}

type Timer = Plain<Event>;

fn lock(exchange: &Mutex<Exchange>) -> MutexGuard<'_, Exchange> {
    exchange.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the load in a poll loop that sleeps whole milliseconds. Returns the runs in order.
///
/// # Errors
/// Calls or timers that are missing from the counts.
pub(super) fn run(load: &Load) -> Result<(Vec<Ran>, Counts), LabError> {
    let mut scheduler: Scheduler<Timer> = Scheduler::new(Settings::new().structure(load.structure));
    let clock = OsClock::start();
    let exchange = Arc::new(Mutex::new(Exchange {
        random: Pcg64Mcg::seed_from_u64(load.seed),
        gap: Duration::from_secs(1) / load.calls,
        calls: Vec::new(),
        free: Vec::new(),
        counts: Counts::default(),
        origin: scheduler.now(),
        // Each call causes about six runs of timers.
        ran: Vec::with_capacity((load.lasts.as_secs_f64() * f64::from(load.calls) * 6.0).min(1e8) as usize),
    }));
    let failed = |what: String| LabError::failed(format!("beat over {}: {what}", load.structure.id()));
    let event = Event { kind: Kind::Arrival, exchange: Arc::clone(&exchange) };
    // The rate of arrivals does not change when the loop wakes late.
    let first = Timing::after(Duration::ZERO).missed(Missed::Burst);
    scheduler
        .timer(first)
        .named("arrival")
        .add(Plain::new(event, Event::run))
        .map_err(|refused| failed(refused.to_string()))?;
    let lasts = u64::try_from(load.lasts.as_nanos()).unwrap_or(u64::MAX);
    let progress = Progress::lasting(load.lasts, "beat");
    while !interrupt::requested() {
        scheduler.run_queue().map_err(|error| failed(error.to_string()))?;
        let now = clock.now();
        progress.at(Duration::from_nanos(now));
        let Some(left) = lasts.checked_sub(now).filter(|left| *left > 0) else { break };
        // Arrivals never end, so there is always a timeout.
        let wait = u64::try_from(scheduler.timeout_ms()).unwrap_or(0).saturating_mul(1_000_000);
        std::thread::sleep(Duration::from_nanos(wait.min(left)));
    }
    scheduler.check().map_err(|violation| failed(violation.to_string()))?;
    let timers = scheduler.report().statistics.timers;
    let mut exchange = lock(&exchange);
    let mut counts = exchange.counts;
    counts.live = (exchange.calls.len() - exchange.free.len()) as u64;
    if counts.begun != counts.completed + counts.given_up + counts.live {
        return Err(failed(format!("calls are lost: {counts:?}")));
    }
    if timers != 1 + exchange.timers() {
        return Err(failed(format!("{timers} timers for {} that the calls wait for", 1 + exchange.timers())));
    }
    Ok((core::mem::take(&mut exchange.ran), counts))
}

impl Event {
    /// Handles a timer that has run. All code takes the exchange's lock before the scheduler's.
    fn run(&mut self, firing: &Firing<'_, Timer>) -> Next {
        let mut exchange = lock(&self.exchange);
        let at_ns = firing.now().as_nanos().saturating_sub(exchange.origin.as_nanos());
        let late_ns = firing.now().as_nanos().saturating_sub(firing.due().as_nanos());
        exchange.ran.push(Ran { at_ns, late_ns });
        let later = Later { scheduler: firing.scheduler(), exchange: &self.exchange };
        match self.kind {
            Kind::Arrival => {
                exchange.arrive(&later);
                let gap = exchange.gap;
                Next::After(exchange.about(gap))
            }
            Kind::Retransmit(call) => exchange.retransmit(call, &later),
            Kind::GiveUp(call) => {
                exchange.answered(call, &later);
                exchange.counts.given_up += 1;
                exchange.free.push(call);
                Next::Done
            }
            Kind::Answer(call) => {
                exchange.answered(call, &later);
                if exchange.calls[call].ending {
                    exchange.counts.completed += 1;
                    exchange.free.push(call);
                } else {
                    let talk = exchange.about(TALK);
                    later.add(talk, Kind::Bye(call));
                }
                Next::Done
            }
            Kind::Bye(call) => {
                exchange.calls[call].ending = true;
                exchange.request(call, &later);
                Next::Done
            }
        }
    }
}

/// Arms and cancels the timers of an exchange.
struct Later<'a> {
    scheduler: &'a Scheduler<Timer>,
    exchange: &'a Arc<Mutex<Exchange>>,
}

impl Later<'_> {
    /// Arms a timer. Returns `None` only if memory is refused; the final counts then show an error.
    fn add(&self, delay: Duration, kind: Kind) -> Option<TimerId> {
        let event = Event { kind, exchange: Arc::clone(self.exchange) };
        self.scheduler.add(delay, Plain::new(event, Event::run)).ok()
    }
}

impl Exchange {
    /// Returns the number of timers that the calls need now.
    fn timers(&self) -> usize {
        let mut free = vec![false; self.calls.len()];
        self.free.iter().for_each(|&call| free[call] = true);
        let live = self.calls.iter().zip(free).filter(|(_, free)| !free);
        // A call without a request only has the timer for its end.
        live.map(|(call, _)| call.request.map_or(1, |request| 2 + usize::from(request.answer.is_some())))
            .sum()
    }

    /// Draws an exponential time.
    fn about(&mut self, mean: Duration) -> Duration {
        let uniform: f64 = self.random.random();
        mean.mul_f64(-(1.0 - uniform).ln())
    }

    fn arrive(&mut self, later: &Later<'_>) {
        let call = self.free.pop().unwrap_or_else(|| {
            self.calls.push(Call::default());
            self.calls.len() - 1
        });
        self.calls[call] = Call::default();
        self.counts.begun += 1;
        self.request(call, later);
    }

    fn request(&mut self, call: usize, later: &Later<'_>) {
        self.calls[call].retransmissions = 0;
        let answer = self.answer(call, later);
        let retransmit = later.add(RETRANSMIT, Kind::Retransmit(call));
        let give_up = later.add(GIVE_UP, Kind::GiveUp(call));
        self.calls[call].request =
            retransmit.zip(give_up).map(|(retransmit, give_up)| Request { retransmit, give_up, answer });
    }

    /// Arms the answer to a request, unless the request is lost.
    fn answer(&mut self, call: usize, later: &Later<'_>) -> Option<TimerId> {
        let lost = self.random.random_range(0..LOST) == 0;
        let after = self.about(ANSWER);
        if lost { None } else { later.add(after, Kind::Answer(call)) }
    }

    fn retransmit(&mut self, call: usize, later: &Later<'_>) -> Next {
        self.counts.retransmitted += 1;
        if let Some(mut request) = self.calls[call].request.filter(|request| request.answer.is_none()) {
            request.answer = self.answer(call, later);
            self.calls[call].request = Some(request);
        }
        self.calls[call].retransmissions += 1;
        let doublings = self.calls[call].retransmissions.min(6);
        Next::After(RETRANSMIT * (1 << doublings))
    }

    /// Cancels the timers of a request that is over. The scheduler has already removed the timer
    /// that runs now.
    fn answered(&mut self, call: usize, later: &Later<'_>) {
        if let Some(Request { retransmit, give_up, answer }) = self.calls[call].request.take() {
            for timer in [Some(retransmit), Some(give_up), answer].into_iter().flatten() {
                let _ = later.scheduler.cancel(timer);
            }
        }
    }
}
