//! What a user can do when a recorder saw no timer of the program.

/// Returns two commands, or what the user has to write. The commands record the kernel's timers
/// that `program` waits for, and the program's own timers.
pub(crate) fn remedies(program: &str) -> [String; 2] {
    [
        format!(
            "the timers of the kernel behind its waits, as root: `perf record -a -e 'timer:hrtimer_*' -o perf.data -- \
             {program}`, then `perf script -i perf.data > timers.txt`, then `tickwright import timers.txt`"
        ),
        "its own timers: print a line for each arm, rearm, cancel and fire, in the program or by a probe of \
         bpftrace, under the heading time_ns,kind,timer,deadline_ns; then `tickwright import FILE.csv`"
            .into(),
    ]
}
