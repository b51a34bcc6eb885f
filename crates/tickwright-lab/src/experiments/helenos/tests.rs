use core::time::Duration;
use std::io;

use super::beside::{on_path, operations};
use super::channel::{Channel, Client, Loopback, Reply, Request, Transport, Wrong, token};
use super::cpu::{Pin, Processors};
use super::end::End;
use super::link::{Link, Tasks, Wanted};
use super::mailbox::Waiting;
use super::published::ROWS;
use super::registry::{self, Draw, Tree};
use super::run::{self, Cell, LookUps, Plan, Results};
use super::shared::{self, Shared};
use super::timing::Method;
use super::verdict::{self, Share};
use crate::render::Format;

fn wanted(transport: Transport, spins: u32) -> Wanted {
    Wanted { transport, tasks: Tasks::Threads, spins, cpu: None }
}

#[test]
fn every_transport_carries_calls_between_threads() {
    for transport in Transport::ALL {
        for spins in [0, 50] {
            let mut link = Link::start(wanted(transport, spins)).unwrap();
            registry::with_all(10, |all| {
                let mut client = Client::new(link.channel().unwrap());
                for (_, registry) in all {
                    registry.calls(300, &mut Draw::new(10, 7), &mut client)?;
                }
                Ok(())
            })
            .unwrap();
        }
    }
}

