//! What is run beside: the system's own ping-pong, and the experiment again under an emulator.

use core::time::Duration;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use serde::Serialize;

use super::channel::Transport;
use super::cpu;
use super::figures::rates;
use super::link::Tasks;
use super::registry::Tree;
use super::run::{Cell, Plan, Results};
use super::verdict::pairs;
use crate::interrupt;
use crate::render::Format;
use crate::stats::{Summary, summarise};

/// Where a programme lies that can be run; none when it is not in the PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let runs =
        |path: &PathBuf| path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(runs)
}

/// A command that dies with this thread: this program becomes it, once the system knows.
fn guarded<S: AsRef<OsStr>>(program: &OsStr, args: impl IntoIterator<Item = S>) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["reproduce", "helenos", "--parent", &std::process::id().to_string(), "--become"]);
    command.arg(program).args(args).stdin(Stdio::null());
    Ok(command)
}

/// `perf bench sched pipe`, or why it was not run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Perf {
    pub(crate) tasks: Tasks,
    /// Round trips per second, one of each run.
    pub(crate) samples: Vec<f64>,
    pub(crate) skipped: Option<String>,
}

/// Runs of perf; the median counts.
const RUNS: usize = 3;
/// Round trips of a run at least, so that its start and end do not count.
const FEWEST: f64 = 20_000.0;

impl Perf {
    /// Runs it with the same tasks and pinning, about as long as a sample.
    pub(crate) fn run(tasks: Tasks, plan: &Plan, results: &Results) -> Self {
        let mut perf = Self { tasks, samples: Vec::new(), skipped: None };
        perf.skipped = perf.fill(plan, results).err();
        perf
    }

    fn fill(&mut self, plan: &Plan, results: &Results) -> Result<(), String> {
        if plan.processors.client != plan.processors.server {
            return Err("it cannot pin its two tasks to two processors".into());
        }
        let path = on_path("perf").ok_or("it is not in the PATH")?;
        let rate = median(results, Transport::Pipe, self.tasks).map_or(1e5, |rate| rate.median);
        let loops = (rate * plan.duration.as_secs_f64()).clamp(FEWEST, 1e8).round().to_string();
        let mut args = vec!["bench", "sched", "pipe", "-l", &loops];
        args.extend((self.tasks == Tasks::Threads).then_some("-T"));
        for _ in 0..RUNS {
            let output =
                pinned(plan.processors.client, || interrupt::output(&mut guarded(path.as_os_str(), &args)?));
            let output = output.map_err(|error| format!("it could not be run: {error}"))?;
            let rate = operations(&String::from_utf8_lossy(&output.stdout));
            self.samples.push(rate.filter(|_| output.status.success()).ok_or("it gave no rate")?);
        }
        Ok(())
    }

    /// Against our channels.
    pub(crate) fn text(&self, results: &Results) -> String {
        let what = format!("perf bench sched pipe, {}", self.tasks.name());
        if let Some(why) = &self.skipped {
            return format!("{what}: skipped, {why}");
        }
        let Some(perf) = summarise(self.samples.iter().copied()) else { return format!("{what}: no sample") };
        let against: Vec<String> = [Transport::Pipe, Transport::Futex]
            .into_iter()
            .filter_map(|transport| {
                let ours = median(results, transport, self.tasks)?;
                let word = if ours.median >= perf.median { "at least as many" } else { "FEWER" };
                Some(format!(
                    "our {} with a look-up {} ({:.2}x, {word})",
                    transport.name(),
                    Format::Thousands.write(ours.median),
                    ours.median / perf.median
                ))
            })
            .collect();
        format!("{what}: {} round trips per s; {}", Format::Thousands.write(perf.median), against.join(", "))
    }
}

/// Of all samples at the smallest population.
fn median(results: &Results, transport: Transport, tasks: Tasks) -> Option<Summary> {
    let cells = || results.cells.iter().filter(|c| (c.transport, c.tasks) == (transport, tasks));
    let least = cells().map(|cell| cell.population).min()?;
    summarise(cells().filter(|cell| cell.population == least).flat_map(|cell| cell.samples.clone()))
}

/// Does `work` in a thread on that processor.
fn pinned<R: Send>(cpu: Option<usize>, work: impl FnOnce() -> io::Result<R> + Send) -> io::Result<R> {
    thread::scope(|scope| {
        let worker = thread::Builder::new().spawn_scoped(scope, || cpu::pin(cpu).and_then(|()| work()))?;
        worker.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")))
    })
}

/// The rate in what `perf bench` prints.
pub(crate) fn operations(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.trim().strip_suffix("ops/sec"))?;
    line.trim().replace(',', "").parse().ok().filter(|rate: &f64| *rate > 0.0)
}

/// The experiment under QEMU's user mode, or why it was not run there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Emulated {
    /// Never "softmmu", which emulates a whole machine.
    pub(crate) label: &'static str,
    pub(crate) cells: Vec<Cell>,
    pub(crate) skipped: Option<String>,
}

impl Emulated {
    /// Runs it again with threads; what the emulator runs cannot start a copy of itself.
    pub(crate) fn run(args: &[String]) -> Self {
        let (cells, skipped) = match again(args) {
            Ok(cells) => (cells, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        Self { label: "TCG user mode", cells, skipped }
    }

    pub(crate) fn text(&self, duration: Duration) -> String {
        if let Some(why) = &self.skipped {
            return format!("{}: skipped, {why}", self.label);
        }
        let results = Results { cells: self.cells.clone(), ..Results::default() };
        rates(&pairs(&results, Tree::Odict), Tree::Odict, duration, self.label)
    }
}

fn again(args: &[String]) -> Result<Vec<Cell>, String> {
    let name = format!("qemu-{}", env::consts::ARCH);
    let path = [name.clone(), name.clone() + "-static"].iter().find_map(|name| on_path(name));
    let path = path.ok_or(format!("{name} is not in the PATH (Debian: qemu-user)"))?;
    let exe = env::current_exe().map_err(|error| error.to_string())?;
    let mut all = vec![exe.into_os_string()];
    all.extend(args.iter().map(OsString::from));
    let output = guarded(path.as_os_str(), &all)
        .and_then(|mut command| interrupt::output(&mut command))
        .map_err(|error| format!("it could not be run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let found: Option<Vec<Cell>> = serde_json::from_slice::<serde_json::Value>(&output.stdout)
        .ok()
        .and_then(|report| serde_json::from_value(report.get("results")?.get("cells")?.clone()).ok());
    found.ok_or_else(|| format!("it gave no results: {}", said.lines().next().unwrap_or("no word")))
}
