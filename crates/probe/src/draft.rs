//! Values of a device file with their sources and ranges, as a probe collects them.

use std::fmt::Write as _;

use super::Interval;
use super::describe::quoted;

/// Lines of a file, collected by part.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) values: String,
    pub(super) sources: String,
    pub(super) ranges: String,
}

impl Draft {
    /// The end of a file: sources, with `more` of them, and ranges.
    pub(super) fn tail(&self, source: &str, more: &str) -> String {
        let from = quoted(&format!("{source}: as the kernel presents it"));
        let Self { sources, ranges, .. } = self;
        format!("[sources]\n\"presented\" = {from}\n{more}{sources}\n[ranges]\n{ranges}")
    }

    /// A value with its source.
    pub(super) fn put(
        &mut self,
        table: &str,
        key: &str,
        value: impl std::fmt::Display,
        source: &str,
    ) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.values, "{key} = {value}");
        let _ = writeln!(self.sources, "\"{table}.{key}\" = {}", quoted(source));
    }

    /// Bounds of a value that differ.
    pub(super) fn range(&mut self, key: &str, low: f64, high: f64) {
        if low < high {
            let _ = writeln!(self.ranges, "{} = [{low}, {high}]", quoted(key));
        }
    }

    /// A time with its bounds as its source.
    pub(super) fn time(
        &mut self,
        table: &str,
        key: &str,
        found: Interval,
        source: &str,
        how: &str,
    ) {
        let (low, high) = (found.low / 1e3, found.high / 1e3);
        let source = format!("{source}: {low:.2} to {high:.2} us, {how}");
        self.put(table, key, format!("{:.3}", found.value / 1e3), &source);
    }
}
