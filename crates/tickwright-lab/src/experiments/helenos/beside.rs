//! The additional runs: the system's own ping-pong (perf), and the whole experiment under an
//! emulator.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::channel::Transport;
use super::cpu;
use super::link::Tasks;
use super::run::{Cell, Perf, Plan};
use super::share::smallest;
use crate::child;
use crate::experiment::Parameters;
use crate::result::Report;
use crate::stats::median;

/// Returns the path of an executable program; `None` when the PATH has no such program.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    let runs =
        |path: &PathBuf| path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(runs)
}

/// A command that dies with this thread. This program starts first and asks the system for a death
/// signal. Then it becomes the command.
fn guarded<S: AsRef<OsStr>>(program: &OsStr, args: impl IntoIterator<Item = S>) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["reproduce", "helenos", "--parent", &std::process::id().to_string(), "--become"]);
    command.arg(program).args(args).stdin(Stdio::null());
    Ok(command)
}

/// Number of runs of perf.
const RUNS: usize = 6;
/// Smallest number of round trips in a run, so that its start and end do not matter.
const FEWEST: f64 = 20_000.0;

/// Runs perf with the same kind of tasks and the same pinning. Each run takes about as long as a
/// sample.
///
/// # Errors
/// The reason why perf was not run.
pub(super) fn perf(tasks: Tasks, plan: &Plan, cells: &[Cell]) -> Result<Perf, String> {
    if plan.processors.client != plan.processors.server {
        return Err("it cannot pin its two tasks to two processors".into());
    }
    let path = on_path("perf").ok_or("it is not in the PATH")?;
    let rate = median(&smallest(cells, Transport::Pipe, tasks)).unwrap_or(1e5);
    let loops = (rate * plan.duration.as_secs_f64()).clamp(FEWEST, 1e8).round().to_string();
    let mut args = vec!["bench", "sched", "pipe", "-l", &loops];
    args.extend((tasks == Tasks::Threads).then_some("-T"));
    let mut samples = Vec::new();
    for _ in 0..RUNS {
        let run = || child::output(&mut guarded(path.as_os_str(), &args)?);
        let output = cpu::pinned(plan.processors.client, run).and_then(|output| output);
        let output = output.map_err(|error| format!("it could not be run: {error}"))?;
        let rate = operations(&String::from_utf8_lossy(&output.stdout));
        samples.push(rate.filter(|_| output.status.success()).ok_or("it gave no rate")?);
    }
    Ok(Perf { tasks, samples })
}

/// Reads the rate from the output of `perf bench`.
pub(super) fn operations(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.trim().strip_suffix("ops/sec"))?;
    line.trim().replace(',', "").parse().ok().filter(|rate: &f64| *rate > 0.0)
}

/// Runs the round trips again under QEMU's user mode. Client and server are threads, because an
/// emulated program cannot start a copy of itself.
///
/// # Errors
/// The reason why the emulator was not run.
pub(super) fn emulated(mut parameters: Parameters, seed: u64) -> Result<Vec<Cell>, String> {
    let name = format!("qemu-{}", env::consts::ARCH);
    let path = [name.clone(), name.clone() + "-static"].iter().find_map(|name| on_path(name));
    let path = path.ok_or(format!("{name} is not in the PATH (Debian: qemu-user)"))?;
    let exe = env::current_exe().map_err(|error| error.to_string())?;
    parameters.extend([
        ("tasks".into(), "threads".into()),
        ("only".into(), "calls".into()),
        ("seed".into(), seed.into()),
    ]);
    let mut all = vec![exe.into_os_string()];
    all.extend(["reproduce", "helenos", "--json"].map(OsString::from));
    all.extend(parameters.iter().map(|(name, value)| format!("--{name}={value}").into()));
    let output = guarded(path.as_os_str(), &all)
        .and_then(|mut command| child::output(&mut command))
        .map_err(|error| format!("it could not be run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let report: Option<Report> = serde_json::from_slice(&output.stdout).ok();
    let cells = report.map(|report| report.series.iter().filter_map(Cell::read).collect());
    cells.ok_or_else(|| format!("it gave no results: {}", said.lines().next().unwrap_or("no word")))
}
