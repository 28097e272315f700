//! The file of a study: its labs, the formula of each value, the conditions of each `sign` claim, the
//! fits of its models, and the likely reasons for differences.

use crate::claims::Claims;
use crate::formula::{self, Formula};
use crate::toml_file::{FileError, Source};
use seekwell_model::lab::Match;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

pub mod page;
pub(crate) mod references;

#[cfg(test)]
mod tests;

/// Replication of a study.
#[derive(Clone, Debug, Default)]
pub struct Study {
    /// Its number.
    pub key: String,
    /// Remarks on how the study is replicated.
    pub notes: Vec<String>,
    /// Labs.
    pub labs: Vec<Lab>,
    /// Measure of each value, by name.
    pub measures: BTreeMap<String, Measure>,
    /// Curves: the names of their points from the smallest block to the largest.
    pub curves: BTreeMap<String, Vec<String>>,
    /// Conditions of claims of the forms `sign` and `range`, by claim.
    pub tests: BTreeMap<String, Test>,
    /// Likely reasons for differences, by claim or value.
    pub reasons: BTreeMap<String, String>,
    /// Further quantities shown with a claim or value, by its name; never scored.
    pub also: BTreeMap<String, Vec<Beside>>,
    /// Reasons why a testable claim or value was not measured, by name.
    pub not_measured: BTreeMap<String, String>,
    /// Reasons why a claim that seemed testable at the freeze cannot be tested here, by name.
    pub cannot: BTreeMap<String, String>,
    /// Reasons why a result is no evidence, by claim: for example that it repeats another claim.
    pub not_evidence: BTreeMap<String, String>,
    /// Experiments that show why a claim differs, by claim.
    pub findings: BTreeMap<String, Finding>,
    /// Changes that were made after a run had missed.
    pub changes: Vec<Changed>,
    /// Differences of earlier models with which kept runs of a lab still count.
    pub earlier_models: Vec<EarlierModel>,
    /// Picture and sentences.
    pub page: page::Page,
    /// Linux of the lab kernel, such as `6.12`; kept runs of another one do not count.
    pub linux: Option<String>,
    /// Parameters that are fitted, in this order.
    pub fits: Vec<Fit>,
    /// Parameters that no value determines.
    pub ranges: Vec<Range>,
}

/// A lab of a study.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lab {
    /// Its name in measures and claims.
    pub name: String,
    /// File of the whole set, without `.toml`; `None`: not part of it.
    pub whole: Option<String>,
    /// File of the quick set; `None`: not part of it.
    pub quick: Option<String>,
    /// CPU time to charge on the virtual backend, `CALL,KIB` in nanoseconds, with its source.
    pub cpu: Option<String>,
}

/// Measure of one value: a formula over the steps of the trials of one stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Name of the lab; `None` for one that is made of other measures alone.
    pub lab: Option<String>,
    /// Stack and workload.
    pub stack: Match,
    /// The formula.
    pub formula: Formula,
    /// Sets in which it compares with the study, `whole` or `quick`; empty: both.
    pub sets: Vec<Set>,
    /// Reason why it does not compare in the other set.
    pub because: Option<String>,
}

/// A set of labs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    /// The study's own size.
    Whole,
    /// Smaller.
    Quick,
}

impl Set {
    /// Returns the name used in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Quick => "quick",
        }
    }
}

/// Conditions of a claim.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    claim: Spanned<String>,
    /// All of these.
    #[serde(default)]
    pub all: Vec<Condition>,
    /// And one of these at least, where there are any.
    #[serde(default)]
    pub any: Vec<Condition>,
    /// And all of these.
    #[serde(default)]
    pub cells: Vec<Cells>,
}

/// A condition on the number of cells of a table whose whole interval is above a bound.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cells {
    /// Names of measures, groups by their begin and `*`: the cells.
    pub of: Vec<String>,
    /// Bound: a cell counts if its whole interval is above.
    pub above: f64,
    /// Number of them that must count.
    pub count: Count,
    /// For [`Count::MostIn`]: which cells more than half of those that count must be.
    #[serde(default)]
    pub most_in: Vec<String>,
}

