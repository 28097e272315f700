//! The page of a study with our figures.

use super::measured::{Measures, quantity};
use crate::claims::Judgeable;
use crate::formula::Formula;
use crate::study::Study;
use crate::study::page::{Sentence, Suspect};
use seekwell_model::replication::{
    Agreement, Bar, ClaimOutcome, Line, Miss, Panel, Quantity, StudyPage, Suspected, Tested,
    ValueOutcome, ValueUse, three_digits,
};

#[cfg(test)]
mod tests;

/// A study that was judged.
pub(super) struct Judged<'a> {
    pub(super) study: &'a Study,
    pub(super) measures: &'a Measures<'a>,
    pub(super) values: &'a [ValueOutcome],
    /// Each claim with its result.
    pub(super) claims: &'a [(Judgeable, ClaimOutcome)],
}

impl Judged<'_> {
    /// Fills the page of the study's file.
    pub(super) fn page(&self) -> StudyPage {
        let page = &self.study.page;
        StudyPage {
            asked: page.asked.clone(),
            findings: page.findings.iter().map(|sentence| self.sentence(sentence)).collect(),
            panels: page.panels.iter().map(|panel| self.panel(panel)).collect(),
            suspected: page.suspected.iter().map(|one| self.suspected(one)).collect(),
            misses: self.misses(),
        }
    }

    fn suspected(&self, suspect: &Suspect) -> Suspected {
        Suspected {
            cause: suspect.cause.clone(),
            effect: suspect.effect.clone(),
            with: self.found(&suspect.with),
            without: self.found(&suspect.without),
        }
    }

    fn found(&self, formula: &Formula) -> Option<Quantity> {
        quantity(&self.measures.formula(formula))
    }

    fn sentence(&self, Sentence(parts): &Sentence) -> String {
        let figure = |formula: &Formula| {
            let found = self.found(formula);
            found.map_or("(not measured)".to_owned(), |found| three_digits(found.centre))
        };
        let part = |(text, formula): &(String, Option<Formula>)| {
            format!("{text}{}", formula.as_ref().map(figure).unwrap_or_default())
        };
        parts.iter().map(part).collect()
    }

    fn panel(&self, panel: &Panel<Formula>) -> Panel<Quantity> {
        let fitted = |id: &String| {
            let value = self.values.iter().find(|value| value.id == *id);
            value.is_some_and(|one| one.usage == ValueUse::Fit || one.fitted_since.is_some())
        };
        let bar = |bar: &Bar<Formula>| Bar {
            name: bar.name.clone(),
            value: bar.value.clone(),
            published: bar.published,
            says: bar.says.clone(),
            ours: bar.ours.as_ref().and_then(|formula| self.found(formula)),
            fitted: bar.value.as_ref().is_some_and(fitted),
        };
        let point =
            |(tick, formula): (&String, &Formula)| Some((tick.clone(), self.found(formula)?));
        let line = |line: &Line<Formula>| Line {
            name: line.name.clone(),
            published: line.published,
            of: None,
            at: line.at.iter().filter_map(point).collect(),
        };
        Panel {
            title: panel.title.clone(),
            unit: panel.unit.clone(),
            bars: panel.bars.iter().map(bar).collect(),
            ticks: panel.ticks.clone(),
            lines: panel.lines.iter().map(line).collect(),
        }
    }

    /// Predicted values and counted claims that differ by our error, the largest factor first; of several with one
    /// reason the largest. Numbers that are not positive have no factor and are not among them.
    fn misses(&self) -> Vec<Miss> {
        let values = self.values.iter().filter_map(|value| self.value_miss(value));
        let claims =
            self.claims.iter().filter_map(|(claim, outcome)| self.claim_miss(claim, outcome));
        let mut all: Vec<Miss> = values.chain(claims).collect();
        all.sort_by(|one, two| two.factor.total_cmp(&one.factor));
        let mut misses: Vec<Miss> = Vec::new();
        for miss in all {
            let same = |known: &Miss| known.reason.is_some() && known.reason == miss.reason;
            if !misses.iter().any(same) {
                misses.push(miss);
            }
        }
        misses
    }

    fn value_miss(&self, value: &ValueOutcome) -> Option<Miss> {
        let found = value.measured?.centre;
        let differs = value.usage == ValueUse::Predict && value.agrees() == Some(false);
        let factor = factor(found, value.published).filter(|_| differs)?;
        Some(Miss {
            says: self.name(&value.id),
            published: Some(value.published),
            unit: value.unit.clone(),
            found,
            wanted: None,
            factor,
            reason: value.reason.clone(),
        })
    }

    /// Name of a value for people: its place in the picture.
    fn name(&self, id: &str) -> String {
        let bars = |panel: &Panel<Formula>| {
            let bar = panel.bars.iter().find(|bar| bar.value.as_deref() == Some(id))?;
            Some(format!("{}, {}", panel.title, bar.name))
        };
        self.study.page.panels.iter().find_map(bars).unwrap_or_else(|| id.to_owned())
    }

    fn claim_miss(&self, claim: &Judgeable, outcome: &ClaimOutcome) -> Option<Miss> {
        if outcome.agreement != Some(Agreement::OurError) || outcome.not_counted.is_some() {
            return None;
        }
        let published = claim.form.published();
        let miss = |test: &Tested| {
            let found = test.found?.centre;
            Some((factor(found, published.or(test.broken)?)?, found, test.wanted.clone()))
        };
        let test = self.study.tests.get(&claim.id);
        let is_one_enough = test.is_some_and(|test| test.all.is_empty() && !test.any.is_empty());
        let by_factor =
            |one: &(f64, f64, String), two: &(f64, f64, String)| one.0.total_cmp(&two.0);
        let broken =
            outcome.tests.iter().filter(|test| test.agrees == Some(false)).filter_map(miss);
        let (factor, found, wanted) =
            if is_one_enough { broken.min_by(by_factor) } else { broken.max_by(by_factor) }?;
        Some(Miss {
            says: claim.says.trim_end_matches('.').to_owned(),
            published,
            unit: String::new(),
            found,
            wanted: published.is_none().then_some(wanted),
            factor,
            reason: outcome.reason.clone(),
        })
    }
}

/// Ratio of two numbers or its inverse, whichever is above 1; `None` when one of them is not positive.
fn factor(one: f64, two: f64) -> Option<f64> {
    (one > 0.0 && two > 0.0).then(|| (one / two).max(two / one))
}
