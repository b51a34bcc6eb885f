//! Runs work whose instructions you can count. Run `valgrind --tool=callgrind count create 10000`,
//! then the same command with 30000, and divide the difference of the two counts by 20,000.
//!
//! The work is `create` (and join), `yield` (two switches) or `park` (a ping-pong). Two more
//! arguments are optional: the number of workers, and `none` (no registry) or `ngpt` (NGPT's
//! knobs). Threads that are parked at once are a lane of `benches threads`.

use core::hint::black_box;

use tickwright_threads::{
    Attributes, Knobs, ManyToMany, Model, RegistryKind, Runtime, RuntimeHandle, this_thread,
};

const PLAIN: Attributes = Attributes::new();

#[inline(never)]
fn measured(work: impl FnOnce()) {
    work();
}

fn ring(handle: &RuntimeHandle, times: usize) {
    let mut ring = [None; 10];
    for i in 0..times {
        let slot = &mut ring[i % 10];
        if let Some(id) = slot.take() {
            black_box(handle.join(id)).ok();
        }
        *slot = handle.create(&PLAIN, || 0).ok();
    }
    for id in ring.into_iter().flatten() {
        handle.join(id).ok();
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let what = args.get(1).map_or("create", String::as_str).to_owned();
    let times: usize = args.get(2).and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let mut settings = ManyToMany::new().workers(args.get(3).and_then(|n| n.parse().ok()).unwrap_or(1));
    if args.get(4).is_some_and(|a| a == "none") {
        settings = settings.dictionary(RegistryKind::None);
    }
    if args.get(4).is_some_and(|a| a == "ngpt") {
        settings = settings.guard(0).keep(0).knobs(Knobs::ngpt());
    }
    let runtime = Runtime::new(Model::ManyToMany(settings)).unwrap();
    let handle = runtime.handle();
    runtime
        .run(move || match what.as_str() {
            "create" => {
                ring(&handle, 100);
                let from = std::time::Instant::now();
                measured(|| ring(&handle, times));
                eprintln!("create+join {:?} each", from.elapsed() / times as u32);
            }
            "yield" => {
                let go = |n: usize| move || (0..n).map(|_| this_thread::yield_now()).count();
                let from = std::time::Instant::now();
                measured(|| {
                    let a = handle.create(&PLAIN, go(times)).unwrap();
                    let b = handle.create(&PLAIN, go(times)).unwrap();
                    handle.join(a).ok();
                    handle.join(b).ok();
                });
                eprintln!("switch {:?} each", from.elapsed() / (2 * times) as u32);
            }
            "park" => {
                let me = this_thread::current().unwrap();
                let inner = handle.clone();
                let from = std::time::Instant::now();
                measured(|| {
                    let a = handle
                        .create(&PLAIN, move || {
                            for _ in 0..times {
                                inner.unpark(me).ok();
                                this_thread::park();
                            }
                            0
                        })
                        .unwrap();
                    for _ in 0..times {
                        this_thread::park();
                        handle.unpark(a).ok();
                    }
                    handle.join(a).ok();
                });
                eprintln!("ping-pong {:?} each", from.elapsed() / times as u32);
            }
            other => panic!("the work is create, yield or park, not {other}"),
        })
        .unwrap();
}
