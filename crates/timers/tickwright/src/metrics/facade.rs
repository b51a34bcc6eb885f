//! Reports through the facade `metrics`.

use ::metrics::{Label, counter, describe_counter, describe_gauge, gauge};

use super::metric::{Labels, Measured, histograms, labels, samples};

/// Sets the metrics of a report in the program's recorder, with the names and labels that
/// [`OpenMetrics`](super::OpenMetrics) gives them: `tickwright_timers_fired_total`. Call it for
/// each report, every few seconds.
///
/// A recorder takes samples of a histogram one by one, but a report has counts. The buckets of a
/// histogram are therefore counters, with the label `le` as in Prometheus: `histogram_quantile`
/// reads them.
///
/// Reports of equal name and kind replace each other; a counter never falls. Without a recorder
/// nothing is set. The call looks up O(metrics) metrics in the recorder.
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