/// Number of cells that must count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// One at least.
    One,
    /// None.
    None,
    /// More than half of those that count are of [`Cells::most_in`].
    MostIn,
}

/// A formula whose whole interval must be on one side of a bound.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The formula.
    #[serde(rename = "value")]
    pub formula: Formula,
    /// It must be above this.
    pub above: Option<f64>,
    /// It must be below this.
    pub below: Option<f64>,
    /// It must not be above this: true unless the whole interval is above.
    pub not_above: Option<f64>,
}

/// An experiment that shows why a claim differs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    of: Spanned<String>,
    /// The cause.
    pub text: String,
    /// Condition that is met if it is the cause.
    pub experiment: Condition,
}

/// A change that was made after a run had missed: of a lab, a model or a measure.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    /// Values that it decides and that count as fitted from then on; a name may have one `*`.
    #[serde(default)]
    pub values: Vec<String>,
    /// Its date.
    pub date: String,
    /// Change and what had missed.
    pub text: String,
}

impl Changed {
    /// Returns true if a value counts as fitted from then on.
    #[must_use]
    pub fn decides(&self, value: &str) -> bool {
        self.values.iter().any(|name| covers(name, value))
    }
}

/// Returns true if a name, which may have one `*`, is that of a value.
fn covers(name: &str, value: &str) -> bool {
    name.split_once('*').map_or(name == value, |(begin, end)| {
        value.len() >= begin.len() + end.len() && value.starts_with(begin) && value.ends_with(end)
    })
}

/// A difference of an earlier model that changes nothing a lab measures.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierModel {
    /// Name of the lab.
    pub lab: String,
    /// The difference, as the page shows it.
    pub difference: String,
    /// Reason why it changes nothing, with its date.
    pub because: String,
}

/// A further quantity of a claim or value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    of: Spanned<String>,
    /// Description of the quantity.
    pub says: String,
    /// The formula.
    #[serde(rename = "value")]
    pub formula: Formula,
}

/// A parameter that is fitted to a published value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// Name of the modelled device.
    pub device: String,
    /// Dotted key of the parameter in its file.
    pub parameter: String,
    /// Range to search.
    pub range: [f64; 2],
    /// Source of the range.
    pub source: String,
    /// The published value: one with `use = "fit"`.
    pub value: String,
    /// Steps of the parameter that matter, in its unit.
    pub step: f64,
}

/// A parameter that no published value determines: the prediction is what both ends give.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Name of the modelled device.
    pub device: String,
    /// Dotted key of the parameter in its file.
    pub parameter: String,
    /// Ends; without them those of the device's file.
    pub range: Option<[f64; 2]>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    study: Option<String>,
    linux: Option<String>,
    page: Option<page::Page>,
    notes: Vec<String>,
    lab: Vec<Lab>,
    measure: Vec<RawMeasure>,
    grid: Vec<RawGrid>,
    curve: Vec<RawCurve>,
    test: Vec<Test>,
    reason: Vec<Said>,
    also: Vec<Beside>,
    not_measured: Vec<Said>,
    cannot: Vec<Said>,
    not_evidence: Vec<Said>,
    finding: Vec<Finding>,
    changed: Vec<Changed>,
    earlier_model: Vec<EarlierModel>,
    fit: Vec<Fit>,
    range: Vec<Range>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMeasure {
    id: Spanned<String>,
    lab: Option<String>,
    #[serde(default, with = "Axes")]
    stack: Match,
    value: Formula,
    #[serde(default)]
    sets: Vec<Set>,
    because: Option<String>,
}

