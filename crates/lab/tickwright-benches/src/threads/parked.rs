//! Threads that are all parked at once, ours and goroutines: the time until all are parked, the
//! time to wake and join them, and their memory.
//!
//! Each sample runs in a process of its own, because a process that has freed memory takes less new
//! memory for its next threads. Our stacks have no guards: 200,000 stacks with guards would be
//! 400,000 mappings, and Linux allows 65,530 by default.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::process::{Command, Stdio};
use std::{env, fs, io};

use tickwright_threads::{Attributes, ManyToMany, Model, Runtime, this_thread};

use crate::child;
use crate::clock::{Meter, OsClock};
use crate::error::LabError;
use crate::interrupt;
use crate::output::table::count;
use crate::result::{Finding, Series, Unit, labels};
use crate::stats::{self, Bound, Summary};
use crate::turns::Turns;

/// The size of our stacks, in bytes.
const STACK: usize = 16 << 10;

/// The most bytes that one of our threads may take.
const MOST_BYTES: f64 = 4_400.0;

/// The figures of a sample, in the order in which a child prints them.
const FIGURES: [(&str, Unit); 3] =
    [("create until parked", Unit::Ns), ("wake and join", Unit::Ns), ("resident memory", Unit::Bytes)];

/// The published figures of a goroutine, in ns: create until parked, and wake and join.
const PUBLISHED: [f64; 2] = [2_700.0, 1_500.0];

/// Whose threads are parked. A runtime of ours has 1 or 2 workers, and Go uses all cores.
pub(super) const LANES: [&str; 3] = ["tickwright, 1 worker", "tickwright, 2 workers", "go"];
const GO: usize = 2;

/// The samples of a lane, as figures of one thread.
type Samples = Vec<[f64; FIGURES.len()]>;

/// What was measured, by [`LANES`]. Without Go, its samples are missing.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    pub(super) n: u64,
    pub(super) lanes: Vec<Samples>,
}

/// Returns the resident memory of this process in bytes.
fn resident() -> Result<u64, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    let kib = kib.and_then(|kib| kib.parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| "/proc/self/status has no VmRSS".into())
}

/// Parks `n` of our threads, then wakes and joins them. Returns the figures of all together.
///
/// # Errors
/// If a thread was not created, ended before it was woken, or was not joined.
pub(crate) fn sample(workers: usize, n: u64) -> Result<[u64; FIGURES.len()], String> {
    #[derive(Default)]
    struct Shared {
        parked: AtomicU64,
        is_open: AtomicBool,
        ended: AtomicU64,
    }
    let settings = ManyToMany::new().workers(workers).stack(STACK).guard(0);
    let runtime = Runtime::new(Model::ManyToMany(settings)).map_err(|error| error.to_string())?;
    let (handle, clock) = (runtime.handle(), OsClock::start());
    // The value is leaked, because a count of its owners would be a part of the measured work.
    let shared: &'static Shared = Box::leak(Box::default());
    let body = || {
        shared.parked.fetch_add(1, Ordering::Relaxed);
        while !shared.is_open.load(Ordering::Relaxed) {
            this_thread::park();
        }
        shared.ended.fetch_add(1, Ordering::Relaxed);
        1
    };
    let all = move || {
        let (resting, begun) = (resident()?, clock.now());
        let mut ids = Vec::new();
        for _ in 0..n {
            ids.push(handle.create(&Attributes::new(), body).map_err(|error| error.to_string())?);
        }
        while shared.parked.load(Ordering::Relaxed) < n {
            this_thread::yield_now();
        }
        let created = clock.now() - begun;
        let (bytes, early) = (resident()?.saturating_sub(resting), shared.ended.load(Ordering::Relaxed));
        let begun = clock.now();
        shared.is_open.store(true, Ordering::Relaxed);
        for &id in &ids {
            handle.unpark(id).map_err(|error| error.to_string())?;
        }
        let mut joined = 0;
        for id in ids {
            joined += handle.join(id).map_err(|error| error.to_string())? as u64;
        }
        match (clock.now() - begun, early) {
            (woken, 0) if joined == n => Ok([created, woken, bytes]),
            _ => Err(format!("{early} threads ended too early, and {joined} of {n} were joined")),
        }
    };
    runtime.run(all).map_err(|error| error.to_string())?
}

