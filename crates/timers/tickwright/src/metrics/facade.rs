//! Publishes reports through the facade crate `metrics`.

use ::metrics::{Label, counter, describe_counter, describe_gauge, gauge};

use super::metric::{Labels, Measured, histograms, labels, samples};

/// Sets the metrics of a report in the program's recorder, with the same names and labels as
/// [`OpenMetrics`](super::OpenMetrics), for example `tickwright_timers_fired_total`. Call it every
/// few seconds for each report.
///
/// A recorder accepts only single samples of a histogram, but a report has counts per bucket. The
/// buckets are therefore published as counters with the label `le`, which Prometheus' function
/// `histogram_quantile` can read.
///
/// A report replaces the previous report with the same name and kind, but a counter is never
/// lowered. If the program has no recorder, the call does nothing. The call looks up each metric of
/// the report in the recorder.
///
/// ```
/// use tickwright::metrics::publish;
/// use tickwright::scheduler::{Scheduler, Settings};
///
/// let scheduler = Scheduler::new(Settings::new());
/// publish("jobs", &scheduler.report());
/// ```
pub fn publish<M: Measured>(name: &str, report: &M) {
    for (metric, labels, count) in samples(name, report) {
        let (name, kind, help) = metric.texts();
        if kind == "counter" {
            let name = format!("{name}_total");
            describe_counter!(name.clone(), help);
            counter!(name, facade(labels)).absolute(count);
        } else {
            describe_gauge!(name, help);
            gauge!(name, facade(labels)).set(count as f64);
        }
    }
    for (histogram, counts) in histograms(report) {
        let (base, help) = histogram.texts();
        let [bucket, sum, count] = ["bucket", "sum", "count"].map(|part| format!("{base}_{part}"));
        describe_counter!(bucket.clone(), help);
        for (le, within) in histogram.bounds().zip(counts.within) {
            let mut labels = labels::<M>(name);
            labels.push(("le", le));
            counter!(bucket.clone(), facade(labels)).absolute(within);
        }
        if let Some((ns, all)) = counts.sum_ns {
            gauge!(sum, facade(labels::<M>(name))).set(ns as f64 / 1e9);
            counter!(count, facade(labels::<M>(name))).absolute(all);
        }
    }
}

fn facade(labels: Labels) -> Vec<Label> {
    labels.into_iter().map(|(key, value)| Label::new(key, value)).collect()
}