/// The same measure of many stacks: one for each combination of `over`, whose values stand for `$AXIS` in
/// the name and in the formula.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGrid {
    id: Spanned<String>,
    lab: Option<String>,
    #[serde(default, with = "Axes")]
    stack: Match,
    over: Over,
    value: Spanned<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Over {
    /// Words that are no axis of a lab: `$NAME` in the name and in the formula alone.
    words: BTreeMap<String, Vec<String>>,
    device: Vec<String>,
    journal: Vec<String>,
    filesystem: Vec<String>,
    scheduler: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCurve {
    name: Spanned<String>,
    lab: Option<String>,
    #[serde(default, with = "Axes")]
    stack: Match,
    value: Spanned<String>,
    /// Name of the point and the text that replaces `$` in the formula.
    points: Vec<[String; 2]>,
}

/// A [`Match`] in which a misspelt axis is an error.
#[derive(Deserialize)]
#[serde(remote = "Match", deny_unknown_fields)]
struct Axes {
    device: Option<String>,
    layer: Option<String>,
    journal: Option<String>,
    filesystem: Option<String>,
    scheduler: Option<String>,
    memory: Option<String>,
    workload: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    of: Spanned<String>,
    text: String,
}

/// Reads how a study is measured, and checks it against the claims.
///
/// # Errors
/// [`FileError`] with the line of what is wrong.
pub fn read(name: &str, text: &str, claims: &Claims) -> Result<Study, FileError> {
    let source = Source { name, text };
    let file: File = source.read()?;
    let Some(key) = file.study else {
        return Err(source.wrong(0, "missing field `study`".to_owned()));
    };
    if !claims.studies.iter().any(|study| study.key == key) {
        return Err(source.wrong(0, format!("'{key}' is not a study in the claims file")));
    }
    let mut reader = Reader { source, study: Study::default() };
    reader.study.labs = file.lab;
    file.measure.into_iter().try_for_each(|raw| reader.measure(raw))?;
    file.grid.iter().try_for_each(|raw| reader.grid(raw))?;
    file.curve.iter().try_for_each(|raw| reader.curve(raw))?;
    reader.references()?;
    let known = claims.of_study(&key);
    for test in file.test {
        if !known.iter().any(|claim| claim.id == *test.claim.get_ref()) {
            let problem = format!("'{}' is not a claim of the study", test.claim.get_ref());
            return Err(source.wrong(test.claim.span().start, problem));
        }
        reader.test(test)?;
    }
    let named = |id: &Spanned<String>| {
        let known = known.iter().any(|claim| claim.id == *id.get_ref())
            || claims.values(&key).any(|value| value.id() == id.get_ref());
        let problem = || format!("'{}' is neither a claim nor a value", id.get_ref());
        if known { Ok(()) } else { Err(source.wrong(id.span().start, problem())) }
    };
    for also in file.also {
        named(&also.of)?;
        reader.check(&also.formula)?;
        reader.study.also.entry(also.of.get_ref().clone()).or_default().push(also);
    }
    let said = |list: Vec<Said>| {
        let checked = list.into_iter().map(|said| {
            named(&said.of)?;
            Ok((said.of.into_inner(), said.text))
        });
        checked.collect::<Result<BTreeMap<_, _>, FileError>>()
    };
    reader.study.reasons = said(file.reason)?;
    reader.study.not_measured = said(file.not_measured)?;
    reader.check_cannot(&file.cannot)?;
    reader.study.cannot = said(file.cannot)?;
    reader.study.not_evidence = said(file.not_evidence)?;
    for finding in file.finding {
        named(&finding.of)?;
        reader.check(&finding.experiment.formula)?;
        reader.study.findings.insert(finding.of.get_ref().clone(), finding);
    }
    reader.check_changes(&file.changed, |name| {
        claims.values(&key).any(|value| covers(name, value.id()))
    })?;
    reader.check_earlier_models(&file.earlier_model)?;
    Ok(Study {
        page: reader.page(file.page.unwrap_or_default(), claims)?,
        changes: file.changed,
        earlier_models: file.earlier_model,
        linux: file.linux,
        key,
        notes: file.notes,
        fits: file.fit,
        ranges: file.range,
        ..reader.study
    })
}

struct Reader<'a> {
    source: Source<'a>,
    study: Study,
}