/// Takes one sample in a child.
fn in_child(command: &mut Command, n: u64) -> Result<[f64; FIGURES.len()], String> {
    let ran = child::output(command.arg(n.to_string()).stdin(Stdio::null()));
    let ran = ran.map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&ran.stdout);
    let figures: Vec<f64> = printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match figures.try_into() {
        Ok(figures) if ran.status.success() => Ok(<[f64; FIGURES.len()]>::map(figures, |all| all / n as f64)),
        _ => Err(format!("{}, {printed}{}", ran.status, String::from_utf8_lossy(&ran.stderr).trim_end())),
    }
}

/// Samples all lanes with `n` threads.
///
/// # Errors
/// If the program in Go cannot be built, or a sample had a wrong answer.
pub(super) fn measure(turns: &Turns, n: u64) -> Result<Parked, LabError> {
    let own = env::current_exe().map_err(|source| LabError::io("the path of this program", source))?;
    let go = own.with_file_name("parked-go");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/threads/parked.go");
    let lanes =
        match child::output(Command::new("go").args(["build", "-o"]).args([go.as_path(), source.as_ref()])) {
            Ok(built) if built.status.success() => LANES.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => GO,
            _ if interrupt::requested() => return Ok(Parked::default()),
            failed => return Err(LabError::failed(format!("go build: {failed:?}"))),
        };
    let names: Vec<String> = LANES[..lanes].iter().map(|lane| format!("parked, {lane}")).collect();
    let lanes = turns.run(&names, |lane| {
        let workers = (lane + 1).to_string();
        let figures = match lane {
            GO => in_child(&mut Command::new(&go), n),
            _ => in_child(Command::new(&own).args(["threads", "--sample", &workers, "--parked"]), n),
        };
        figures.map_err(|why| LabError::failed(format!("{}: {why}", names[lane])))
    })?;
    Ok(Parked { n, lanes })
}

impl Parked {
    fn figures(&self, lane: usize, figure: usize) -> Vec<f64> {
        self.lanes.get(lane).map_or(&[][..], |samples| samples).iter().map(|sample| sample[figure]).collect()
    }

    pub(super) fn series(&self) -> impl Iterator<Item = Series> {
        let figures = FIGURES.iter().enumerate();
        figures.flat_map(move |(figure, &(name, unit))| {
            (0..self.lanes.len()).map(move |lane| {
                let of = labels([("threads", LANES[lane].into()), ("n", self.n.into())]);
                Series::new(name, unit, of).per("thread").of(self.figures(lane, figure))
            })
        })
    }

    /// Returns the targets that this run has measured. Without Go, the bounds of times are the
    /// published ones.
    pub(super) fn targets(&self) -> Vec<Finding> {
        let mut all = Vec::new();
        let mut judge = |lane: usize, what: &str, bound, figure: Option<Summary>| {
            let about = format!("{} parked, {}: {what}", count(self.n as usize), LANES[lane]);
            all.extend(figure.map(|figure| Finding::bounded(about, figure, bound)));
        };
        for lane in 0..GO {
            for (figure, published) in PUBLISHED.into_iter().enumerate() {
                let (what, ours, go) =
                    (FIGURES[figure].0, self.figures(lane, figure), self.figures(GO, figure));
                if go.is_empty() {
                    let what = format!("{what}, ns, to Go's published (not run: go is not installed)");
                    judge(lane, &what, Bound::AtMost(published), stats::summarise(ours));
                } else {
                    let what = format!("{what}, to Go, ratio");
                    judge(lane, &what, Bound::AtMost(1.0), stats::ratios(&ours, &go));
                }
            }
            let bytes = stats::summarise(self.figures(lane, 2));
            judge(lane, "bytes of a thread", Bound::AtMost(MOST_BYTES), bytes);
        }
        let [one, two] = [0, 1].map(|lane| self.figures(lane, 0));
        judge(1, "create, to 1 worker, ratio", Bound::AtMost(1.0), stats::ratios(&two, &one));
        all
    }
}
