//! The frozen file of claims: published values, and sentences with the way they are decided.

use crate::toml_file::{FileError, Source};
use seekwell_model::replication::ValueUse;
use serde::Deserialize;
use std::collections::BTreeSet;
use toml::Spanned;

#[cfg(test)]
mod tests;

/// Values of a group that differ by less than this share make no claim.
pub const PAIR_FROM: f64 = 1.10;

/// Width of an agreement where a claim states none.
pub const WITHIN: f64 = 0.10;

/// The file of claims.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// When it was frozen.
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
    /// What was found wrong after the file was frozen.
    #[serde(rename = "erratum", default)]
    pub errata: Vec<Erratum>,
}

/// A study.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Number, which every name of its values and claims begins with.
    pub key: String,
    /// Title.
    pub title: String,
    /// Author.
    pub author: String,
    /// Kernel it was made with.
    pub kernel: String,
    /// What stands for what is gone.
    pub stands_for: String,
}

/// A published number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    id: Spanned<String>,
    /// Values of one group are compared in pairs.
    pub group: Option<String>,
    /// The number.
    pub value: f64,
    /// The author's own range.
    pub spread: Option<[f64; 2]>,
    /// Its unit.
    pub unit: String,
    /// Line of the study's text.
    pub line: u32,
    /// What it is for.
    #[serde(rename = "use")]
    pub usage: ValueUse,
    /// What must be known to read it.
    pub note: Option<String>,
}

impl Value {
    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        self.id.get_ref()
    }

    /// Whether two published numbers differ by more than their authors' ranges and by more than
    /// [`PAIR_FROM`].
    fn differs_from(&self, other: &Self) -> bool {
        let inside = |value: f64, of: &Self| {
            of.spread.is_some_and(|[low, high]| (low..=high).contains(&value))
        };
        let (small, large) = (self.value.min(other.value), self.value.max(other.value));
        large > small * PAIR_FROM && !inside(self.value, other) && !inside(other.value, self)
    }
}

/// Which end of an order is the fast one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Best {
    /// Lower is faster.
    #[default]
    Low,
    /// Higher is faster.
    High,
}

/// How a claim is decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// From the fastest to the slowest.
    Order {
        /// Values or measures.
        values: Vec<String>,
        /// Which way is fast.
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
    /// Alike.
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
    /// Two curves whose leader changes.
    Cross {
        /// Names of the curves.
        curves: [String; 2],
    },
    /// What the text says, made exact by the study's file.
    Sign {
        /// In words.
        confirmed_if: String,
    },
    /// Not testable.
    Cannot {
        /// Why.
        because: String,
    },
}

impl Form {
    /// The word of the file.
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

    /// The published number that it is about, if it is about one.
    #[must_use]
    pub fn published(&self) -> Option<f64> {
        match self {
            Self::Ratio { published, .. } => Some(*published),
            _ => None,
        }
    }

    /// Names of values and measures that it compares.
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

/// A sentence of a study, as the file has it.
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
    note: Option<String>,
}

/// A claim that can be judged, or why it cannot.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgeable {
    /// Its name; of a pair of a group both names.
    pub id: String,
    /// Line of the study's text.
    pub line: u32,
    /// What it says.
    pub says: String,
    /// The lab that shows it, as the file names it.
    pub lab: Option<String>,
    /// How it is decided.
    pub form: Form,
    /// What must be known to read it.
    pub note: Option<String>,
}

/// An error found in the file after it was frozen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erratum {
    /// The value or claim.
    pub id: String,
    /// When it was found.
    pub date: String,
    /// What is wrong, and why.
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
            return wrong(format!("{} belongs to no study of this file", id.get_ref()));
        }
        if !seen.insert(id.get_ref()) {
            return wrong(format!(
                "{} is there twice; give one of them another name",
                id.get_ref()
            ));
        }
    }
    for claim in &claims.claims {
        let wrong = |missing: String| source.wrong(claim.form.span().start, missing);
        claim.form().map_err(wrong)?;
        if claim.lab.is_none() && claim.form.get_ref() != "cannot" {
            return Err(wrong(format!("{} names no lab that shows it", claim.id.get_ref())));
        }
    }
    for value in claims.values.iter().filter(|value| value.spread.is_some()) {
        let [low, high] = value.spread.unwrap_or_default();
        if !(low..=high).contains(&value.value) {
            let problem = format!("{} lies outside of its own spread", value.id());
            return Err(source.wrong(value.id.span().start, problem));
        }
    }
    Ok(claims)
}