impl Reader<'_> {
    fn measure(&mut self, raw: RawMeasure) -> Result<(), FileError> {
        if raw.sets.is_empty() != raw.because.is_none() {
            let problem = format!("{} needs both sets and because, or neither", raw.id.get_ref());
            return Err(self.source.wrong(raw.id.span().start, problem));
        }
        let measure = Measure {
            lab: raw.lab,
            stack: raw.stack,
            formula: raw.value,
            sets: raw.sets,
            because: raw.because,
        };
        self.add(&raw.id, raw.id.get_ref().clone(), measure)
    }

    fn grid(&mut self, raw: &RawGrid) -> Result<(), FileError> {
        let over = &raw.over;
        let first = Cell {
            name: raw.id.get_ref().clone(),
            stack: raw.stack.clone(),
            value: raw.value.get_ref().clone(),
        };
        let mut cells = vec![first];
        cells = along(cells, "$device", &over.device, |stack| Some(&mut stack.device));
        cells = along(cells, "$journal", &over.journal, |stack| Some(&mut stack.journal));
        cells = along(cells, "$filesystem", &over.filesystem, |stack| Some(&mut stack.filesystem));
        cells = along(cells, "$scheduler", &over.scheduler, |stack| Some(&mut stack.scheduler));
        for (word, values) in &over.words {
            cells = along(cells, &format!("${word}"), values, |_| None);
        }
        for cell in cells {
            let formula = formula::parse(&cell.value)
                .map_err(|error| self.source.wrong(raw.value.span().start, error.to_string()))?;
            let measure = Measure::new(raw.lab.clone(), cell.stack, formula);
            self.add(&raw.id, cell.name, measure)?;
        }
        Ok(())
    }

    fn curve(&mut self, raw: &RawCurve) -> Result<(), FileError> {
        let mut names = Vec::new();
        for [point, stands] in &raw.points {
            let text = raw.value.get_ref().replace('$', stands);
            let formula = formula::parse(&text)
                .map_err(|error| self.source.wrong(raw.value.span().start, error.to_string()))?;
            let name = format!("{}.{point}", raw.name.get_ref());
            names.push(name.clone());
            let measure = Measure::new(raw.lab.clone(), raw.stack.clone(), formula);
            self.add(&raw.name, name, measure)?;
        }
        self.study.curves.insert(raw.name.get_ref().clone(), names);
        Ok(())
    }

    fn add(
        &mut self,
        at: &Spanned<String>,
        name: String,
        measure: Measure,
    ) -> Result<(), FileError> {
        let wrong = |problem| Err(self.source.wrong(at.span().start, problem));
        if let Some(lab) = &measure.lab
            && !self.study.labs.iter().any(|known| known.name == *lab)
        {
            return wrong(format!("'{lab}' is not a [[lab]] of this file"));
        }
        if measure.lab.is_none() && !measure.formula.paths().is_empty() {
            return wrong(format!("{name} reads a step and names no lab"));
        }
        if self.study.measures.contains_key(&name) {
            return wrong(format!("{name} is measured twice"));
        }
        self.study.measures.insert(name, measure);
        Ok(())
    }

    /// Every measure that another one names is there, and none needs itself.
    fn references(&self) -> Result<(), FileError> {
        let measures = &self.study.measures;
        for (name, measure) in measures {
            if let Some(missing) = references::unknown(&measure.formula, measures) {
                return Err(self
                    .source
                    .wrong(0, format!("{name} needs {missing}, which nothing measures")));
            }
            if references::needs_itself(name, measures) {
                return Err(self.source.wrong(0, format!("{name} needs itself")));
            }
        }
        Ok(())
    }

    fn test(&mut self, test: Test) -> Result<(), FileError> {
        let conditions = test.all.iter().chain(&test.any);
        conditions.map(|one| &one.formula).try_for_each(|formula| self.check(formula))?;
        for cells in &test.cells {
            self.cells(cells, test.claim.span().start)?;
        }
        self.study.tests.insert(test.claim.get_ref().clone(), test);
        Ok(())
    }

    /// Every cell is a measure, and those of which most must be are among them.
    fn cells(&self, cells: &Cells, at: usize) -> Result<(), FileError> {
        let wrong = |problem: String| Err(self.source.wrong(at, problem));
        let none = |name: &&String| {
            references::cells(std::slice::from_ref(*name), &self.study.measures).is_empty()
        };
        if let Some(missing) = cells.of.iter().chain(&cells.most_in).find(none) {
            return wrong(format!("nothing measures {missing}"));
        }
        let all = references::cells(&cells.of, &self.study.measures);
        let outside = references::cells(&cells.most_in, &self.study.measures)
            .into_iter()
            .find(|name| !all.contains(name));
        if let Some(outside) = outside {
            return wrong(format!("{outside} is none of the cells it is asked among"));
        }
        if (cells.count == Count::MostIn) == cells.most_in.is_empty() {
            return wrong("count = \"most-in\" and most_in belong together".to_owned());
        }
        Ok(())
    }

    fn check_cannot(&self, cannot: &[Said]) -> Result<(), FileError> {
        let tested = |one: &&Said| self.study.tests.contains_key(one.of.get_ref());
        cannot.iter().find(tested).map_or(Ok(()), |one| {
            let problem = format!("'{}' has a test and cannot be tested", one.of.get_ref());
            Err(self.source.wrong(one.of.span().start, problem))
        })
    }

    fn check_changes(
        &self,
        changes: &[Changed],
        is_known: impl Fn(&str) -> bool,
    ) -> Result<(), FileError> {
        let mut names = changes.iter().flat_map(|change| &change.values);
        names.find(|name| !is_known(name)).map_or(Ok(()), |unknown| {
            Err(self.source.wrong(0, format!("a change names '{unknown}', which is not a value")))
        })
    }

    fn check_earlier_models(&self, earlier: &[EarlierModel]) -> Result<(), FileError> {
        let is_lab = |one: &&EarlierModel| self.study.labs.iter().any(|lab| lab.name == one.lab);
        earlier.iter().find(|one| !is_lab(one)).map_or(Ok(()), |unknown| {
            Err(self.source.wrong(0, format!("'{}' is not a [[lab]] of this file", unknown.lab)))
        })
    }

    /// Checks that a formula has measures alone, and that they exist.
    fn check(&self, formula: &Formula) -> Result<(), FileError> {
        let wrong = |problem: String| Err(self.source.wrong_about(&formula.text, problem));
        if let Some(missing) = references::unknown(formula, &self.study.measures) {
            return wrong(format!("nothing measures {missing}"));
        }
        if !formula.paths().is_empty() {
            return wrong("measures in {…} are compared here; give the step a [[measure]]".into());
        }
        Ok(())
    }
}

