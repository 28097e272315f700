//! The frozen file of claims: published values, and statements with their tests.

use crate::toml_file::{FileError, Source};
use seekwell_model::replication::ValueUse;
use serde::Deserialize;
use std::collections::BTreeSet;
use toml::Spanned;

#[cfg(test)]
mod tests;

/// Default width of an agreement.
pub const WITHIN: f64 = 0.10;

/// The file of claims.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// Date of the freeze.
    pub frozen: String,
    /// Studies.
    #[serde(rename = "study")]
    pub studies: Vec<Study>,
    /// Published values.
    #[serde(rename = "value")]
    values: Vec<Value>,
    /// Claims.
    #[serde(rename = "claim", default)]
    claims: Vec<Claim>,
    /// Errors found after the file was frozen.
    #[serde(rename = "erratum", default)]
    pub errata: Vec<Erratum>,
}

/// A study.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Number; every name of its values and claims begins with it.
    pub key: String,
    /// Title.
    pub title: String,
    /// Author.
    pub author: String,
    /// Kernel of the study.
    pub kernel: String,
    /// Replacements for hardware and software that no longer exist.
    pub stands_for: String,
}

/// A published number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    id: Spanned<String>,
    /// Values that the study measured in the same way.
    pub group: Option<String>,
    /// The number.
    pub value: f64,
    /// The author's own range.
    pub spread: Option<[f64; 2]>,
    /// Its unit.
    pub unit: String,
    /// Line of the study's text.
    pub line: u32,
    /// Use of the value: fitted, predicted or context.
    #[serde(rename = "use")]
    pub usage: ValueUse,
    /// A remark needed to read it.
    pub note: Option<String>,
}

impl Value {
    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        self.id.get_ref()
    }
}

/// Direction of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Best {
    /// Lower is faster.
    #[default]
    Low,
    /// Higher is faster.
    High,
}

/// Test of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// From the fastest to the slowest.
    Order {
        /// Values or measures.
        values: Vec<String>,
        /// Direction.
        best: Best,
    },
    /// A ratio as published.
    Ratio {
        /// Numerator.
        of: String,
        /// Denominator.
        over: String,
        /// The published ratio.
        published: f64,
        /// Width.
        within: f64,
    },
    /// Equal within a width.
    Equal {
        /// Values or measures.
        values: Vec<String>,
        /// Width.
        within: f64,
    },
    /// Between two numbers.
    Range {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// Two curves that cross.
    Cross {
        /// Names of the curves.
        curves: [String; 2],
    },
    /// A statement of the text, made exact by the study's file.
    Sign {
        /// In words.
        confirmed_if: String,
    },
    /// Untestable.
    Cannot {
        /// Reason.
        because: String,
    },
}

impl Form {
    /// Returns the name used in the file.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Order { .. } => "order",
            Self::Ratio { .. } => "ratio",
            Self::Equal { .. } => "equal",
            Self::Range { .. } => "range",
            Self::Cross { .. } => "cross",
            Self::Sign { .. } => "sign",
            Self::Cannot { .. } => "cannot",
        }
    }

    /// Returns the published number of the claim, if it has one.
    #[must_use]
    pub fn published(&self) -> Option<f64> {
        match self {
            Self::Ratio { published, .. } => Some(*published),
            _ => None,
        }
    }

    /// Returns the names of the values and measures that it compares.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Order { values, .. } | Self::Equal { values, .. } => {
                values.iter().map(String::as_str).collect()
            }
            Self::Ratio { of, over, .. } => vec![of, over],
            _ => Vec::new(),
        }
    }
}

/// A statement of a study, as in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    id: Spanned<String>,
    line: u32,
    says: String,
    form: Spanned<String>,
    lab: Option<String>,
    values: Option<Vec<String>>,
    #[serde(default)]
    best: Best,
    of: Option<String>,
    over: Option<String>,
    published: Option<f64>,
    within: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    curves: Option<[String; 2]>,
    confirmed_if: Option<String>,
    because: Option<String>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

/// A claim with its test.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgeable {
    /// Its name.
    pub id: String,
    /// Line of the study's text.
    pub line: u32,
    /// The statement.
    pub says: String,
    /// Lab that measures it, as named in the file.
    pub lab: Option<String>,
    /// Its test.
    pub form: Form,
}

/// An error found in the file after it was frozen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erratum {
    /// Value or claim.
    pub id: String,
    /// Date of discovery.
    pub date: String,
    /// The right line of the study's text, where the frozen one is wrong.
    pub line: Option<u32>,
    /// The error and its cause.
    pub reason: String,
}

