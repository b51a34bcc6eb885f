use std::io;
use std::sync::Arc;

use super::channel::{Channel, Client, Loopback, Port, Reply, Request, token};
use super::link::{End, Link};
use super::mailbox::Mailbox;
use super::registry::{self, Asked, Draw, Tree};
use super::run::{Cell, Data};
use super::timing::Method;
use super::*;
use crate::experiment::conduct;
use crate::stats::Verdict;

#[test]
fn a_mailbox_carries_calls_between_threads() {
    for spins in [0, 50] {
        let mut link = Link::start(spins, None).unwrap();
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

#[test]
fn a_server_ends_with_its_link_and_a_client_does_not_wait_for_one_that_is_gone() {
    // Dropping the link joins its thread; a failure would hang here.
    drop(Link::start(0, None).unwrap());
    let mailbox = Arc::new(Mailbox::default());
    let mut end = End { mailbox: Arc::clone(&mailbox), spins: 0 };
    mailbox.close();
    let request = Request { number: 1, target: 1, token: token(1) };
    assert_eq!(end.call(request).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(end.call(request).unwrap_err().kind(), io::ErrorKind::BrokenPipe, "it stays closed");
}

#[test]
fn a_waiting_client_is_told_that_the_mailbox_was_closed() {
    let mailbox = Arc::new(Mailbox::default());
    let mut end = End { mailbox: Arc::clone(&mailbox), spins: 0 };
    let client =
        std::thread::spawn(move || end.call(Request { number: 1, target: 1, token: 0 }).unwrap_err().kind());
    let mut server = End { mailbox: Arc::clone(&mailbox), spins: 0 };
    // The request has arrived, so the client waits for the answer or is about to wait.
    assert!(server.receive().unwrap().is_some());
    mailbox.close();
    assert_eq!(client.join().unwrap(), io::ErrorKind::UnexpectedEof);
}

/// A channel that returns the reply which the given function computes.
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
    let wrong = |channel: &mut dyn Channel| Client::new(channel).call(3, token(3)).unwrap_err();
    assert_eq!(wrong(&mut stale), "call 1 was answered with the number 7");
    let mut echo = Liar(|request| Reply { number: request.number, answer: request.token });
    assert!(wrong(&mut echo).starts_with("task 3 answered"));
    let mut honest = Liar(right);
    let mut client = Client::new(&mut honest);
    client.call(3, token(3)).unwrap();
    let refused = client.call(3, token(4)).unwrap_err();
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
        let asked = registry::count(tree, population, 500, 1).unwrap();
        assert_eq!(asked.look_ups, 1.0);
        // A look-up makes at most one comparison per level, and one comparison for equality.
        assert!(asked.most <= most, "{asked:?}");
        assert!(asked.comparisons <= asked.most as f64);
    }
}

/// Arguments for a run with a few calls of every kind.
const FEW: [&str; 4] = ["--n=1,2,100", "--rounds=2", "--duration=1ms", "--pin=none"];

#[test]
fn a_run_has_all_its_samples() {
    let args: HelenosArgs = request::words(&FEW).unwrap();
    let report = conduct(&args).unwrap();
    assert!(!report.interrupted);
    let rates: Vec<_> = report.series.iter().filter(|series| series.name == "round trips").collect();
    // Three populations, two trees and two methods.
    assert_eq!(rates.len(), 3 * 2 * 2);
    assert!(rates.iter().all(|series| series.samples.len() == 2));
    let counts = report.series.iter().filter(|series| series.name == "round trips of a sample");
    assert_eq!(counts.count(), 3 * 2, "v2 alone counts");
    assert_eq!(report.series.iter().filter(|series| series.name == "look-up").count(), 3 * 2);
    // The findings are the headline, and a share at each population.
    assert_eq!(report.findings.len(), 1 + 3);
}

#[test]
fn one_tree_alone_has_rates_and_no_verdict() {
    let args: HelenosArgs = request::words(&[&FEW[..], &["--structures=odict"]].concat()).unwrap();
    let report = conduct(&args).unwrap();
    assert_eq!((report.findings.len(), report.findings[0].verdict), (1, Verdict::NotShown));
    let text = crate::render::sections(&report.sections);
    assert!(text.contains("odict") && !text.contains("to avl"), "{text}");
}

/// Returns data with look-up times of both trees in ns, by population. A round trip takes 5000 ns.
fn data(look_ups: &[(usize, f64, f64)]) -> Data {
    let mut data = Data::default();
    let spread =
        |middle: f64, by: f64| (0..9).map(|at| middle * (1.0 + by * (f64::from(at) - 4.0))).collect();
    for &(population, avl, odict) in look_ups {
        for (tree, ns, comparisons, most) in [(Tree::Avl, avl, 7.7, 8), (Tree::Odict, odict, 8.1, 12)] {
            data.asked.push(Asked {
                tree,
                population,
                look_ups: 1.0,
                comparisons,
                most,
                samples: vec![ns; 9],
            });
            for (method, round_trips) in [(Method::V1, None), (Method::V2, Some(32_768))] {
                let samples = spread(200_000.0, 0.01);
                data.cells.push(Cell { population, method, tree, round_trips, samples });
            }
        }
    }
    data
}

#[test]
fn a_report_shows_the_published_figures_beside_its_own() {
    let mut data = data(&[(2, 5.0, 6.0), (100, 11.0, 18.0), (100_000, 110.0, 140.0)]);
    let odict = data.cells.iter_mut().find(|cell| cell.tree == Tree::Odict).unwrap();
    odict.samples.iter_mut().for_each(|rate| *rate *= 1.05);
    let args: HelenosArgs = request::words(&["--pin=none"]).unwrap();
    let plan = args.plan().unwrap();
    let findings = args.findings(&plan, &data);
    insta::assert_snapshot!(crate::render::sections(&args.sections(&plan, &data, &findings)));
    let headline = &findings[0];
    assert_eq!(headline.about, "what the choice of the tree changes of a ping-pong, percent");
    assert_eq!(headline.published.as_deref(), Some("odict gains +3.8, +7.6, +1.0, +7.1 %"));
}

/// Returns the headline's words, its verdict, and the sentences below the headline.
fn said(look_ups: &[(usize, f64, f64)]) -> (String, Verdict, String) {
    let data = data(look_ups);
    let finding = share::findings(&data).remove(0);
    (finding.here, finding.verdict, share::answer(&data))
}

#[test]
fn the_headline_names_where_the_choice_weighs_most_and_the_text_from_where_a_look_up_does() {
    let (here, verdict, text) = said(&[(2, 5.0, 6.0), (100_000, 90.0, 120.0)]);
    assert_eq!((here.as_str(), verdict), ("at most 0.60 %, at N = 100k", Verdict::Held));
    assert!(text.contains("from N = 100k on"), "{text}");
    let (here, verdict, text) = said(&[(2, 50.0, 150.0), (100, 20.0, 22.0)]);
    assert_eq!((here.as_str(), verdict), ("at most 2.00 %, at N = 2", Verdict::Missed));
    assert!(text.contains("at no N; at the largest, 100, it takes 0.44 %"), "{text}");
    let (_, _, text) = said(&[(2, 150.0, 150.0), (100, 20.0, 20.0), (10_000, 99.0, 100.0)]);
    assert!(text.contains("from N = 10k on"), "at all larger ones: {text}");
}

#[test]
fn a_difference_that_look_ups_cannot_make_is_called_layout_or_noise() {
    let mut data = data(&[(2, 10.0, 10.0)]);
    data.cells.iter_mut().filter(|cell| cell.tree == Tree::Odict).take(1).for_each(|cell| {
        cell.samples.iter_mut().for_each(|rate| *rate *= 1.05);
    });
    let text = share::answer(&data);
    assert!(text.contains("Of 2 comparisons 1 show"), "{text}");
    assert!(text.contains("0 have the size of the look-ups. 1 have another size"), "{text}");
}
