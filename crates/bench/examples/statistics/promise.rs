//! The promise about certificates, held against the kept rows of the noises.

use std::collections::BTreeMap;

/// Most certificates of a hundred that may be wrong.
const PROMISED_PERCENT: f64 = 2.0;

/// Certificates below which a cell says nothing of the promise.
const ENOUGH: usize = 1_000;

/// Columns of the noise, of the certified share, and of the wrong certificates.
const NOISE: usize = 0;
const WRONG: usize = 5;

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
