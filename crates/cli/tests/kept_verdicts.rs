//! The verdict of every kept run below `benches/runs`, judged again from its records and compared
//! with the frozen one in `benches/runs/verdicts.toml`.
//!
//! A change of the method that changes verdicts on purpose keeps the old value and says why:
//! `SEEKWELL_VERDICTS_CHANGED="the reason" cargo test -p seekwell --test kept_verdicts` adds the
//! reason and the verdict of today to each run whose verdict differs. Without the variable the
//! test only reads.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use seekwell_model::verdict::{Ratio, Verdict};
use seekwell_store::RunFile;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Two numbers are equal when they differ by less than this part: rows keep nine digits.
const TOLERANCE: f64 = 1e-8;

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Frozen {
    #[serde(default)]
    run: Vec<Entry>,
}

/// One kept run.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Path below `benches/runs`.
    file: String,
    /// The verdict as it was frozen first.
    then: Judged,
    /// Why today's verdict differs from the frozen one; absent when it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed: Option<String>,
    /// Today's verdict, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    now: Option<Judged>,
}

/// What is frozen of a verdict.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Judged {
    /// Also `winner`, `tie` or `unresolved`.
    kind: String,
    metric: String,
    rounds: u32,
    confidence: f64,
    tie: f64,
    /// The leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    baseline: Option<String>,
    /// The winner, the set of the tie, or the stacks that are left.
    stacks: Vec<String>,
    /// Best first: ratio, low, high, median, pairs, stack; `-` is missing.
    rows: Vec<String>,
}

impl Judged {
    fn of(verdict: &Verdict) -> Self {
        let kind = serde_json::to_value(verdict.kind).unwrap();
        Self {
            kind: kind.as_str().unwrap().to_owned(),
            metric: verdict.metric.clone(),
            rounds: verdict.rounds,
            confidence: verdict.confidence,
            tie: verdict.tie,
            baseline: verdict.baseline.clone(),
            stacks: verdict.stacks.clone(),
            rows: verdict.ratios.iter().map(row).collect(),
        }
    }

    /// The first difference, in words.
    fn differs(&self, other: &Self) -> Option<String> {
        let texts = [
            ("kind", self.kind.clone(), other.kind.clone()),
            ("metric", self.metric.clone(), other.metric.clone()),
            ("rounds", self.rounds.to_string(), other.rounds.to_string()),
            ("confidence", self.confidence.to_string(), other.confidence.to_string()),
            ("tie", self.tie.to_string(), other.tie.to_string()),
            ("baseline", format!("{:?}", self.baseline), format!("{:?}", other.baseline)),
            ("stacks", self.stacks.join(", "), other.stacks.join(", ")),
            ("number of rows", self.rows.len().to_string(), other.rows.len().to_string()),
        ];
        let text = texts
            .into_iter()
            .find(|(_, left, right)| left != right)
            .map(|(what, left, right)| format!("{what}: '{left}', now '{right}'"));
        text.or_else(|| {
            let mut rows = self.rows.iter().zip(&other.rows);
            rows.find(|(left, right)| !same_row(left, right))
                .map(|(left, right)| format!("row '{left}', now '{right}'"))
        })
    }
}

fn row(ratio: &Ratio) -> String {
    let number = |value: Option<f64>| {
        value.map_or("-".to_owned(), |value| {
            format!("{value:.8e}").parse::<f64>().unwrap().to_string()
        })
    };
    format!(
        "{} {} {} {} {} {}",
        number(ratio.ratio),
        number(ratio.low),
        number(ratio.high),
        number(ratio.median),
        ratio.pairs,
        ratio.stack
    )
}

/// The label is the sixth word and everything behind it.
fn same_row(left: &str, right: &str) -> bool {
    let words = |row: &str| row.splitn(6, ' ').map(str::to_owned).collect::<Vec<_>>();
    let same = |(left, right): (&String, &String)| match (left.parse(), right.parse()) {
        (Ok(left), Ok(right)) => close(left, right),
        _ => left == right,
    };
    let (left, right) = (words(left), words(right));
    left.len() == right.len() && left.iter().zip(&right).all(same)
}

fn close(left: f64, right: f64) -> bool {
    left == right || (left - right).abs() <= TOLERANCE * left.abs().max(right.abs())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/runs")
}

/// Run files below a folder, as paths relative to it.
fn run_files(folder: &Path, below: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        if entry.file_type().unwrap().is_dir() {
            run_files(folder, &path, found);
        } else if path.ends_with(".seekwell") {
            found.push(path);
        }
    }
    found.sort();
}

fn judged_again(path: &Path) -> Judged {
    let file = RunFile::open(path).unwrap();
    let plan = file.plan().unwrap();
    let outcomes = seekwell_runner::records::outcomes(&plan, file.records().unwrap());
    // A session that continues the run reads parts of the records alone.
    assert!(seekwell_session::outcomes(&plan, &file).unwrap() == outcomes, "{}", path.display());
    Judged::of(&seekwell_runner::judge::judge(&plan, &outcomes))
}

