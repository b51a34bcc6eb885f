//! The author's question, answered with the figures of a run.

use core::fmt::Write;

use super::channel::Transport;
use super::link::Tasks;
use super::published::ROWS;
use super::registry::Tree;
use super::run::Results;
use super::timing::Method;
use crate::output::table;
use crate::stats;
use crate::stats::welch::{Welch, mean_and_deviation, welch};

/// What a share of a round trip must be to matter: about the standard deviation of the published
/// samples.
pub(crate) const MATTERS: f64 = 0.01;

/// Dictionary and AVL over one channel, at one population, timed one way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pair {
    pub(crate) transport: Transport,
    pub(crate) tasks: Tasks,
    pub(crate) population: usize,
    pub(crate) method: Method,
    /// Mean and standard deviation, round trips per second.
    pub(crate) avl: (f64, f64),
    pub(crate) odict: (f64, f64),
    /// Of the dictionary's samples less AVL's.
    pub(crate) test: Welch,
}

impl Pair {
    /// Percent of AVL's mean.
    pub(crate) fn percent(&self, rate: f64) -> f64 {
        100.0 * rate / self.avl.0
    }

    /// In words.
    pub(crate) fn words(&self) -> &'static str {
        match self.test {
            test if !test.differs() => "no difference shown",
            test if test.difference > 0.0 => "odict faster",
            _ => "avl faster",
        }
    }
}

/// All of which there are two samples of both.
pub(crate) fn pairs(results: &Results, tree: Tree) -> Vec<Pair> {
    let of_avl = results.cells.iter().filter(|cell| cell.tree == Tree::Avl);
    of_avl
        .filter_map(|avl| {
            let odict = results.cells.iter().find(|cell| {
                cell.tree == tree
                    && (cell.transport, cell.tasks, cell.population, cell.method)
                        == (avl.transport, avl.tasks, avl.population, avl.method)
            })?;
            Some(Pair {
                transport: avl.transport,
                tasks: avl.tasks,
                population: avl.population,
                method: avl.method,
                avl: mean_and_deviation(&avl.samples)?,
                odict: mean_and_deviation(&odict.samples)?,
                test: welch(&odict.samples, &avl.samples)?,
            })
        })
        .collect()
}

/// A look-up and the shortest mean round trip, at one population; ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    pub(crate) population: usize,
    pub(crate) round_trip: f64,
    pub(crate) avl: f64,
    pub(crate) odict: f64,
}

impl Share {
    /// What the slower tree's look-up is of a round trip.
    fn look_up(&self) -> f64 {
        self.avl.max(self.odict) / self.round_trip
    }

    /// What the choice of the tree is.
    fn choice(&self) -> f64 {
        (self.avl - self.odict).abs() / self.round_trip
    }
}

/// By population; the round trips of the fastest channel, where a tree matters most.
pub(crate) fn shares(results: &Results, pairs: &[Pair]) -> Vec<Share> {
    let mut populations: Vec<usize> = pairs.iter().map(|pair| pair.population).collect();
    populations.sort_unstable();
    populations.dedup();
    let alone = |tree, population| {
        let found = results.look_ups.iter().find(|l| (l.tree, l.population) == (tree, population))?;
        stats::summarise(found.samples.iter().copied()).map(|summary| summary.median)
    };
    let of = |population| {
        let rates = pairs.iter().filter(|pair| pair.population == population);
        let fastest = rates.map(|pair| pair.avl.0.max(pair.odict.0)).max_by(f64::total_cmp)?;
        let (avl, odict) = (alone(Tree::Avl, population)?, alone(Tree::Odict, population)?);
        Some(Share { population, round_trip: 1e9 / fastest, avl, odict })
    };
    populations.into_iter().filter_map(of).collect()
}

/// The first population from which on a share matters: there, and at all larger ones.
fn from_on(shares: &[Share], of: impl Fn(&Share) -> f64) -> Option<&Share> {
    shares.iter().rev().take_while(|share| of(share) >= MATTERS).last()
}