/// Reads the file of claims.
///
/// # Errors
/// [`FileError`] with the line of what is wrong.
pub fn read(name: &str, text: &str) -> Result<Claims, FileError> {
    let source = Source { name, text };
    let claims: Claims = source.read()?;
    let mut seen = BTreeSet::new();
    let ids = claims.values.iter().map(|value| &value.id);
    for id in ids.chain(claims.claims.iter().map(|claim| &claim.id)) {
        let wrong = |problem| Err(source.wrong(id.span().start, problem));
        let study = id.get_ref().split_once('.').map_or("", |(study, _)| study);
        if !claims.studies.iter().any(|known| known.key == study) {
            return wrong(format!("{} belongs to no study in this file", id.get_ref()));
        }
        if !seen.insert(id.get_ref()) {
            return wrong(format!("duplicate name {}; rename one of them", id.get_ref()));
        }
    }
    for claim in &claims.claims {
        let wrong = |missing: String| source.wrong(claim.form.span().start, missing);
        claim.form().map_err(wrong)?;
        if claim.lab.is_none() && claim.form.get_ref() != "cannot" {
            return Err(wrong(format!(
                "{} has no `lab`; name the lab that measures it",
                claim.id.get_ref()
            )));
        }
    }
    Ok(claims)
}

impl Claim {
    fn form(&self) -> Result<Form, String> {
        let id = self.id.get_ref();
        let lacks = |key: &str| format!("{id} has form {} but no `{key}`", self.form.get_ref());
        let within = self.within.unwrap_or(WITHIN);
        let text = |key: &str, text: &Option<String>| text.clone().ok_or_else(|| lacks(key));
        let values = |least: usize| {
            let values = self.values.clone().filter(|values| values.len() >= least);
            values.ok_or_else(|| lacks("values"))
        };
        Ok(match self.form.get_ref().as_str() {
            "order" => Form::Order { values: values(2)?, best: self.best },
            "equal" => Form::Equal { values: values(2)?, within },
            "ratio" => Form::Ratio {
                of: text("of", &self.of)?,
                over: text("over", &self.over)?,
                published: self.published.ok_or_else(|| lacks("published"))?,
                within,
            },
            "range" => Form::Range {
                low: self.low.ok_or_else(|| lacks("low"))?,
                high: self.high.ok_or_else(|| lacks("high"))?,
            },
            "cross" => Form::Cross { curves: self.curves.clone().ok_or_else(|| lacks("curves"))? },
            "sign" => Form::Sign { confirmed_if: text("confirmed_if", &self.confirmed_if)? },
            "cannot" => Form::Cannot { because: text("because", &self.because)? },
            other => {
                return Err(format!(
                    "{id} has the unknown form '{other}'; use order, ratio, equal, range, cross, sign or cannot"
                ));
            }
        })
    }
}

impl Claims {
    /// Published values of a study, in the order of the file.
    pub fn values<'a>(&'a self, study: &'a str) -> impl Iterator<Item = &'a Value> {
        self.values.iter().filter(move |value| belongs(value.id(), study))
    }

    fn corrected_line(&self, id: &str) -> Option<u32> {
        self.errata.iter().filter(|erratum| erratum.id == id).find_map(|erratum| erratum.line)
    }

    /// Returns a published value; `None` if there is none with this name.
    #[must_use]
    pub fn value(&self, id: &str) -> Option<&Value> {
        self.values.iter().find(|value| value.id() == id)
    }

    /// Returns the claims of a study in the order of the file.
    #[must_use]
    pub fn of_study(&self, study: &str) -> Vec<Judgeable> {
        let named = self.claims.iter().filter(|claim| belongs(claim.id.get_ref(), study));
        named
            .filter_map(|claim| {
                Some(Judgeable {
                    id: claim.id.get_ref().clone(),
                    line: self.corrected_line(claim.id.get_ref()).unwrap_or(claim.line),
                    says: claim.says.clone(),
                    lab: claim.lab.clone(),
                    // What has no form was refused by the reader.
                    form: claim.form().ok()?,
                })
            })
            .collect()
    }

    /// Returns the values that a fit may read, and nothing else.
    #[must_use]
    pub fn fit_values(&self) -> FitValues {
        let fit = self.values.iter().filter(|value| value.usage == ValueUse::Fit);
        let published = fit.map(|value| (value.id().to_owned(), value.value)).collect();
        let withheld = self.values.iter().filter(|value| value.usage != ValueUse::Fit);
        FitValues { published, withheld: withheld.map(|value| value.id().to_owned()).collect() }
    }
}

/// Published values with `use = "fit"`. A fit gets this type and never the claims, so it cannot read
/// any other number.
#[derive(Clone, Debug)]
pub struct FitValues {
    published: Vec<(String, f64)>,
    /// Names alone.
    withheld: BTreeSet<String>,
}

/// A value that a fit may not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitValueError {
    /// The value must be predicted.
    #[error("{0} may not be fitted: it must be predicted, or describes the experiment")]
    Withheld(String),
    /// No value has this name.
    #[error("{0} is not a published value")]
    Unknown(String),
}

impl FitValues {
    /// The published number.
    ///
    /// # Errors
    /// When a fit may not read it, or it does not exist.
    pub fn get(&self, id: &str) -> Result<f64, FitValueError> {
        if let Some((_, value)) = self.published.iter().find(|(name, _)| name == id) {
            return Ok(*value);
        }
        Err(match self.withheld.contains(id) {
            true => FitValueError::Withheld(id.to_owned()),
            false => FitValueError::Unknown(id.to_owned()),
        })
    }
}

/// Returns true if a name is that of a value or claim of the study.
pub(crate) fn belongs(id: &str, study: &str) -> bool {
    id.strip_prefix(study).is_some_and(|rest| rest.starts_with('.'))
}
