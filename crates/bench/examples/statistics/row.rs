//! A row of the table, and how it is written.

#[path = "promise.rs"]
mod promise;

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

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
    /// Name of the measured quantity.
    pub what: &'static str,
    /// Under which conditions.
    pub case: String,
    /// The measured figures in words.
    pub figures: String,
    /// The share that the row is about.
    #[allow(dead_code, reason = "read by the test that includes this file")]
    pub share: Share,
    /// Target, if any.
    pub target: String,
    /// True if the target was reached; `None` if the row is for comparison only.
    pub reached: Option<bool>,
    /// Share of verdicts "inconclusive"; `None` where the row gives no verdicts.
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
    /// The row as it is kept, and as a table shows it.
    pub fn cells(&self) -> [String; 6] {
        let reached = match self.reached {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "–",
        };
        [
            self.what.to_owned(),
            self.case.clone(),
            self.figures.clone(),
            self.unresolved.map_or("–".to_owned(), |share| share.to_string()),
            self.target.clone(),
            reached.to_owned(),
        ]
    }
}

/// Names of the columns of the table.
pub const COLUMNS: [&str; 6] = ["what", "case", "measured", "inconclusive", "to reach", "reached"];

/// One line of the table in Markdown.
pub fn markdown(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// Head of the table in Markdown.
pub fn head() -> String {
    let names: Vec<String> = COLUMNS.iter().map(|name| (*name).to_owned()).collect();
    format!("{}\n| --- | --- | --- | --- | --- | --- |", markdown(&names))
}

/// One line of comma-separated values; every cell is quoted.
fn csv_line(cells: &[String]) -> String {
    let quoted: Vec<String> =
        cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
    quoted.join(",")
}

/// The cells of lines whose every cell is quoted.
pub fn read_csv(text: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| {
        let inner = line.trim_start_matches('"').trim_end_matches('"');
        inner.split("\",\"").map(|cell| cell.replace("\"\"", "\"")).collect()
    };
    text.lines().skip(1).map(cells).collect()
}

/// Path of the lines of a part of the table.
pub fn table_path(folder: &Path, part: &str) -> PathBuf {
    folder.join("table").join(format!("{part}.csv"))
}

/// Writes the lines of a part of the table, and its raw results.
///
/// # Errors
/// When the folder cannot be written.
pub fn write(folder: &Path, part: &str, rows: &[Row]) -> io::Result<()> {
    let raw = folder.join("raw");
    fs::create_dir_all(folder.join("table"))?;
    fs::create_dir_all(&raw)?;
    let names: Vec<String> = COLUMNS.iter().map(|name| (*name).to_owned()).collect();
    let lines = rows.iter().map(|row| csv_line(&row.cells()));
    let table: Vec<String> = std::iter::once(csv_line(&names)).chain(lines).collect();
    fs::write(table_path(folder, part), table.join("\n") + "\n")?;
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.raw.name.is_empty()) {
        let text = files.entry(&row.raw.name).or_insert_with(|| format!("{}\n", row.raw.header));
        for line in &row.raw.lines {
            let _ = writeln!(text, "{line}");
        }
    }
    for (name, text) in files {
        let file = fs::File::create(raw.join(format!("{name}.csv.gz")))?;
        let mut file = GzBuilder::new().mtime(0).write(file, Compression::best());
        file.write_all(text.as_bytes())?;
        file.finish()?;
    }
    Ok(())
}

/// The text of a file of raw results, which may be deflated.
///
/// # Errors
/// When the file cannot be read.
pub fn read_raw(path: &Path) -> io::Result<String> {
    if path.extension().is_none_or(|ending| ending != "gz") {
        return fs::read_to_string(path);
    }
    let mut text = String::new();
    GzDecoder::new(fs::File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}

/// A further column of a table: its head, and its cell of a row.
type Further = (&'static str, fn(&[String]) -> String);

/// A kept table of other columns in Markdown; nothing if it was not measured yet.
fn other_table(path: &Path, further: Option<Further>) -> io::Result<String> {
    if !path.exists() {
        return Ok("Not measured yet.".to_owned());
    }
    let text = fs::read_to_string(path)?;
    let mut head: Vec<String> =
        text.lines().take(1).flat_map(|line| read_csv(&format!("\n{line}"))).flatten().collect();
    let mut lines = read_csv(&text);
    if let Some((name, cell)) = further {
        head.push(name.to_owned());
        lines.iter_mut().for_each(|row| row.push(cell(row)));
    }
    let rule = vec!["---".to_owned(); head.len()];
    let all: Vec<String> = [head, rule].iter().chain(&lines).map(|cells| markdown(cells)).collect();
    Ok(all.join("\n"))
}

/// The page with all kept tables.
///
/// # Errors
/// When a kept file cannot be read.
pub fn page(folder: &Path, parts: &[&str]) -> io::Result<String> {
    let verdicts = kept_table(folder, parts)?;
    let noise = other_table(&folder.join("table/noise.csv"), Some((promise::HEAD, promise::word)))?;
    let forecast = other_table(&folder.join("table/forecast.csv"), None)?;
    let rows = folder.join("table/noise.csv");
    let promise = match rows.exists() {
        true => promise::sentences(&read_csv(&fs::read_to_string(rows)?)),
        false => String::new(),
    };
    Ok(PAGE
        .replace("{promise}", &promise)
        .replace("{noise}", &noise)
        .replace("{forecast}", &forecast)
        .replace("{verdicts}", &verdicts))
}

/// The text around the tables.
const PAGE: &str = include_str!("page.md");

/// The whole kept table in Markdown; parts that were not measured yet are left out.
///
/// # Errors
/// When a kept file cannot be read.
pub fn kept_table(folder: &Path, parts: &[&str]) -> io::Result<String> {
    let mut text = head();
    for part in parts {
        let path = table_path(folder, part);
        if path.exists() {
            for cells in read_csv(&fs::read_to_string(path)?) {
                let _ = write!(text, "\n{}", markdown(&cells));
            }
        }
    }
    Ok(text)
}
