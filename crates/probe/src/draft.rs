//! Values of a device file with their sources and ranges, as a probe collects them.

use std::fmt::{Display, Write as _};

use super::Interval;
use super::describe::quoted;

/// Lines of a file, collected by part.
pub(super) struct Draft<'a> {
    /// Table of the values that follow.
    table: &'static str,
    /// Source of measured values, for people.
    source: &'a str,
    pub(super) values: String,
    sources: String,
    ranges: String,
}

impl<'a> Draft<'a> {
    pub(super) fn new(table: &'static str, source: &'a str) -> Self {
        let [values, sources, ranges] = [(); 3].map(|()| String::new());
        Self { table, source, values, sources, ranges }
    }

    /// A further table begins.
    pub(super) fn begin(&mut self, table: &'static str) {
        self.table = table;
        // Writing to a string cannot fail.
        let _ = writeln!(self.values, "\n[{table}]");
    }

    /// The end of a file: sources, with `more` of them, and ranges.
    pub(super) fn tail(&self, more: &str) -> String {
        let from = quoted(&self.by("as the kernel presents it"));
        let Self { sources, ranges, .. } = self;
        format!("[sources]\n\"presented\" = {from}\n{more}{sources}\n[ranges]\n{ranges}")
    }

    /// Source of a value that was measured like this.
    pub(super) fn by(&self, how: &str) -> String {
        format!("{}: {how}", self.source)
    }

    /// A value with its source.
    pub(super) fn put(&mut self, key: &str, value: impl Display, source: &str) {
        let _ = writeln!(self.values, "{key} = {value}");
        let _ = writeln!(self.sources, "\"{}.{key}\" = {}", self.table, quoted(source));
    }

    /// A measured value.
    pub(super) fn found(&mut self, key: &str, value: impl Display, how: &str) {
        self.put(key, value, &self.by(how));
    }

    /// A value that was not measured, and its bounds.
    pub(super) fn assume(&mut self, key: &str, value: impl Display, [low, high]: [f64; 2]) {
        self.put(key, value, "assumed");
        self.range(key, low, high);
    }

    /// Bounds of a value that differ.
    pub(super) fn range(&mut self, key: &str, low: f64, high: f64) {
        if low < high {
            let key = quoted(&format!("{}.{key}", self.table));
            let _ = writeln!(self.ranges, "{key} = [{low}, {high}]");
        }
    }

    /// A time with its bounds as its source.
    pub(super) fn time(&mut self, key: &str, found: Interval, how: &str) {
        let (low, high) = (found.low / 1e3, found.high / 1e3);
        let how = format!("{low:.2} to {high:.2} us, {how}");
        self.found(key, format!("{:.3}", found.value / 1e3), &how);
    }
}
