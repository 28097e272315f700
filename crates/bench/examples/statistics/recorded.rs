//! A matrix of trials that were really run, read from comma-separated values.

use seekwell_stats::checks::Trial;
use seekwell_stats::design::Design;
use std::collections::BTreeMap;

/// Every stack in every round.
pub struct Recorded {
    /// Axes of the stacks.
    pub design: Design,
    /// Names of the axes.
    pub axes: Vec<String>,
    /// `values[stack][round]`.
    pub values: Vec<Vec<f64>>,
    /// Names of the stacks.
    pub labels: Vec<String>,
    /// The trials in the order in which they ran.
    pub trials: Vec<Trial>,
}

impl Recorded {
    /// Some of the stacks, without what is known of the order of trials.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&str) -> bool) -> Self {
        let kept: Vec<usize> =
            (0..self.labels.len()).filter(|at| wanted(&self.labels[*at])).collect();
        Self {
            design: Design::unstructured(kept.len()),
            axes: self.axes.clone(),
            values: kept.iter().map(|at| self.values[*at].clone()).collect(),
            labels: kept.iter().map(|at| self.labels[*at].clone()).collect(),
            trials: Vec::new(),
        }
    }
}

/// Places of the columns that matter.
struct Columns {
    stack: usize,
    round: usize,
    position: usize,
    status: Option<usize>,
    value: usize,
    axes: Vec<usize>,
}

impl Columns {
    fn find(head: &str, value: &str) -> Result<Self, String> {
        let names: Vec<&str> = head.split(',').collect();
        let at = |name: &str| names.iter().position(|found| *found == name);
        let need = |name: &str| at(name).ok_or_else(|| format!("no column \"{name}\" in: {head}"));
        let axis = |(index, name): (usize, &&str)| name.starts_with("axis.").then_some(index);
        Ok(Self {
            stack: need("stack")?,
            round: need("round")?,
            position: need("position")?,
            status: at("status"),
            value: need(value)?,
            axes: names.iter().enumerate().filter_map(axis).collect(),
        })
    }
}

/// One line.
struct Line {
    label: String,
    levels: Vec<String>,
    round: usize,
    position: usize,
    value: f64,
}

impl Line {
    /// `None` for a trial that is not to be ranked.
    fn read(text: &str, columns: &Columns) -> Result<Option<Self>, String> {
        let fields: Vec<&str> = text.split(',').collect();
        let field = |index: usize| fields.get(index).copied().ok_or("too few columns".to_owned());
        if columns.status.is_some_and(|index| fields.get(index) != Some(&"ok")) {
            return Ok(None);
        }
        let count = |index: usize, what: &str| {
            field(index)?.parse::<usize>().map_err(|_| format!("the {what} is not a number"))
        };
        let value: f64 = field(columns.value)?.parse().map_err(|_| "the value is not a number")?;
        let levels: Result<Vec<String>, String> =
            columns.axes.iter().map(|index| field(*index).map(str::to_owned)).collect();
        Ok(Some(Self {
            label: field(columns.stack)?.to_owned(),
            levels: levels?,
            round: count(columns.round, "round")?,
            position: count(columns.position, "position")?,
            value,
        }))
    }
}

/// Reads trials in the order in which they ran. The first line names the columns: `stack`,
/// `round`, `position` (place in the round), the judged metric, one `axis.NAME` per axis, and
/// perhaps `status`; what is not `ok` is left out, and so are rounds that lack a stack.
///
/// # Errors
/// In words, with the line.
pub fn read(text: &str, value: &str) -> Result<Recorded, String> {
    let columns = Columns::find(text.lines().next().unwrap_or_default(), value)?;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate().skip(1) {
        let read = Line::read(line, &columns)
            .map_err(|what| format!("line {}: {what}: {line}", number + 1))?;
        lines.extend(read);
    }
    let mut stacks: BTreeMap<&str, BTreeMap<usize, f64>> = BTreeMap::new();
    for line in &lines {
        stacks.entry(&line.label).or_default().insert(line.round, line.value);
    }
    let rounds = stacks.values().next().ok_or("no trials")?.keys().copied();
    let complete: Vec<usize> =
        rounds.filter(|round| stacks.values().all(|values| values.contains_key(round))).collect();
    let labels: Vec<String> = stacks.keys().map(|label| (*label).to_owned()).collect();
    let index = |label: &str| labels.binary_search_by(|known| known.as_str().cmp(label)).ok();
    let trials = lines
        .iter()
        .filter_map(|line| {
            let stack = index(&line.label)?;
            let (round, position, value) = (line.round, line.position, line.value);
            Some(Trial { stack, round, position, value })
        })
        .collect();
    let head: Vec<&str> = text.lines().next().unwrap_or_default().split(',').collect();
    let names = columns.axes.iter().map(|axis| head[*axis].trim_start_matches("axis.").to_owned());
    Ok(Recorded {
        axes: names.collect(),
        design: design(&labels, &lines)?,
        values: stacks
            .values()
            .map(|values| complete.iter().map(|round| values[round]).collect())
            .collect(),
        labels,
        trials,
    })
}

/// Numbers the values of every axis in order of first appearance.
fn design(labels: &[String], lines: &[Line]) -> Result<Design, String> {
    let mut names: Vec<BTreeMap<&str, usize>> = Vec::new();
    let mut levels = Vec::new();
    for label in labels {
        let line =
            lines.iter().find(|line| line.label == *label).ok_or("a stack without trials")?;
        names.resize(line.levels.len(), BTreeMap::new());
        let numbers = line.levels.iter().zip(&mut names).map(|(name, known)| {
            let next = known.len();
            *known.entry(name).or_insert(next)
        });
        levels.push(numbers.collect());
    }
    Design::new(levels).map_err(|error| error.to_string())
}
