//! Tests of threads' stacks as the platform reports them: the size, the guard, and whether a stack
//! is reused.
#![cfg(target_os = "linux")]
#![cfg(unix)]

mod common;

use core::ops::Range;
use std::fs;

use tickwright_threads::{Attributes, Runtime, this_thread};

// The list does not include the portable back end, because the platform determines the size of its
// stacks.
for_each_model! { @models [a_guard_is_there_when_it_is_asked_for sizes_are_those_asked_for]
one_to_one own_stacks fresh_stacks one_worker two_workers three_workers as_ngpt }

const PLAIN: Attributes = Attributes::new();

/// Returns the access rights at an address, such as `rw-p` or `---p`, or `None` if nothing is
/// mapped there.
fn rights(at: usize) -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        (number(from)?..number(to)?).contains(&at).then(|| rest.split(' ').next().map(str::to_owned))?
    })
}

fn in_a_thread<T: Send + 'static>(
    runtime: &Runtime,
    attributes: &Attributes,
    look: impl FnOnce(Range<usize>) -> T + Send + 'static,
) -> T {
    let body = move || look(this_thread::stack().expect("known"));
    runtime.spawn(attributes, body).unwrap().join().unwrap()
}

fn a_guard_is_there_when_it_is_asked_for(runtime: &Runtime) {
    for guard in [4096, 3 * 4096] {
        let attributes = PLAIN.stack(128 * 1024).guard(guard);
        let (lowest, above) = in_a_thread(runtime, &attributes, move |stack| {
            assert_eq!(rights(stack.start).as_deref(), Some("rw-p"));
            (rights(stack.start - guard), rights(stack.start - 1))
        });
        assert_eq!((lowest.as_deref(), above.as_deref()), (Some("---p"), Some("---p")), "{guard}");
    }
    // Without a guard, the memory below the stack belongs to another mapping or to none. The thread
    // still runs.
    let attributes = PLAIN.stack(128 * 1024).guard(0);
    assert!(in_a_thread(runtime, &attributes, |stack| rights(stack.start).is_some()));
}

fn sizes_are_those_asked_for(runtime: &Runtime) {
    for pages in [5, 16, 100, 1000] {
        let bytes = pages * 4096;
        let least = in_a_thread(runtime, &PLAIN.stack(bytes - 1).guard(0), |stack| stack.len());
        // The platform's own data can be on the stack, and glibc's cache can return a stack of up
        // to four times the requested size.
        let most = 4 * bytes.max(libc::PTHREAD_STACK_MIN);
        assert!((bytes - 4096..=most).contains(&least), "{pages} pages: {least}");
    }
}

fn addresses(runtime: &Runtime, count: usize) -> Vec<usize> {
    (0..count).map(|_| in_a_thread(runtime, &PLAIN, |stack| stack.end)).collect()
}

#[test]
fn a_recycled_stack_is_the_same_sixteen_times() {
    let all = addresses(&common::start(common::own_stacks()), 16);
    assert!(all.iter().all(|&at| at == all[0]), "{all:x?}");
}

/// A thread with another stack size uses another stack, and two threads that exist at the same time
/// have two stacks.
#[test]
fn a_recycled_stack_is_nobody_elses() {
    let runtime = common::start(common::own_stacks());
    let (handle, own) = (runtime.handle(), in_a_thread(&runtime, &PLAIN, |stack| stack.end));
    let (outer, inner) = runtime
        .run(move || {
            let inner = handle.spawn(&PLAIN, || this_thread::stack().unwrap().end).unwrap();
            (this_thread::stack().unwrap().end, inner.join().unwrap())
        })
        .unwrap();
    assert_eq!(outer, own);
    assert_ne!(outer, inner);
    let larger = in_a_thread(&runtime, &PLAIN.stack(256 * 1024), |stack| stack.len());
    assert!(larger >= 256 * 1024);
}

/// `ps`, debuggers and `/proc` show the beginning of a kernel thread's name.
#[test]
fn kernel_threads_show_the_beginning_of_their_name() {
    for model in [common::one_to_one(), common::fresh_stacks()] {
        let runtime = common::start(model);
        let look = |_| fs::read_to_string("/proc/thread-self/comm").unwrap();
        let shown = in_a_thread(&runtime, &PLAIN.name("a name that is longer"), look);
        assert_eq!(shown, "a name that is \n");
        assert_eq!(in_a_thread(&runtime, &PLAIN.name(""), look), "\n");
    }
}

/// A thread with the default size never gets a stack that was allocated for another size.
#[test]
fn a_stack_of_another_size_is_kept_for_nobody() {
    for model in [common::one_worker(), common::two_workers(), common::as_ngpt()] {
        let runtime = common::start(model);
        let len = |attributes| in_a_thread(&runtime, &attributes, |stack| stack.len());
        let (other, usual) = (len(PLAIN.stack(1 << 20)), len(PLAIN));
        assert_ne!(other, usual);
        for _ in 0..8 {
            assert_eq!((len(PLAIN.stack(1 << 20)), len(PLAIN)), (other, usual));
        }
    }
}
