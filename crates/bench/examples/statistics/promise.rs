//! The promise about certificates, held against the kept rows of the noises.

use std::collections::BTreeMap;

/// Most certificates of a hundred that may be wrong.
const PROMISED_PERCENT: f64 = 2.0;

/// Certificates below which a cell says nothing of the promise.
const ENOUGH: usize = 1_000;

/// Columns of the noise, of the certified share, and of the wrong certificates.
const NOISE: usize = 0;
const CERTIFIED: usize = 4;
const WRONG: usize = 5;

/// Head of the column that says whether a cell keeps the promise.
pub const HEAD: &str = "promise";

/// The wrong certificates of a cell.
struct Wrong {
    percent: f64,
    certificates: usize,
    bound_percent: f64,
}

impl Wrong {
    /// Reads `4.8 % of 84 (≤ 10.2 %)`; `None` for a cell without certificates.
    fn read(cell: &str) -> Option<Self> {
        let (percent, rest) = cell.split_once(" % of ")?;
        let (certificates, rest) = rest.split_once(" (≤ ")?;
        let bound = rest.trim_end_matches(" %)");
        Some(Self {
            percent: percent.parse().ok()?,
            certificates: certificates.parse().ok()?,
            bound_percent: bound.parse().ok()?,
        })
    }
}

/// The promise in a cell of the table, in words.
pub fn word(row: &[String]) -> String {
    let certified = row.get(CERTIFIED).and_then(|cell| cell.split(" (").next()).unwrap_or("0 %");
    let Some(wrong) = row.get(WRONG).and_then(|cell| Wrong::read(cell)) else {
        return "no certificate (0 %)".to_owned();
    };
    let more = wrong.percent > PROMISED_PERCENT;
    match (wrong.certificates >= ENOUGH, more) {
        (true, true) => "**more than promised**".to_owned(),
        (true, false) if wrong.bound_percent <= PROMISED_PERCENT => "kept".to_owned(),
        (true, false) => "at its limit".to_owned(),
        (false, true) => format!("no certificate ({certified}), **more than promised**"),
        (false, false) => format!("no certificate ({certified})"),
    }
}

/// The cells that keep the promise, those that break it, and those with too few certificates to tell.
pub fn sentences(rows: &[Vec<String>]) -> String {
    let known: Vec<(&str, Wrong)> = rows
        .iter()
        .filter_map(|row| Some((row.get(NOISE)?.as_str(), Wrong::read(row.get(WRONG)?)?)))
        .collect();
    let kept = known.iter().filter(|(_, wrong)| wrong.bound_percent <= PROMISED_PERCENT).count();
    let told = known.iter().filter(|(_, wrong)| wrong.certificates >= ENOUGH).count();
    let mut text = format!(
        "Of {} cells, {} certified nothing; {told} of the others have {ENOUGH} certificates, the rest \
         count as *no certificate* with the rate in the table. In {kept} cells the bound is 2 % or less.",
        rows.len(),
        rows.len() - known.len(),
    );
    let mut broken: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    for (noise, wrong) in known.iter().filter(|(_, wrong)| wrong.percent > PROMISED_PERCENT) {
        let (cells, most) = broken.entry(noise).or_default();
        *cells += 1;
        *most = wrong.percent.max(*most);
    }
    let list: Vec<String> = broken
        .iter()
        .map(|(noise, (cells, most))| format!("{noise} ({cells}, up to {most:.1} %)"))
        .collect();
    text.push_str(&if list.is_empty() {
        " In no cell were more than 2 % of the certificates wrong.".to_owned()
    } else {
        format!(" Cells with more than 2 % wrong certificates, by noise: {}.", list.join("; "))
    });
    text
}
