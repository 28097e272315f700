//! A row of the table, and how it is written.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// A share of cases with the count behind it.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Cases that count.
    pub hits: usize,
    /// All cases.
    pub of: usize,
}

impl Share {
    /// Counts what a condition holds for.
    pub fn count<T>(items: &[T], holds: impl Fn(&T) -> bool) -> Self {
        Self { hits: items.iter().filter(|item| holds(item)).count(), of: items.len() }
    }

    /// As a fraction; 0 of nothing is 0.
    pub fn value(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.hits as f64 / self.of as f64 }
    }
}

impl std::fmt::Display for Share {
    /// Per cent with the 95 % interval of Wilson (1927).
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.of == 0 {
            return write!(f, "none of 0");
        }
        let (n, p, z) = (self.of as f64, self.value(), 1.96);
        let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
        let reach = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let (low, high) = ((middle - reach).max(0.0), (middle + reach).min(1.0));
        write!(f, "{:.1} % ({:.1}–{:.1})", 100.0 * p, 100.0 * low, 100.0 * high)
    }
}

/// One measured row.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is measured.
    pub what: &'static str,
    /// Under which conditions.
    pub case: String,
    /// The measured figures in words.
    pub figures: String,
    /// The share that the row is about.
    #[allow(dead_code, reason = "read by the test that includes this file")]
    pub share: Share,
    /// What was to be reached, if anything.
    pub target: String,
    /// Whether it was; `None` where the row is for comparison only.
    pub reached: Option<bool>,
    /// Share of verdicts "not resolved"; `None` where the row gives no verdicts.
    pub unresolved: Option<Share>,
    /// Raw results.
    pub raw: Raw,
}

/// Raw results of a row: one line per simulated case.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// File name without ending; rows may share a file of the same columns.
    pub name: String,
    /// Column names, comma-separated.
    pub header: String,
    /// One line per case.
    pub lines: Vec<String>,
}

impl Row {
    /// One line of the table in Markdown.
    pub fn markdown(&self) -> String {
        let reached = match self.reached {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "–",
        };
        let unresolved = self.unresolved.map_or("–".to_owned(), |share| share.to_string());
        format!(
            "| {} | {} | {} | {} | {} | {} |",
            self.what, self.case, self.figures, unresolved, self.target, reached
        )
    }
}

/// Head of the table.
pub const HEAD: &str = "| what | case | measured | not resolved | to reach | reached |\n\
                        | --- | --- | --- | --- | --- | --- |";

/// Writes table and raw results into a folder.
pub fn write(folder: &Path, command: &str, rows: &[Row]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut table = format!("Command: `{command}`\n\n{HEAD}\n");
    for row in rows {
        let _ = writeln!(table, "{}", row.markdown());
    }
    fs::write(folder.join("table.md"), table)?;
    let mut names: Vec<&str> = rows.iter().map(|row| row.raw.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        let mut text = String::new();
        for row in rows.iter().filter(|row| row.raw.name == name) {
            if text.is_empty() {
                let _ = writeln!(text, "{}", row.raw.header);
            }
            for line in &row.raw.lines {
                let _ = writeln!(text, "{line}");
            }
        }
        fs::write(folder.join(format!("{name}.csv")), text)?;
    }
    Ok(())
}