/// One measure of a grid.
struct Cell {
    name: String,
    stack: Match,
    value: String,
}

/// Every cell with each value on one more axis; `word` in its name and formula becomes the value. An axis
/// without values leaves them as they are.
fn along(
    cells: Vec<Cell>,
    word: &str,
    values: &[String],
    axis: fn(&mut Match) -> Option<&mut Option<String>>,
) -> Vec<Cell> {
    if values.is_empty() {
        return cells;
    }
    let with = |cell: &Cell, value: &String| {
        let mut stack = cell.stack.clone();
        if let Some(axis) = axis(&mut stack) {
            *axis = Some(value.clone());
        }
        let (name, formula) = (cell.name.replace(word, value), cell.value.replace(word, value));
        Cell { name, stack, value: formula }
    };
    cells.iter().flat_map(|cell| values.iter().map(move |value| with(cell, value))).collect()
}

impl Measure {
    /// Makes a measure that compares with the study in every set.
    #[must_use]
    pub fn new(lab: Option<String>, stack: Match, formula: Formula) -> Self {
        Self { lab, stack, formula, sets: Vec::new(), because: None }
    }
}

impl Study {
    /// The set that the run of a lab belongs to, by the name of the lab's file.
    #[must_use]
    pub fn set_of(&self, lab: &str, file: &str) -> Set {
        let is = |quick| self.file_of(lab, quick) == Some(file);
        if is(true) && !is(false) { Set::Quick } else { Set::Whole }
    }

    /// The file of a lab in the whole or in the quick set.
    #[must_use]
    pub fn file_of(&self, lab: &str, quick: bool) -> Option<&str> {
        let lab = self.labs.iter().find(|known| known.name == lab)?;
        if quick { lab.quick.as_deref() } else { lab.whole.as_deref() }
    }
}
