//! The author's question, answered with the figures of a run: how much of a round trip can the tree
//! change?

use super::published::ORIGINAL;
use super::registry::Tree;
use super::run::{Cell, Data};
use crate::output::table::count;
use crate::result::{Finding, labels};
use crate::stats::{Bound, CONFIDENCE, Interval, Summary, Verdict, median, ratios, summarise};

/// A share of a round trip matters if it is above this bound, in percent. The bound is close to the
/// standard deviation of the published samples.
pub(super) const MATTERS: Bound = Bound::AtMost(1.0);

/// The dictionary and the AVL tree at one population, with one timing method.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    population: usize,
    /// The median round trip in ns.
    avl_ns: f64,
    odict_ns: f64,
    /// The dictionary's rate divided by the AVL tree's rate, round by round.
    gain: Summary,
}

impl Pair {
    /// Returns whether the interval of the gain excludes 1.
    fn differs(&self) -> bool {
        let Interval { low, high, coverage } = self.gain.interval;
        coverage >= CONFIDENCE && (low > 1.0 || high < 1.0)
    }

    /// Returns whether the difference in look-up times explains the gain, which means that the
    /// expected gain is within the interval of the measured gain.
    fn is_explained(&self, shares: &[Share]) -> bool {
        let share = shares.iter().find(|share| share.population == self.population);
        let expected = |share: &Share| 1.0 + (share.avl - share.odict) / self.avl_ns;
        let Interval { low, high, .. } = self.gain.interval;
        share.is_some_and(|share| (low..=high).contains(&expected(share)))
    }
}

/// Pairs the AVL tree with the dictionary in every setting in which both have samples.
pub(super) fn pairs(cells: &[Cell]) -> Vec<Pair> {
    let key = |cell: &Cell| (cell.population, cell.method);
    let of = |avl: &Cell| {
        let odict = cells.iter().find(|cell| cell.tree == Tree::Odict && key(cell) == key(avl))?;
        Some(Pair {
            population: avl.population,
            avl_ns: 1e9 / median(&avl.samples)?,
            odict_ns: 1e9 / median(&odict.samples)?,
            gain: ratios(&odict.samples, &avl.samples)?,
        })
    };
    cells.iter().filter(|cell| cell.tree == Tree::Avl).filter_map(of).collect()
}

/// Look-up times compared with the shortest round trip at one population.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    pub(super) population: usize,
    /// The shortest median round trip in ns.
    pub(super) round_trip: f64,
    /// The median time of a look-up in ns.
    pub(super) avl: f64,
    pub(super) odict: f64,
    /// The look-up time of the slower tree, as a percentage of a round trip.
    pub(super) look_up: Summary,
    /// The difference between the two trees' look-up times, as a percentage of a round trip.
    pub(super) choice: Summary,
}

/// Returns the shares in ascending order of population.
pub(super) fn shares(data: &Data, pairs: &[Pair]) -> Vec<Share> {
    let mut populations: Vec<usize> = pairs.iter().map(|pair| pair.population).collect();
    populations.sort_unstable();
    populations.dedup();
    let of = |population| {
        let alone = |tree| {
            let found = data.asked.iter().find(|asked| (asked.tree, asked.population) == (tree, population));
            found.map(|found| found.samples.as_slice())
        };
        let of_n = pairs.iter().filter(|pair| pair.population == population);
        let round_trip = of_n.map(|pair| pair.avl_ns.min(pair.odict_ns)).min_by(f64::total_cmp)?;
        let (avl, odict) = (alone(Tree::Avl)?, alone(Tree::Odict)?);
        let rounds = |share: &dyn Fn(f64, f64) -> f64| {
            summarise(avl.iter().zip(odict).map(|(a, b)| 100.0 * share(*a, *b) / round_trip))
        };
        let (look_up, [avl, odict]) = (rounds(&f64::max)?, [median(avl)?, median(odict)?]);
        // The look-up time of the slower tree minus the look-up time of the faster tree, by
        // medians.
        let sign = (avl - odict).signum();
        Some(Share { population, round_trip, avl, odict, look_up, choice: rounds(&|a, b| sign * (a - b))? })
    };
    populations.into_iter().filter_map(of).collect()
}

/// Returns the headline, and the share at each population.
pub(super) fn findings(data: &Data) -> Vec<Finding> {
    let shares = shares(data, &pairs(&data.cells));
    let mut findings = vec![headline(&shares)];
    findings.extend(shares.iter().map(|share| {
        let about = format!("what the choice of the tree changes, percent, N = {}", count(share.population));
        Finding::bounded(about, share.choice, MATTERS).labelled(labels([("n", share.population.into())]))
    }));
    findings
}

fn headline(shares: &[Share]) -> Finding {
    let about = "what the choice of the tree changes of a ping-pong, percent";
    let gains = ORIGINAL.rows.iter().map(|row| format!("{:+.1}", row.gain())).collect::<Vec<_>>();
    let published = format!("odict gains {} %", gains.join(", "));
    let worst = shares.iter().max_by(|a, b| a.choice.median.total_cmp(&b.choice.median));
    let finding = match worst {
        None => Finding::stated(about, "not measured: it takes look-ups and calls, with avl and odict")
            .judged(Verdict::NotShown),
        Some(worst) => Finding {
            here: format!("at most {:.2} %, at N = {}", worst.choice.median, count(worst.population)),
            ..Finding::bounded(about, worst.choice, MATTERS)
        },
    };
    finding.published(published)
}

/// Returns the smallest population such that a look-up matters at this population and at every
/// larger one.
fn from_on(shares: &[Share]) -> Option<&Share> {
    let matters = |share: &&Share| MATTERS.judge(&share.look_up) == Verdict::Missed;
    shares.iter().rev().take_while(matters).last()
}

/// Summarizes the figures in sentences.
pub(super) fn answer(data: &Data) -> String {
    let pairs = pairs(&data.cells);
    let shares = shares(data, &pairs);
    let Some(largest) = shares.last() else { return String::new() };
    let percent = |figure: &Summary| format!("{:.2} %", figure.median);
    let mut lines = vec![match from_on(&shares) {
        None => format!(
            "A look-up is shown to take more than 1 % of a round trip at no N; at the largest, {}, it \
             takes {}.",
            count(largest.population),
            percent(&largest.look_up)
        ),
        Some(first) => {
            format!("A look-up takes more than 1 % of a round trip from N = {} on.", count(first.population))
        }
    }];
    let shown: Vec<&Pair> = pairs.iter().filter(|pair| pair.differs()).collect();
    let explained = shown.iter().filter(|pair| pair.is_explained(&shares)).count();
    lines.push(format!(
        "Of {} comparisons {} show a difference; {:.1} would by chance alone. {explained} have the size of the \
         look-ups. {} have another size, which is layout or noise.",
        pairs.len(),
        shown.len(),
        pairs.len() as f64 * (1.0 - CONFIDENCE),
        shown.len() - explained
    ));
    lines.push(
        "HelenOS's own trees are not on a call's way. They are asked when a task or thread begins, ends or is \
         looked up by its id. The published gains cannot come from the look-ups of a tree that nobody asks: \
         layout of the kernel's code and noise are left. `benches registry` asks the tree."
            .into(),
    );
    lines.join("\n")
}