#[test]
fn a_server_ends_with_its_link_and_a_client_does_not_wait_for_one_that_is_gone() {
    for transport in Transport::ALL {
        // Joins its thread, or hangs.
        drop(Link::start(wanted(transport, 0)).unwrap());
    }
    let mailbox = std::sync::Arc::new(Shared::map(shared::memory().unwrap()).unwrap());
    let mut end =
        End { mailbox: std::sync::Arc::clone(&mailbox), waiting: Waiting { spins: 0, private: true } };
    mailbox.close(end.waiting);
    let request = Request { number: 1, target: 1, token: token(1) };
    assert_eq!(end.call(request).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(end.call(request).unwrap_err().kind(), io::ErrorKind::BrokenPipe, "it stays closed");
}

#[test]
fn a_waiting_client_is_told_that_the_mailbox_was_closed() {
    let mailbox = std::sync::Arc::new(Shared::map(shared::memory().unwrap()).unwrap());
    let waiting = Waiting { spins: 0, private: true };
    let mut end = End { mailbox: std::sync::Arc::clone(&mailbox), waiting };
    let client =
        std::thread::spawn(move || end.call(Request { number: 1, target: 1, token: 0 }).unwrap_err().kind());
    let mut server = End { mailbox: std::sync::Arc::clone(&mailbox), waiting };
    // The request has come, so the client waits or is about to.
    assert!(super::channel::Port::receive(&mut server).unwrap().is_some());
    mailbox.close(waiting);
    assert_eq!(client.join().unwrap(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn memory_of_another_size_is_no_mailbox() {
    let refused = Shared::map(io::pipe().unwrap().0).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
}

/// Answers with what it is told.
struct Liar(fn(Request) -> Reply);

impl Channel for Liar {
    fn call(&mut self, request: Request) -> io::Result<Reply> {
        Ok((self.0)(request))
    }
}

#[test]
fn a_wrong_reply_is_an_error() {
    let right = |request| Loopback.call(request).unwrap();
    let mut stale = Liar(|request| Loopback.call(Request { number: 7, ..request }).unwrap());
    assert!(matches!(Client::new(&mut stale).call(3, token(3)), Err(Wrong::Number { sent: 1, received: 7 })));
    let mut echo = Liar(|request| Reply { number: request.number, answer: request.token });
    assert!(matches!(Client::new(&mut echo).call(3, token(3)), Err(Wrong::Answer { target: 3, .. })));
    let mut honest = Liar(right);
    let mut client = Client::new(&mut honest);
    client.call(3, token(3)).unwrap();
    let refused = client.call(3, token(4)).unwrap_err().to_string();
    assert!(refused.contains("refused what the registry gave for task 3"), "{refused}");
}

#[test]
fn targets_are_all_tasks_and_no_others() {
    let mut draw = Draw::new(5, 1);
    let mut seen = [0; 5];
    for _ in 0..1000 {
        seen[usize::try_from(draw.next()).unwrap() - 1] += 1;
    }
    assert!(seen.iter().all(|&times| times > 100), "{seen:?}");
}

#[test]
fn a_round_trip_asks_the_tree_once_and_no_deeper_than_it_is() {
    for (tree, population, most) in [(Tree::Avl, 1000, 15), (Tree::Odict, 1000, 21), (Tree::Avl, 2, 3)] {
        let touches = registry::count(tree, population, 500, 1, &mut Client::new(&mut Loopback)).unwrap();
        assert_eq!(touches.look_ups, 1.0);
        // The height, and one comparison for equality.
        assert!(touches.most <= most, "{touches:?}");
        assert!(touches.comparisons <= touches.most as f64);
    }
}

fn plan() -> Plan {
    Plan {
        transports: vec![Transport::Futex],
        tasks: vec![Tasks::Threads],
        processors: Processors { client: None, server: None },
        methods: Method::ALL.to_vec(),
        trees: vec![Tree::Avl, Tree::Odict],
        populations: vec![2],
        duration: Duration::from_nanos(1),
        samples: 3,
        spins: 0,
        seed: 1,
        counted: 50,
    }
}

#[test]
fn a_run_has_all_its_samples() {
    let results = run::run(&plan()).unwrap();
    assert!(!results.interrupted);
    assert_eq!(results.cells.len(), 4);
    assert!(results.cells.iter().all(|cell| cell.samples.len() == 3));
    assert!(results.cells.iter().all(|cell| cell.round_trips.is_some() == (cell.method == Method::V2)));
    assert_eq!(results.look_ups.len(), 2);
    assert_eq!(verdict::pairs(&results, Tree::Odict).len(), 2);
    // What an emulated run writes is read again.
    let text = serde_json::to_value(&results).unwrap();
    let read: Vec<Cell> = serde_json::from_value(text.get("cells").unwrap().clone()).unwrap();
    assert_eq!(read.len(), results.cells.len());
}

#[test]
fn a_warm_up_that_was_cut_short_makes_no_shorter_samples_than_the_others() {
    let cell = |tree, round_trips| Cell {
        transport: Transport::Pipe,
        tasks: Tasks::Threads,
        population: 2,
        method: Method::V2,
        tree,
        round_trips,
        samples: Vec::new(),
    };
    let mut cells = [cell(Tree::Avl, Some(256)), cell(Tree::Odict, Some(4))];
    run::even(&mut cells);
    assert_eq!(cells.map(|cell| cell.round_trips), [Some(256); 2]);
    let mut by_the_clock = [cell(Tree::Avl, None), cell(Tree::Odict, None)];
    run::even(&mut by_the_clock);
    assert_eq!(by_the_clock.map(|cell| cell.round_trips), [None; 2]);
}

#[test]
fn the_published_gains_are_those_of_the_experiment() {
    let gains = ROWS.map(|row| (row.gain() * 10.0).round() / 10.0);
    assert_eq!(gains, [3.8, 7.6, 1.0, 7.1]);
    assert_eq!(ROWS[0].odict.0 / ROWS[0].seconds(), 40_332.0);
}

fn share(population: usize, avl: f64, odict: f64) -> Share {
    Share { population, round_trip: 5000.0, avl, odict }
}

#[test]
fn the_answer_is_no_where_look_ups_hardly_differ() {
    let said = verdict::answer(&[share(2, 5.0, 6.0), share(100_000, 90.0, 120.0)], &[]);
    assert!(said.contains("Does the tree matter to a ping-pong? No."), "{said}");
    assert!(said.contains("0.60 %"), "{said}");
    assert!(said.contains("From N = 100k on a look-up takes 1 %"), "{said}");
    assert!(said.contains("+3.8, +7.6, +1.0, +7.1 %"), "{said}");
}

#[test]
fn the_answer_names_the_population_from_which_the_choice_matters() {
    let said =
        verdict::answer(&[share(2, 5.0, 6.0), share(10_000, 90.0, 150.0), share(100_000, 300.0, 500.0)], &[]);
    assert!(said.contains("From N = 10k on"), "{said}");
    assert!(said.contains("a difference of 1.20 %"), "{said}");
    assert!(said.contains("10.00 % at 100k"), "{said}");
    let said = verdict::answer(&[share(2, 5.0, 6.0)], &[]);
    assert!(said.contains("At none up to 2"), "{said}");
    assert!(verdict::answer(&[], &[]).starts_with("No verdict"));
}

#[test]
fn a_difference_at_a_small_population_alone_is_not_said_of_larger_ones() {
    let said = verdict::answer(&[share(2, 50.0, 150.0), share(100, 90.0, 92.0)], &[]);
    assert!(said.contains("At N = 2, with a look-up"), "{said}");
    assert!(said.contains("a difference of 2.00 %; but no more at 100"), "{said}");
    assert!(!said.contains("From N = 2 on, with"), "{said}");
    // A look-up takes 3 % at 2, 0.4 % at 100 and 2 % at 10k.
    let said =
        verdict::answer(&[share(2, 150.0, 150.0), share(100, 20.0, 20.0), share(10_000, 99.0, 100.0)], &[]);
    assert!(said.contains("From N = 10k on a look-up takes 1 %"), "{said}");
}

#[test]
fn a_difference_that_look_ups_cannot_make_is_called_layout_or_noise() {
    let cell = |tree, rate: f64| Cell {
        transport: Transport::Futex,
        tasks: Tasks::Threads,
        population: 2,
        method: Method::V1,
        tree,
        round_trips: None,
        samples: vec![rate, rate * 1.001, rate * 0.999],
    };
    let look_up = |tree| LookUps { tree, population: 2, samples: vec![10.0; 9] };
    let results = Results {
        cells: vec![cell(Tree::Avl, 100_000.0), cell(Tree::Odict, 105_000.0)],
        look_ups: vec![look_up(Tree::Avl), look_up(Tree::Odict)],
        ..Results::default()
    };
    let pairs = verdict::pairs(&results, Tree::Odict);
    assert_eq!(pairs[0].words(), "odict faster");
    let said = verdict::answer(&verdict::shares(&results, &pairs), &pairs);
    assert!(said.contains("1 show a difference"), "{said}");
    assert!(said.contains("0 of the size that the look-ups have, 1 of another"), "{said}");
}

#[test]
fn what_perf_prints_is_read() {
    let text = "# Running 'sched/pipe' benchmark:\n\n     Total time: 0.007 [sec]\n\n       7.316000 usecs/op\n         136,686 ops/sec\n";
    assert_eq!(operations(text), Some(136_686.0));
    assert_eq!(operations(&text.replace("136,686", "136686")), Some(136_686.0));
    assert_eq!(operations("nothing"), None);
    assert_eq!(operations("x ops/sec"), None);
    assert_eq!(operations("0 ops/sec"), None);
}

#[test]
fn programmes_are_found_on_the_path_alone() {
    assert!(on_path("sh").is_some());
    assert_eq!(on_path("no-such-programme-anywhere"), None);
}

#[test]
fn counts_are_readable() {
    let shown = [0.0, 999.4, 1000.0, 403_320.0, 1_234_567.0].map(|value| Format::Thousands.write(value));
    assert_eq!(shown, ["0", "999", "1,000", "403,320", "1,234,567"]);
}

#[test]
fn both_processors_or_none() {
    assert_eq!(Pin::None.processors().unwrap(), Processors { client: None, server: None });
    let same = Pin::Same.processors().unwrap();
    assert_eq!(same.client, same.server);
}
