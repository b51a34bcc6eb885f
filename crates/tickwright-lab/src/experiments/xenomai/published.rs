//! The published figures (Xenomai project, "Benchmarks: timers list data structures", 2016):
//! averages in ns over a run of two hours.

/// One structure on one machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Published {
    /// The family here that is the same structure.
    pub(crate) family: &'static str,
    /// Averages by [`Op`](super::instrument::Op), ns; `None` where it was never called.
    pub(crate) avg: [Option<f64>; 4],
    /// Average over all operations, ns.
    pub(crate) overall: f64,
    /// Share of the processor's time that went into the queue, percent.
    pub(crate) share: f64,
    /// Samples of insert.
    inserts: u64,
    /// Samples of second.
    seconds: u64,
    /// The sum of all samples, ns.
    run_ns: u64,
}

impl Published {
    /// Time in the queue per tick, ns. The number of ticks follows from the counts: see the module
    /// above.
    pub(crate) fn per_tick(&self) -> f64 {
        let timer_ticks = (self.inserts - self.seconds) as f64 / 1.25;
        self.run_ns as f64 / (timer_ticks + self.seconds as f64)
    }
}

/// A machine of the experiment.
#[derive(Debug)]
pub(crate) struct PublishedHost {
    /// What it was.
    pub(crate) name: &'static str,
    /// Its structures, the binary heap first.
    pub(crate) rows: [Published; 3],
}

/// The family that everything is related to.
pub(crate) const REFERENCE: &str = "heap2";

/// Both machines.
pub(crate) static HOSTS: [PublishedHost; 2] = [
    PublishedHost {
        name: "Core i7",
        rows: [
            Published {
                family: "heap2",
                avg: [Some(17.0), Some(28.0), Some(34.0), Some(256.0)],
                overall: 69.0,
                share: 0.538_674,
                inserts: 115_007_570,
                seconds: 3_027_528,
                run_ns: 38_789_988_238,
            },
            Published {
                family: "rb",
                avg: [Some(35.0), Some(24.0), Some(222.0), Some(65.0)],
                overall: 79.0,
                share: 0.616_002,
                inserts: 115_008_407,
                seconds: 3_035_161,
                run_ns: 44_358_320_902,
            },
            Published {
                family: "rb-cached",
                avg: [Some(17.0), Some(22.0), Some(249.0), Some(80.0)],
                overall: 78.0,
                share: 0.603_434,
                inserts: 115_007_519,
                seconds: 3_034_300,
                run_ns: 43_453_306_148,
            },
        ],
    },
    PublishedHost {
        name: "Xplained",
        rows: [
            Published {
                family: "heap2",
                avg: [Some(182.0), None, Some(667.0), Some(2424.0)],
                overall: 788.0,
                share: 5.591_196,
                inserts: 113_042_095,
                seconds: 0,
                run_ns: 402_627_135_316,
            },
            Published {
                family: "rb",
                avg: [Some(545.0), None, Some(1697.0), Some(970.0)],
                overall: 909.0,
                share: 6.228_809,
                inserts: 113_045_891,
                seconds: 0,
                run_ns: 448_542_249_065,
            },
            Published {
                family: "rb-cached",
                avg: [Some(182.0), None, Some(1939.0), Some(1152.0)],
                overall: 788.0,
                share: 5.615_733,
                inserts: 113_044_878,
                seconds: 0,
                run_ns: 404_394_058_528,
            },
        ],
    },
];

impl PublishedHost {
    /// What it found for a family.
    pub(crate) fn of(&self, family: &str) -> Option<&Published> {
        self.rows.iter().find(|row| row.family == family)
    }
}

/// The family of a structure id: what stands before the stroke.
pub(crate) fn family(structure: &str) -> &str {
    structure.split_once('/').map_or(structure, |(family, _)| family)
}