impl Claim {
    fn form(&self) -> Result<Form, String> {
        let id = self.id.get_ref();
        let lacks =
            |key: &str| format!("{id} is of form {} and lacks `{key}`", self.form.get_ref());
        let within = self.within.unwrap_or(WITHIN);
        let values = |least: usize| {
            let values = self.values.clone().filter(|values| values.len() >= least);
            values.ok_or_else(|| lacks("values"))
        };
        Ok(match self.form.get_ref().as_str() {
            "order" => Form::Order { values: values(2)?, best: self.best },
            "equal" => Form::Equal { values: values(2)?, within },
            "ratio" => Form::Ratio {
                of: self.of.clone().ok_or_else(|| lacks("of"))?,
                over: self.over.clone().ok_or_else(|| lacks("over"))?,
                published: self.published.ok_or_else(|| lacks("published"))?,
                within,
            },
            "range" => Form::Range {
                low: self.low.ok_or_else(|| lacks("low"))?,
                high: self.high.ok_or_else(|| lacks("high"))?,
            },
            "cross" => Form::Cross { curves: self.curves.clone().ok_or_else(|| lacks("curves"))? },
            "sign" => Form::Sign {
                confirmed_if: self.confirmed_if.clone().ok_or_else(|| lacks("confirmed_if"))?,
            },
            "cannot" => {
                Form::Cannot { because: self.because.clone().ok_or_else(|| lacks("because"))? }
            }
            other => {
                return Err(format!(
                    "{id} has the form '{other}'; there are order, ratio, equal, range, cross, sign and cannot"
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

    /// Claims of a study in the order of the file, then the pairs of its groups.
    #[must_use]
    pub fn of_study(&self, study: &str) -> Vec<Judgeable> {
        let named = self.claims.iter().filter(|claim| belongs(claim.id.get_ref(), study));
        let mut all: Vec<Judgeable> = named
            .filter_map(|claim| {
                Some(Judgeable {
                    id: claim.id.get_ref().clone(),
                    line: claim.line,
                    says: claim.says.clone(),
                    lab: claim.lab.clone(),
                    // What has no form was refused by the reader.
                    form: claim.form().ok()?,
                    note: claim.note.clone(),
                })
            })
            .collect();
        all.extend(self.pairs(study));
        all
    }

    /// The claims that the groups of a study imply: every pair of published numbers that differs
    /// by more than the author's own range and by more than 10 %.
    fn pairs(&self, study: &str) -> Vec<Judgeable> {
        let grouped: Vec<&Value> =
            self.values(study).filter(|value| value.group.is_some()).collect();
        let mut pairs = Vec::new();
        for (index, one) in grouped.iter().enumerate() {
            for two in &grouped[index + 1..] {
                if one.group != two.group || !one.differs_from(two) {
                    continue;
                }
                let (less, more) = if one.value < two.value { (one, two) } else { (two, one) };
                pairs.push(Judgeable {
                    id: format!("{} < {}", less.id(), more.id()),
                    line: less.line,
                    says: format!(
                        "{} {} against {} {}.",
                        less.value, less.unit, more.value, more.unit
                    ),
                    lab: None,
                    form: Form::Order {
                        values: vec![less.id().to_owned(), more.id().to_owned()],
                        best: Best::Low,
                    },
                    note: None,
                });
            }
        }
        pairs
    }

    /// The values that a fit may read, and nothing else.
    #[must_use]
    pub fn fit_values(&self) -> FitValues {
        let fit = self.values.iter().filter(|value| value.usage == ValueUse::Fit);
        let published = fit.map(|value| (value.id().to_owned(), value.value)).collect();
        let withheld = self.values.iter().filter(|value| value.usage != ValueUse::Fit);
        FitValues { published, withheld: withheld.map(|value| value.id().to_owned()).collect() }
    }
}

/// Published values with `use = "fit"`. A fit is handed this and never the claims: the other
/// numbers are not in here.
#[derive(Clone, Debug)]
pub struct FitValues {
    published: Vec<(String, f64)>,
    /// Names alone.
    withheld: BTreeSet<String>,
}

/// Why a fit is not given a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitValueError {
    /// It must be predicted.
    #[error("{0} is not for fitting: it must be predicted, or describes the experiment")]
    Withheld(String),
    /// There is none of that name.
    #[error("{0} is no published value")]
    Unknown(String),
}

impl FitValues {
    /// The published number.
    ///
    /// # Errors
    /// When a fit may not read it, or there is none.
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

fn belongs(id: &str, study: &str) -> bool {
    id.strip_prefix(study).is_some_and(|rest| rest.starts_with('.'))
}