/// What is wrong with an entry: another verdict without a reason, or a reason without another
/// verdict.
fn complaint(entry: &Entry, today: &Judged) -> Option<String> {
    let file = &entry.file;
    match (&entry.changed, &entry.now, entry.then.differs(today)) {
        (None, None, None) => None,
        (None, _, Some(difference)) => Some(format!("{file}: {difference}")),
        (Some(_), Some(now), Some(_)) => {
            now.differs(today).map(|difference| format!("{file}: now {difference}"))
        }
        (Some(_), _, None) => Some(format!("{file}: 'changed', yet the verdict is the frozen one")),
        (changed, _, _) => {
            let missing = if changed.is_some() { "now" } else { "changed" };
            Some(format!("{file}: '{missing}' is missing: both say what changed"))
        }
    }
}

#[test]
fn every_kept_run_is_judged_as_frozen() {
    let folder = folder();
    let list = folder.join("verdicts.toml");
    let mut frozen: Frozen = toml::from_str(&std::fs::read_to_string(&list).unwrap()).unwrap();
    let mut files = Vec::new();
    run_files(&folder, "", &mut files);
    assert!(!files.is_empty());
    let listed: Vec<&String> = frozen.run.iter().map(|entry| &entry.file).collect();
    assert_eq!(
        listed,
        files.iter().collect::<Vec<_>>(),
        "verdicts.toml lists the kept runs, sorted"
    );

    let reason = std::env::var("SEEKWELL_VERDICTS_CHANGED").ok();
    let mut complaints = Vec::new();
    for entry in &mut frozen.run {
        let today = judged_again(&folder.join(&entry.file));
        let Some(said) = complaint(entry, &today) else { continue };
        complaints.push(said);
        let differs = entry.then.differs(&today).is_some();
        entry.changed = reason.clone().filter(|_| differs);
        entry.now = differs.then_some(today);
    }
    if reason.is_some() {
        std::fs::write(&list, toml::to_string_pretty(&frozen).unwrap()).unwrap();
    }
    assert!(
        complaints.is_empty(),
        "{} of {} kept runs are judged differently; when that is meant, say why with \
         SEEKWELL_VERDICTS_CHANGED (see the head of this test):\n{}",
        complaints.len(),
        files.len(),
        complaints.join("\n")
    );
}

#[test]
fn a_difference_in_any_part_is_seen() {
    let then = Judged {
        kind: "winner".to_owned(),
        metric: "unpack.elapsed".to_owned(),
        rounds: 6,
        confidence: 0.95,
        tie: 0.02,
        baseline: Some("a".to_owned()),
        stacks: vec!["a".to_owned()],
        rows: vec!["1 1 1 20.5 6 a".to_owned(), "1.25 1.2 - 25 6 b c".to_owned()],
    };
    assert_eq!(then.differs(&then), None);
    let changed = |change: &dyn Fn(&mut Judged)| {
        let mut now = then.clone();
        change(&mut now);
        then.differs(&now)
    };
    assert!(changed(&|now| now.kind = "tie".to_owned()).unwrap().starts_with("kind"));
    assert!(changed(&|now| now.rounds = 7).unwrap().starts_with("rounds"));
    assert!(changed(&|now| now.baseline = None).unwrap().starts_with("baseline"));
    assert!(changed(&|now| now.stacks.push("b".to_owned())).unwrap().starts_with("stacks"));
    assert!(changed(&|now| now.rows.truncate(1)).unwrap().starts_with("number of rows"));
    let row = |row: &str| changed(&|now| now.rows[1] = row.to_owned());
    assert_eq!(row("1.2500000001 1.2 - 25 6 b c"), None);
    assert!(row("1.250001 1.2 - 25 6 b c").is_some());
    assert!(row("1.25 1.2 1.3 25 6 b c").is_some());
    assert!(row("1.25 1.2 - 25 5 b c").is_some());
    assert!(row("1.25 1.2 - 25 6 b").is_some());

    let entry = |changed: Option<&str>, now| Entry {
        file: "f".to_owned(),
        then: then.clone(),
        changed: changed.map(str::to_owned),
        now,
    };
    let tie = Judged { kind: "tie".to_owned(), ..then.clone() };
    assert!(complaint(&entry(None, None), &then).is_none());
    assert!(complaint(&entry(None, None), &tie).is_some());
    assert!(complaint(&entry(Some("why"), Some(tie.clone())), &tie).is_none());
    assert!(complaint(&entry(Some("why"), Some(tie.clone())), &then).is_some());
    assert!(complaint(&entry(Some("why"), None), &tie).is_some());
}
