//! The examples at the end of each command's help and manual page.

use crate::experiments;
use crate::experiments::row::Row;

/// A command line, and what it does.
type Example = (&'static str, &'static str);

/// Each command with its examples. The path of the command itself is empty.
pub(super) const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "",
        &[
            ("tickwright", "Run the tour: the experiments in short, and what they say for this machine."),
            ("tickwright record -o mine.twt -- ./server", "Record the timers of a program."),
            ("tickwright recommend mine.twt", "Name the structure for them."),
        ],
    ),
    (
        "bench",
        &[
            ("tickwright bench", "Compare all structures in short: a constant population, and a server."),
            ("tickwright bench network --n 100k", "Measure a server of 100,000 connections."),
            (
                "tickwright bench hold-exp-sparse expire --n 1M",
                "Measure two scenarios with a million timers.",
            ),
            (
                "tickwright bench periodic --n 16,1k --structures '*/hook'",
                "Measure periodic timers in the caller's nodes.",
            ),
            (
                "tickwright bench hold-exp-sparse --n 1k --fail-if 'p99(pop and insert) > 200ns'",
                "Exit with 1 when an operation is slower than that.",
            ),
            ("tickwright bench mine.toml --json=mine.json", "Measure a scenario of your own."),
            ("tickwright bench --memory --n 1k,1M", "Print bytes per timer at two populations."),
            (
                "tickwright bench --worst --structures 'wheel/*' --n 1M",
                "Attack the wheel with a million timers.",
            ),
            (
                "tickwright bench --matrix --quick",
                "Compare the best of ours with the best of others, in short.",
            ),
        ],
    ),
    (
        "reproduce",
        &[
            ("tickwright reproduce xenomai", "Repeat one experiment."),
            ("tickwright reproduce all -o page.html", "Repeat all of them, and write one page."),
        ],
    ),
    ("reproduce all", &[("tickwright reproduce all -o page.html", "Write the page to a file of that name.")]),
    (
        "latency",
        &[("tickwright latency -i 1ms -D 10s", "Run a timer of 1 ms over each structure, for ten seconds.")],
    ),
    (
        "latency run",
        &[
            (
                "tickwright latency run -p 80 -m -i 250us -D 1min",
                "Run with real-time priority 80 and locked memory.",
            ),
            ("tickwright latency run --cpu 1 -H", "Run on CPU 1, and print the cells of the histogram."),
        ],
    ),
    (
        "latency versus-cyclictest",
        &[(
            "tickwright latency versus-cyclictest -i 1ms -D 10s",
            "Take turns with cyclictest, of ten seconds each.",
        )],
    ),
    (
        "record",
        &[
            ("tickwright record -o mine.twt -- ./server --port 8080", "Record a program with its arguments."),
            ("tickwright record --only libuv,epoll -- ./server", "Record two sources alone."),
        ],
    ),
    (
        "import",
        &[
            ("tickwright import trace.txt -o mine.twt", "Read a trace of the kernel or of a browser."),
            (
                "tickwright import --source kernel --hz 250 trace.txt",
                "Say what the file is, and the kernel's HZ.",
            ),
        ],
    ),
    (
        "export",
        &[
            ("tickwright export mine.twt --form csv -o mine.csv", "Write a table of events."),
            (
                "tickwright export mine.twt --form parquet -o mine.parquet",
                "Write a file for DuckDB or Spark.",
            ),
        ],
    ),
    (
        "describe",
        &[
            ("tickwright describe mine.twt", "Print the page."),
            ("tickwright describe sample:bind9 --base '!epoll'", "Leave the time-outs of epoll out."),
        ],
    ),
    (
        "replay",
        &[
            ("tickwright replay mine.twt --structures 'wheel/*,heap4/*'", "Replay on two structures."),
            ("tickwright replay mine.twt --scale 16", "Replay 16 shifted copies at once."),
        ],
    ),
    (
        "recommend",
        &[
            (
                "tickwright recommend mine.twt --current heap4/hook",
                "Compare with the structure that the program has.",
            ),
            (
                "tickwright recommend profiles/gateway.toml --no-alloc",
                "Judge a profile, without structures that allocate.",
            ),
            ("tickwright recommend mine.twt --markdown", "Print a block for an issue."),
        ],
    ),
    ("show", &[("tickwright show matrix.json --markdown", "Print a result as Markdown.")]),
    (
        "compare",
        &[
            ("tickwright compare before.json after.json", "Print ratios with their intervals."),
            (
                "tickwright compare before.json after.json --fail-if-worse",
                "Exit with 1 when something became slower.",
            ),
        ],
    ),
    (
        "report",
        &[("tickwright report matrix.json xenomai.json -o page.html", "Write two results as one page.")],
    ),
    ("check", &[("tickwright check", "Run everything once. It takes half a minute.")]),
    (
        "list",
        &[
            ("tickwright list", "Print names of scenarios and structures."),
            ("tickwright list --scenario network", "Print a scenario, to change it."),
            ("tickwright list --schema", "Print the fields of results and scenarios as JSON Schema."),
        ],
    ),
    (
        "man",
        &[
            ("tickwright man | man -l -", "Read the manual page."),
            ("tickwright man /usr/local/share/man/man1", "Install the pages."),
        ],
    ),
    (
        "completions",
        &[(
            "tickwright completions bash > ~/.local/share/bash-completion/completions/tickwright",
            "Install those of bash.",
        )],
    ),
];

/// The examples of a command, and what they do. Those of an experiment stand in its file.
pub(super) fn of(path: &str) -> Vec<(String, &'static str)> {
    let row = path.strip_prefix("reproduce ").and_then(experiments::row);
    let own = EXAMPLES.iter().find(|(of, _)| *of == path).map_or(&[][..], |(_, examples)| examples);
    let own = own.iter().map(|(line, what)| ((*line).to_owned(), *what));
    own.chain(row.into_iter().flat_map(Row::examples)).collect()
}

/// The examples of a command as its help ends with them; empty if it has none.
pub(super) fn text(path: &str) -> String {
    let lines: String = of(path).iter().map(|(line, what)| format!("  {line}\n      {what}\n")).collect();
    if lines.is_empty() { lines } else { format!("Examples:\n{lines}\n") }
}