/// The answer.
pub(crate) fn answer(shares: &[Share], pairs: &[Pair]) -> String {
    let Some(largest) = shares.last() else {
        return "No verdict: it takes AVL and odict, two samples of each and look-ups alone.\n".into();
    };
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let at = |share: &Share| table::count(share.population);
    let mut out = String::from("Does the tree matter to a ping-pong? ");
    let worst = shares.iter().max_by(|a, b| a.choice().total_cmp(&b.choice())).unwrap_or(largest);
    match from_on(shares, Share::choice) {
        None if worst.choice() >= MATTERS => {
            let _ = write!(
                out,
                "At N = {}, with a look-up in each round trip: AVL takes {} ns and odict {} ns of {}, a difference of {}; but no more at {}.",
                at(worst),
                table::ns(worst.avl),
                table::ns(worst.odict),
                table::ns(worst.round_trip),
                percent(worst.choice()),
                at(largest)
            );
        }
        None => {
            let _ = write!(
                out,
                "No. With a look-up in each round trip, AVL and odict differ by {} of the fastest channel's round trip at most (N = {}: {} and {} ns of {}).",
                percent(worst.choice()),
                at(worst),
                table::ns(worst.avl),
                table::ns(worst.odict),
                table::ns(worst.round_trip)
            );
        }
        Some(first) => {
            let _ = write!(
                out,
                "From N = {} on, with a look-up in each round trip: AVL takes {} ns and odict {} ns of {}, a difference of {}.",
                at(first),
                table::ns(first.avl),
                table::ns(first.odict),
                table::ns(first.round_trip),
                percent(first.choice())
            );
        }
    }
    out += "\nAt what population does it matter at all? ";
    match from_on(shares, Share::look_up) {
        None => {
            let _ = write!(
                out,
                "At none up to {}: there a look-up is {} of the fastest round trip.",
                at(largest),
                percent(largest.look_up())
            );
        }
        Some(first) => {
            let _ = write!(
                out,
                "From N = {} on a look-up takes {:.0} % of the fastest round trip or more: {} there",
                at(first),
                MATTERS * 100.0,
                percent(first.look_up())
            );
            if first.population < largest.population {
                let _ = write!(out, ", {} at {}", percent(largest.look_up()), at(largest));
            }
            out.push('.');
        }
    }
    out += "\n";
    out += &unexplained(shares, pairs);
    let gains: Vec<String> = ROWS.iter().map(|row| format!("{:+.1}", row.gain())).collect();
    let _ = writeln!(
        out,
        "HelenOS's own trees are not on a call's way: they are asked when a task or thread begins, ends or is looked up by its id. The published gains ({} %) \
         cannot come from the look-ups of a tree that nobody asks; layout of the kernel's code and noise are what is left. `tickwright bench registry` asks the tree.",
        gains.join(", ")
    );
    out
}

/// Differences that the tests show and the look-ups cannot be the cause of.
fn unexplained(shares: &[Share], pairs: &[Pair]) -> String {
    let shown: Vec<&Pair> = pairs.iter().filter(|pair| pair.test.differs()).collect();
    let explained = |pair: &Pair| {
        let share = shares.iter().find(|share| share.population == pair.population);
        share.is_some_and(|share| {
            // What the look-ups make of this channel's rate, in its own direction.
            let gain = (share.avl - share.odict) * pair.avl.0 / 1e9;
            let (low, high) = (pair.test.low / pair.avl.0, pair.test.high / pair.avl.0);
            (low..=high).contains(&gain)
        })
    };
    let (clear, odd): (Vec<&Pair>, Vec<&Pair>) = shown.iter().copied().partition(|pair| explained(pair));
    let expected = pairs.len() as f64 * (1.0 - stats::CONFIDENCE);
    format!(
        "Of {} comparisons {} show a difference ({expected:.1} would by chance alone): {} of the size that the look-ups have, {} of another, which is layout or noise.\n",
        pairs.len(),
        shown.len(),
        clear.len(),
        odd.len()
    )
}
