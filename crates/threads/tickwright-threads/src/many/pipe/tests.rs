use super::*;

#[test]
fn a_program_that_is_executed_inherits_no_end() {
    let pipe = Pipe::new().unwrap();
    for end in [pipe.read.as_raw_fd(), pipe.write.as_raw_fd()] {
        // SAFETY: 1. The call only reads a flag of our descriptor.
        let flags = unsafe { libc::fcntl(end, libc::F_GETFD) };
        assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
    }
}

#[test]
fn a_sleeper_takes_what_was_written() {
    let pipe = Pipe::new().unwrap();
    let ready = || {
        let mut ask = libc::pollfd { fd: pipe.read.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: 1. One entry.
        unsafe { libc::poll(&raw mut ask, 1, 0) }
    };
    pipe.write();
    pipe.write();
    assert_eq!(ready(), 1);
    pipe.sleep(None);
    assert_eq!(ready(), 0, "else every later sleep ends at once");
}
