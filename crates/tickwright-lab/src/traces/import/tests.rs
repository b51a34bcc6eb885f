use super::{Source, guess};

#[test]
fn the_beginning_tells_what_wrote_a_file() {
    let ftrace =
        b"# tracer: nop\n  bash-1  [000] d... 1.5: timer_start: timer=1 function=f expires=1 [timeout=1]\n";
    for (beginning, source) in [
        (&ftrace[..], Source::Kernel),
        (b"[1361214076.525092220] (+0.000002128) VM1 timer_start: { cpu_id = 0 }", Source::Kernel),
        (b"  {\"traceEvents\": [", Source::Chrome),
        (b"[\n{\"ph\": \"X\"}", Source::Chrome),
        (b"\x1f\x8b\x08", Source::Chrome),
        (b"1795218604.8 poll([], 0, 2) = 0 (Timeout) <0.002>", Source::Strace),
        (
            b"strace: Process 7 attached\n[pid 7] 12:13:14.5 nanosleep({1, 0},  <unfinished ...>",
            Source::Strace,
        ),
        (b"29374 futex(0x7ff130f33bc4, FUTEX_WAIT", Source::Strace),
        (b"kind,time_ns,timer\narm,1,2\n", Source::Csv),
    ] {
        assert_eq!(guess(beginning), Ok(source), "{}", String::from_utf8_lossy(beginning));
    }
}

#[test]
fn a_packed_or_binary_file_is_refused_with_the_command_that_unpacks_it() {
    for (beginning, remedy) in [
        (&b"\xfd7zXZ\0"[..], "xz -dc"),
        (b"\x28\xb5\x2f\xfd\0", "zstd -dc"),
        (b"PERFILE2", "perf script"),
        (b"\x17\x08\x44tracing", "trace-cmd report"),
        (b"\x89TWT\r\n", "already"),
    ] {
        let why = guess(beginning).err().unwrap_or_default();
        assert!(why.contains(remedy), "{why}");
    }
}
