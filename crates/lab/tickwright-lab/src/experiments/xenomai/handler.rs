//! The interrupt handler: a kernel's operations on its timer queue when the timer hardware fires.

use super::instrument::{Op, Probe};
use super::log::{Event, Log};
use super::workload::{Toggle, Workload};
use crate::structures::candidate::BenchQueue;

/// Runs one operation between two readings of the probe. This is a macro and not a function,
/// because a function would be compiled for each call and each structure.
macro_rules! time {
    ($probe:expr, $op:expr, $operation:expr) => {{
        let before = $probe.begin();
        let answer = $operation;
        $probe.end($op, before);
        answer
    }};
}

/// Result of one wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wake {
    /// Timers that ticked, including the host tick.
    pub(crate) ticks: u32,
    /// The time for which the hardware is set, in ns; `None` when nothing is pending.
    pub(crate) shot: Option<u64>,
}

/// The state that the handler works on and records.
pub(crate) struct Kernel<'a> {
    pub(crate) work: &'a mut Workload,
    pub(crate) probe: Probe<'a>,
    pub(crate) log: &'a mut Log,
}

/// A queue whose interrupt handler is a single virtual call, so that the driver around it is
/// compiled once.
pub(crate) trait Handled: BenchQueue {
    /// Serves every timer that is due at `now`, then programs the next shot. `now` is the only
    /// clock reading, taken at entry.
    fn handle(&mut self, kernel: &mut Kernel<'_>, now: u64) -> Wake;
}

impl<Q: BenchQueue> Handled for Q {
    fn handle(&mut self, kernel: &mut Kernel<'_>, now: u64) -> Wake {
        wake(self, kernel, now)
    }
}

fn wake<Q: BenchQueue>(queue: &mut Q, Kernel { work, probe, log }: &mut Kernel<'_>, now: u64) -> Wake {
    log.push(Event::Woke { now });
    let mut ticks = 0;
    let mut urgent = false;
    // Each timer is re-armed after `now`, so it ticks at most once in this call. If more timers
    // tick than exist, the queue is broken, so the loop stops and the oracle reports the fault.
    while ticks <= work.timers().len() as u32 {
        let Some(_due) = time!(probe, Op::Head, queue.look_at_head()).filter(|expiry| *expiry <= now) else {
            break;
        };
        let Some((id, expiry)) = time!(probe, Op::Remove, queue.take_head(now)) else { break };
        let Some((overruns, next)) = work.tick(id, now) else {
            log.push(Event::Ticked { id, expiry, overruns: 0 });
            break;
        };
        log.push(Event::Ticked { id, expiry, overruns });
        ticks += 1;
        time!(probe, Op::Insert, queue.insert(id, next));
        if work.is_host(id) {
            continue;
        }
        // A timer's tick makes a thread ready, and that thread is more urgent than the host.
        urgent = true;
        match work.toggle(now) {
            None => {}
            Some(Toggle::Start(id, expiry)) => {
                log.push(Event::Started { id, expiry });
                time!(probe, Op::Insert, queue.insert(id, expiry));
                heading_check(queue, probe);
            }
            Some(Toggle::Stop(id)) => {
                log.push(Event::Stopped { id });
                heading_check(queue, probe);
                time!(probe, Op::Remove, queue.remove(id));
            }
        }
    }
    let shot = program(work, queue, probe, log, urgent);
    log.push(Event::Programmed { head: shot });
    Wake { ticks, shot }
}

/// Checks whether the hardware is set for the timer that starts or stops, as the kernel does.
/// Within the tick the answer has no effect, because the hardware is set once at the end.
fn heading_check<Q: BenchQueue>(queue: &mut Q, probe: &mut Probe<'_>) {
    core::hint::black_box(time!(probe, Op::Head, queue.head()));
}

/// Sets the hardware. While urgent work is pending, the host tick must not interrupt it, so the
/// hardware is set for the timer after the host tick. When the work is done, which takes no time
/// here, the hardware is set for the head.
fn program<Q: BenchQueue>(
    work: &Workload,
    queue: &mut Q,
    probe: &mut Probe<'_>,
    log: &mut Log,
    urgent: bool,
) -> Option<u64> {
    let head = time!(probe, Op::Head, queue.head());
    if !urgent || head.is_none() || head != work.host_due() {
        return head;
    }
    let second = time!(probe, Op::Second, queue.second());
    log.push(Event::Deferred { second });
    time!(probe, Op::Head, queue.head())
}
