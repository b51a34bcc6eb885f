//! The path by instruction counts. This program runs itself under valgrind's callgrind, which
//! counts within one function. Callgrind writes the count to a file each time the function returns.

use core::hint::black_box;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use rustix::process::getppid;

use super::sample::{Cell, Plan};
use super::slice::{Cost, Lane, Slice};
use crate::child;
use crate::error::LabError;
use crate::experiments::crossover::Sampled;
use crate::experiments::request;
use crate::interrupt;
use crate::result::Unit;

/// The function for which callgrind looks. Everything that this function calls is counted, and some
/// ten instructions of its own for each slice.
#[inline(never)]
fn counted_slice_of_ticks(run: &mut dyn FnMut()) {
    run();
    // The call above must not become a jump: callgrind waits for its return.
    black_box(());
}

/// The full path of the counted function. If a pattern begins with `*`, callgrind applies only one
/// of its two options.
const FUNCTION: &str = concat!(module_path!(), "::counted_slice_of_ticks");

/// The slices of a plan, in the order in which they are run and counted.
fn slices(plan: &Plan) -> impl Iterator<Item = (usize, usize, Lane)> + '_ {
    plan.sizes.iter().flat_map(move |&n| {
        (0..plan.rounds).flat_map(move |round| plan.lanes.iter().map(move |&lane| (n, round, lane)))
    })
}

/// The child process: runs all slices and prints nothing.
pub(super) fn child(plan: &Plan) -> Result<(), LabError> {
    // Valgrind runs this program in its own process. If this process has another parent, no process
    // waits for the counts any longer.
    let parent = getppid();
    for (n, round, lane) in slices(plan) {
        if interrupt::requested() || getppid() != parent {
            return Err(LabError::Interrupted);
        }
        let timers = plan.timers(n, round);
        let slice =
            Slice { timers: &timers, ticks: plan.ticks, watch: &mut (), around: &mut counted_slice_of_ticks };
        lane.run(slice).ok_or_else(|| LabError::failed(format!("{}: a timer is lost", lane.id())))?;
    }
    Ok(())
}

/// A temporary directory that is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        let path = env::temp_dir().join(format!("tickwright-counts-{}", process::id()));
        fs::create_dir(&path).map(|()| Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The arguments with which this program runs the slices of a plan.
fn arguments(plan: &Plan) -> Vec<String> {
    let structures = plan.lanes.iter().filter(|lane| **lane != Lane::Loop);
    let ids: Vec<&str> = structures.map(|lane| lane.id()).collect();
    let words = ["latency", "path", "--counted", "--structures", &ids.join(","), "--n"];
    let (sizes, rounds, seed) = (request::list(&plan.sizes), plan.rounds.to_string(), plan.seed.to_string());
    words.into_iter().chain([&*sizes, "--rounds", &rounds, "--seed", &seed]).map(str::to_owned).collect()
}

/// Counts the slices of `plan`. The inner error states why there are no counts.
pub(super) fn run(plan: &Plan) -> Result<Result<Vec<Cell>, String>, LabError> {
    match Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => {}
        _ => {
            return Ok(Err("no instruction counts: valgrind is not installed or does not run".into()));
        }
    }
    let program = env::current_exe().map_err(|source| LabError::io("finding this program", source))?;
    let scratch = Scratch::new().map_err(|source| LabError::io("making a directory for counts", source))?;
    let out = scratch.0.join("out");
    let option = |name: &str, value: &Path| {
        let mut option = std::ffi::OsString::from(name);
        option.push(value);
        option
    };
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--toggle-collect={FUNCTION}"))
        .arg(format!("--dump-after={FUNCTION}"))
        .arg(option("--callgrind-out-file=", &out))
        .arg(program)
        .args(arguments(plan))
        .stdin(Stdio::null());
    let child = child::output(&mut valgrind).map_err(|source| LabError::io("running valgrind", source))?;
    if interrupt::requested() {
        return Err(LabError::Interrupted);
    }
    if !child.status.success() {
        let told = String::from_utf8_lossy(&child.stderr);
        let last: Vec<&str> = told.lines().rev().take(3).collect();
        return Err(LabError::failed(format!("valgrind ended with {}: {}", child.status, last.join("; "))));
    }
    let mut counts = Vec::new();
    for dump in 1..=slices(plan).count() {
        let path = scratch.0.join(format!("out.{dump}"));
        let text = fs::read_to_string(&path).map_err(|source| LabError::io("reading counts", source))?;
        let total = total(&text).filter(|count| *count >= plan.ticks as u64);
        let total = total.ok_or_else(|| {
            LabError::failed(format!("callgrind's file {dump} has no count of {} ticks", plan.ticks))
        })?;
        counts.push(total as f64 / plan.ticks as f64);
    }
    Ok(Ok(cells(plan, &counts)))
}

/// Reads the total from one of callgrind's files.
pub(super) fn total(text: &str) -> Option<u64> {
    let line =
        text.lines().find_map(|line| line.strip_prefix("totals:").or(line.strip_prefix("summary:")))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Groups counts in the order of [`slices`] by population and structure.
pub(super) fn cells(plan: &Plan, counts: &[f64]) -> Vec<Cell> {
    let lanes = plan.lanes.len();
    let sizes = plan.sizes.iter().zip(counts.chunks(lanes * plan.rounds));
    let sampled = sizes.map(|(&n, counts)| {
        let of_lane = |at| {
            let own = counts.iter().skip(at).step_by(lanes);
            own.map(|&tick| Cost { to_callback: None, tick }).collect()
        };
        Sampled { n, samples: (0..lanes).map(of_lane).collect() }
    });
    sampled.filter_map(|sampled| plan.cell(&sampled, Unit::Instructions)).collect()
}
