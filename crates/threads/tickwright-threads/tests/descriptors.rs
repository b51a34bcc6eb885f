//! Tests in which several threads wait for the same descriptor. The result must not depend on
//! whether they have the same worker.
#![cfg(unix)]

mod common;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use tickwright_threads::{Attributes, Place, Runtime, io, this_thread};

for_each_model!(
    descriptors_wait,
    a_regular_file_is_always_ready,
    a_reader_and_a_writer,
    several_readers,
    readers_come_and_go,
    a_peer_that_hangs_up,
);

const PLAIN: Attributes = Attributes::new();

fn spread() -> Attributes {
    Attributes::new().place(Place::Spread)
}

/// Returns a pair of non-blocking streams.
fn pair() -> (Arc<UnixStream>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    (Arc::new(ours), theirs)
}

fn fill(mut stream: &UnixStream) {
    while stream.write(&[0; 4096]).is_ok() {}
}

fn drain(mut stream: &UnixStream) {
    while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
}

fn descriptors_wait(runtime: &Runtime) {
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    let echo = runtime
        .create(&PLAIN, move || {
            let mut bytes = [0];
            let mut count = 0;
            loop {
                match theirs.read(&mut bytes) {
                    Ok(0) => return count,
                    Ok(_) => {
                        io::writable(&theirs).unwrap();
                        theirs.write_all(&bytes).unwrap();
                        count += 1;
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                        io::readable(&theirs).unwrap()
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        })
        .unwrap();
    // The other threads of its worker continue.
    let busy = runtime.create(&PLAIN, || (0..50).map(|_| this_thread::yield_now()).count()).unwrap();
    assert_eq!(runtime.join(busy).unwrap(), 50);
    for byte in 0..20 {
        ours.write_all(&[byte]).unwrap();
        io::readable(&ours).unwrap();
        let mut bytes = [0];
        ours.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, [byte]);
    }
    drop(ours);
    assert_eq!(runtime.join(echo).unwrap(), 20);
}

/// A regular file is always ready, on threads of a runtime and on all other threads, as it is for
/// `poll`.
fn a_regular_file_is_always_ready(runtime: &Runtime) {
    let ready = || {
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        let null = std::fs::File::options().write(true).open("/dev/null").unwrap();
        [io::readable(&file), io::writable(&file), io::readable(&null), io::writable(&null)]
            .map(|waited| waited.map_err(|error| error.to_string()))
    };
    assert_eq!(runtime.run(ready).unwrap(), ready());
    assert_eq!(ready(), [const { Ok(()) }; 4]);
}

/// A reader and a writer wait for the same stream. The reader continues when there is data, and
/// later the writer continues when there is room.
fn a_reader_and_a_writer(runtime: &Runtime) {
    for reader_first in [false, true] {
        let (ours, theirs) = pair();
        fill(&ours);
        let (one, other) = (Arc::clone(&ours), Arc::clone(&ours));
        let reader = runtime.spawn(&spread(), move || io::readable(&one)).unwrap();
        let writer = runtime.spawn(&spread(), move || io::writable(&other)).unwrap();
        (0..20).for_each(|_| this_thread::yield_now());
        let write = || assert_eq!((&theirs).write(b"x").unwrap(), 1);
        if reader_first {
            write();
            reader.join().unwrap().unwrap();
            assert!(runtime.is_registered(writer.id()));
            drain(&theirs);
            writer.join().unwrap().unwrap();
        } else {
            drain(&theirs);
            writer.join().unwrap().unwrap();
            assert!(runtime.is_registered(reader.id()));
            write();
            reader.join().unwrap().unwrap();
        }
    }
}

fn several_readers(runtime: &Runtime) {
    let (ours, mut theirs) = pair();
    let readers: Vec<_> = (0..5)
        .map(|_| {
            let own = Arc::clone(&ours);
            runtime.spawn(&spread(), move || io::readable(&own)).unwrap()
        })
        .collect();
    (0..20).for_each(|_| this_thread::yield_now());
    theirs.write_all(b"x").unwrap();
    for reader in readers {
        reader.join().unwrap().unwrap();
    }
}

/// Readers come and go in any order, and each letter is read by only one reader.
fn readers_come_and_go(runtime: &Runtime) {
    let (ours, mut theirs) = pair();
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let own = Arc::clone(&ours);
            let read = move || {
                let mut count = 0_usize;
                loop {
                    io::readable(&own).unwrap();
                    let mut letter = [0];
                    match (&*own).read(&mut letter) {
                        Ok(0) => return count,
                        Ok(_) => count += 1,
                        Err(_) => this_thread::yield_now(),
                    }
                }
            };
            runtime.spawn(&spread(), read).unwrap()
        })
        .collect();
    for _ in 0..100 {
        theirs.write_all(b"x").unwrap();
        this_thread::yield_now();
    }
    drop(theirs);
    assert_eq!(readers.into_iter().map(|reader| reader.join().unwrap()).sum::<usize>(), 100);
}

fn a_peer_that_hangs_up(runtime: &Runtime) {
    let (ours, theirs) = pair();
    fill(&ours);
    let (one, other) = (Arc::clone(&ours), Arc::clone(&ours));
    let reader = runtime.spawn(&spread(), move || io::readable(&one)).unwrap();
    let writer = runtime.spawn(&spread(), move || io::writable(&other)).unwrap();
    (0..20).for_each(|_| this_thread::yield_now());
    drop(theirs);
    reader.join().unwrap().unwrap();
    writer.join().unwrap().unwrap();
}
