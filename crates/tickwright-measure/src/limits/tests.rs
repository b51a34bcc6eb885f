use std::path::PathBuf;

use super::*;

/// Pairs of a path and the file's text.
type Files<'f> = &'f [(&'f str, &'f str)];

/// A fake machine made of files, removed on drop.
struct Machine(PathBuf);

impl Machine {
    fn new(name: &str, files: Files<'_>) -> Self {
        let root = std::env::temp_dir().join(format!("tickwright-limits-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const UNLIMITED: &str = "Limit  Soft  Hard  Units\n\
    Max processes             unlimited            unlimited            processes\n";

const FILES: [(&str, &str); 8] = [
    ("proc/loadavg", "0.00 0.01 0.05 2/32700 5\n"),
    ("proc/sys/kernel/threads-max", "190000\n"),
    ("proc/sys/kernel/pid_max", "4194304\n"),
    ("proc/sys/vm/max_map_count", "65530\n"),
    ("proc/self/status", "Name:\tx\nThreads:\t32000\n"),
    ("proc/self/limits", UNLIMITED),
    ("proc/self/cgroup", "8:pids:/a/b\n0::/\n"),
    ("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n"),
];

/// Returns the reached limits of a machine whose files differ from [`FILES`] by `changed`.
fn with(name: &str, changed: Files<'_>) -> String {
    let kept = FILES.iter().filter(|(path, _)| changed.iter().all(|(other, _)| other != path));
    let files: Vec<(&str, &str)> = kept.chain(changed).copied().collect();
    met(&read(&Machine::new(name, &files).0))
}

#[test]
fn the_limit_that_is_met_is_named() {
    let maps = "x\n".repeat(65530);
    let proc = |soft: &str| format!("Max processes   {soft}   unlimited   processes\n");
    let (own, beyond, users) = (proc("32000"), proc("31999"), proc("32010"));
    let others = [
        ("proc/self/limits", users.as_str()),
        ("proc/self/status", "Uid:\t7\t7\t7\t7\nThreads:\t5\n"),
        ("proc/8/status", "Uid:\t7\t7\t7\t7\nThreads:\t32000\n"),
        ("proc/9/status", "Uid:\t0\t0\t0\t0\nThreads:\t9\n"),
    ];
    let space = [
        ("proc/self/status", "VmSize:\t1000 kB\nThreads:\t5\n"),
        ("proc/self/limits", "Max address space         1024000              unlimited            bytes\n"),
    ];
    let pids = [("sys/fs/cgroup/pids/a/pids.max", "32000"), ("sys/fs/cgroup/pids/a/pids.current", "32000")];
    let memory = [("sys/fs/cgroup/memory.max", "1000"), ("sys/fs/cgroup/memory.current", "990")];
    let cached = [memory[0], memory[1], ("sys/fs/cgroup/memory.stat", "anon 5\ninactive_file 900\n")];
    let unlimited = [("sys/fs/cgroup/memory.max", "max"), ("sys/fs/cgroup/memory.current", "990")];
    let committed = "MemTotal: 1000 kB\nMemAvailable: 400 kB\nCommitLimit: 500 kB\nCommitted_AS: 499 kB\n";
    let committed = [("proc/sys/vm/overcommit_memory", "2\n"), ("proc/meminfo", committed)];
    let cases: [(&str, Files<'_>, &str); 14] = [
        ("none", &[], "no limit that can be read is met (threads-max 32700 of 190000"),
        (
            "pid",
            &[("proc/sys/kernel/pid_max", "32768")],
            "pid_max is met (32700 of 32768); to raise it: sysctl kernel.pid_max",
        ),
        ("threads", &[("proc/sys/kernel/threads-max", "32701")], "threads-max is met"),
        ("maps", &[("proc/self/maps", &maps)], "max_map_count is met (65530 of 65530)"),
        ("user", &[("proc/self/limits", &own)], "ulimit -u is met (32000 of 32000)"),
        // The limit does not apply to the root user.
        ("root", &[("proc/self/limits", &beyond)], "no limit"),
        ("others", &others, "ulimit -u is met (32000 of 32010)"),
        ("space", &space, "ulimit -v is met (1024000 of 1024000)"),
        (
            "pids",
            &pids,
            "cgroup pids.max is met (32000 of 32000); to raise it: write N into /sys/fs/cgroup/pids/a/",
        ),
        ("v2", &memory, "cgroup memory is met (990 of 1000)"),
        // The kernel reclaims page cache before it refuses memory.
        ("cache", &cached, "no limit"),
        ("max", &unlimited, "no limit"),
        ("committed", &committed, "CommitLimit is met"),
        ("memory", &[("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 9 kB\n")], "memory is met"),
    ];
    for (name, changed, words) in cases {
        let said = with(name, changed);
        assert!(said.starts_with(words), "{name}: {said}");
    }
    assert_eq!(met(&[]), "no limit that can be read is met ()");
}

#[cfg(target_os = "linux")]
#[test]
fn this_machine_has_limits_and_memory() {
    let limits = read(Path::new("/"));
    assert!(limits.iter().any(|limit| limit.name == "max_map_count" && limit.used > 0), "{limits:?}");
    let (mapped, resident) = memory();
    assert!(resident > 0 && mapped >= resident);
}

#[test]
fn a_raised_limit_is_set_back() {
    let most = getrlimit(Resource::Core).maximum;
    let low = Rlimit { current: Some(0), maximum: most };
    setrlimit(Resource::Core, low).unwrap();
    let raised = Raised::to_hard(Resource::Core);
    assert_eq!(raised.is_some(), most != Some(0));
    assert_eq!(getrlimit(Resource::Core).current, most);
    drop(raised);
    assert_eq!(getrlimit(Resource::Core), low);
}
