//! Distance between two loads, figure by figure.

use super::{Miss, SYNCED_WRITE, Summary, Transfer, ratio};
use crate::calls::Class;
use serde::Serialize;

/// A figure of both loads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Name, with its unit.
    pub name: String,
    /// Value of the first load; `None` when it has none.
    pub first: Option<f64>,
    /// Value of the second one.
    pub second: Option<f64>,
    /// Distance: of shares their difference, of others that of the smaller to the larger, 0 to 1;
    /// `None` when one of them has no value.
    pub distance: Option<f64>,
}

/// A number of a summary.
type Amount = fn(&Summary) -> u64;

/// Compares the summaries of two loads.
#[must_use]
pub fn distance(first: &Summary, second: &Summary) -> Vec<Figure> {
    let mut all = mix(first, second);
    let amounts: [(&str, Amount); 13] = [
        ("calls", |of| of.calls),
        ("failed calls", |of| of.failed),
        ("threads", |of| of.threads),
        ("processes", |of| of.processes),
        ("files", |of| of.files),
        ("files created", |of| of.created),
        ("names removed", |of| of.removed),
        ("bytes read", |of| of.reads.bytes),
        ("bytes written", |of| of.writes.bytes),
        ("time in calls on files, ns", |of| of.in_calls_ns),
        ("time in other calls, ns", |of| of.elsewhere_ns),
        ("think time, ns", think_ns),
        ("length, ns", |of| of.duration_ns),
    ];
    all.extend(amounts.map(|(name, of)| amount(name, Some(of(first)), Some(of(second)))));
    all.push(amount("bytes between syncs", first.bytes_between_syncs, second.bytes_between_syncs));
    transfers("reads", &first.reads, &second.reads, &mut all);
    transfers("writes", &first.writes, &second.writes, &mut all);
    reuse(first, second, &mut all);
    all
}

fn think_ns(of: &Summary) -> u64 {
    of.thread_ns.saturating_sub(of.in_calls_ns).saturating_sub(of.elsewhere_ns)
}

/// Shares of the purposes of calls on files.
fn mix(first: &Summary, second: &Summary) -> Vec<Figure> {
    let whole = |of: &Summary| of.classes.iter().map(|class| class.count).sum::<u64>();
    let count = |of: &Summary, name: &str| {
        of.classes.iter().find(|class| class.class == name).map_or(0, |class| class.count)
    };
    let names = Class::ALL.into_iter().map(Class::name).chain([SYNCED_WRITE]);
    let of = |name: &str| {
        let part = |of: &Summary| ratio(count(of, name), whole(of));
        share(&format!("share of calls: {name}"), Some(part(first)), Some(part(second)))
    };
    let used = |figure: &Figure| figure.first != Some(0.0) || figure.second != Some(0.0);
    names.map(of).filter(used).collect()
}

fn transfers(name: &str, first: &Transfer, second: &Transfer, all: &mut Vec<Figure>) {
    if first.count == 0 && second.count == 0 {
        return;
    }
    let sizes =
        [("p50", first.sizes.p50, second.sizes.p50), ("p99", first.sizes.p99, second.sizes.p99)];
    for (percent, one, two) in sizes {
        all.push(amount(&format!("size of {name}, {percent}, bytes"), one, two));
    }
    let part = |of: &Transfer, part: u64| (of.located > 0).then(|| ratio(part, of.located));
    let sequential = (part(first, first.sequential), part(second, second.sequential));
    all.push(share(&format!("sequential {name}"), sequential.0, sequential.1));
    let aligned = (part(first, first.aligned), part(second, second.aligned));
    all.push(share(&format!("aligned {name}"), aligned.0, aligned.1));
}

/// Working set, and the largest difference of the miss ratios at caches of the same size.
fn reuse(first: &Summary, second: &Summary, all: &mut Vec<Figure>) {
    let (Some(one), Some(two)) = (&first.reuse, &second.reuse) else { return };
    let sets = (Some(one.working_set_bytes), Some(two.working_set_bytes));
    all.push(amount("working set, bytes", sets.0, sets.1));
    let at = |misses: &[Miss], bytes: u64| {
        misses.iter().rfind(|miss| miss.cache_bytes <= bytes).map_or(1.0, |miss| miss.share)
    };
    let sizes = one.misses.iter().map(|miss| miss.cache_bytes);
    let furthest = sizes
        .map(|bytes| (at(&one.misses, bytes), at(&two.misses, bytes)))
        .max_by(|a, b| (a.0 - a.1).abs().total_cmp(&(b.0 - b.1).abs()));
    if let Some((one, two)) = furthest {
        all.push(share("misses of a cache, where they differ most", Some(one), Some(two)));
    }
}

fn share(name: &str, first: Option<f64>, second: Option<f64>) -> Figure {
    let distance = first.zip(second).map(|(one, two)| (one - two).abs());
    Figure { name: name.to_owned(), first, second, distance }
}

#[allow(clippy::cast_precision_loss, reason = "distances have two digits")]
fn amount(name: &str, first: Option<u64>, second: Option<u64>) -> Figure {
    let distance = first
        .zip(second)
        .map(|(one, two)| if one == two { 0.0 } else { 1.0 - ratio(one.min(two), one.max(two)) });
    let value = |of: Option<u64>| of.map(|of| of as f64);
    Figure { name: name.to_owned(), first: value(first), second: value(second), distance }
}

#[cfg(test)]
mod tests;
