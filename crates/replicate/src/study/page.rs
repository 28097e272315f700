//! The picture and the sentences of a study, for readers of five minutes.

use super::Reader;
use crate::claims::Claims;
use crate::formula::{self, Formula};
use crate::toml_file::FileError;
use seekwell_model::replication::{Bar, Line, Panel};
use serde::Deserialize;

/// The page of a study.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Question and experiment of the study, in one sentence.
    pub asked: String,
    /// Findings, a sentence each.
    #[serde(default)]
    pub findings: Vec<Sentence>,
    /// Causes that the author suspected.
    #[serde(default)]
    pub suspected: Vec<Suspect>,
    /// Parts of the picture, from top to bottom.
    #[serde(default, rename = "panel")]
    pub panels: Vec<Panel<Formula>>,
}

/// A cause that the author suspected.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspect {
    /// The cause.
    pub cause: String,
    /// The effect, a ratio.
    pub effect: String,
    /// Its size with the cause.
    pub with: Formula,
    /// Its size with the cause switched off.
    pub without: Formula,
}

/// A sentence with our figures: text and formulas in turn. In the file a formula is between `[[` and `]]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Sentence(pub Vec<(String, Option<Formula>)>);

impl TryFrom<String> for Sentence {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("[[") {
            let Some((formula, behind)) = after.split_once("]]") else {
                return Err("a figure lacks its ]]".to_owned());
            };
            let formula = formula::parse(formula).map_err(|error| error.to_string())?;
            parts.push((before.to_owned(), Some(formula)));
            rest = behind;
        }
        parts.push((rest.to_owned(), None));
        Ok(Self(parts))
    }
}

impl Reader<'_> {
    /// Completes the page by the claims and measures that it names, and checks its formulas.
    pub(super) fn page(&self, mut page: Page, claims: &Claims) -> Result<Page, FileError> {
        for Sentence(parts) in &page.findings {
            parts
                .iter()
                .filter_map(|(_, formula)| formula.as_ref())
                .try_for_each(|one| self.check(one))?;
        }
        let suspected = page.suspected.iter().flat_map(|one| [&one.with, &one.without]);
        suspected.into_iter().try_for_each(|formula| self.check(formula))?;
        for panel in &mut page.panels {
            panel.bars.iter_mut().try_for_each(|bar| self.bar(bar, claims))?;
            let ticks = &panel.ticks;
            panel.lines.iter_mut().try_for_each(|line| self.line(line, ticks))?;
        }
        Ok(page)
    }

    fn bar(&self, bar: &mut Bar<Formula>, claims: &Claims) -> Result<(), FileError> {
        if let Some(id) = &bar.value {
            let Some(value) = claims.value(id) else {
                return Err(self
                    .source
                    .wrong_about(id, format!("'{id}' is not a published value")));
            };
            bar.published = Some(value.value);
            if bar.ours.is_none() && self.study.measures.contains_key(id) {
                bar.ours = Some(self.parsed(&format!("{{{id}}}"), id)?);
            }
        }
        bar.ours.iter().try_for_each(|formula| self.check(formula))
    }

    fn line(&self, line: &mut Line<Formula>, ticks: &[String]) -> Result<(), FileError> {
        if let Some(odd) = line.at.keys().find(|tick| !ticks.contains(tick)) {
            let problem = format!("'{odd}' is not a tick of the panel");
            return Err(self.source.wrong_about(&line.name, problem));
        }
        if let Some(of) = &line.of {
            for tick in ticks {
                line.at.insert(tick.clone(), self.parsed(&of.replace('$', tick), of)?);
            }
        }
        line.at.values().try_for_each(|formula| self.check(formula))
    }

    /// Parses a formula that was made of this text of the file.
    fn parsed(&self, formula: &str, text: &str) -> Result<Formula, FileError> {
        formula::parse(formula).map_err(|error| self.source.wrong_about(text, error.to_string()))
    }
}
