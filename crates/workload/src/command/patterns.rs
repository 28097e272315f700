//! Metrics that a command prints.

use crate::error::WorkloadError;
use regex::Regex;
use std::collections::BTreeMap;

/// Compiled patterns by metric.
#[derive(Debug, Default)]
pub struct Patterns {
    patterns: BTreeMap<String, Regex>,
}

fn failed(step: &str, metric: &str, pattern: &str) -> impl Fn(String, &str) -> WorkloadError {
    move |problem, remedy| WorkloadError::Pattern {
        step: step.to_owned(),
        metric: metric.to_owned(),
        pattern: pattern.to_owned(),
        problem,
        remedy: remedy.to_owned(),
    }
}

impl Patterns {
    /// Compiles the patterns of a step.
    ///
    /// # Errors
    /// When one is no regular expression or has no group.
    pub fn compile(step: &str, texts: &BTreeMap<String, String>) -> Result<Self, WorkloadError> {
        let mut patterns = BTreeMap::new();
        for (metric, text) in texts {
            let failed = failed(step, metric, text);
            let pattern =
                regex::RegexBuilder::new(text).multi_line(true).build().map_err(|error| {
                    let reason = error.to_string().lines().last().unwrap_or_default().to_owned();
                    failed(format!("is not a regular expression ({reason})"), "correct it")
                })?;
            if pattern.captures_len() < 2 {
                let remedy = "put the number in round brackets, for example 'took (\\d+) s'";
                return Err(failed("has no group".to_owned(), remedy));
            }
            patterns.insert(metric.clone(), pattern);
        }
        Ok(Self { patterns })
    }

    /// The numbers that the output has at the first match of each pattern.
    ///
    /// # Errors
    /// When a pattern matches nothing, or something that is no number.
    pub fn read(&self, step: &str, output: &str) -> Result<BTreeMap<String, f64>, WorkloadError> {
        let mut numbers = BTreeMap::new();
        for (metric, pattern) in &self.patterns {
            let failed = failed(step, metric, pattern.as_str());
            let text = pattern
                .captures(output)
                .and_then(|captures| captures.get(1))
                .ok_or_else(|| {
                    let remedy = "make the command print it, or correct the pattern";
                    failed("matches nothing in the output".to_owned(), remedy)
                })?
                .as_str();
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            let number = number.ok_or_else(|| {
                let remedy = "let the first group match the number alone";
                failed(format!("matches '{text}', which is not a number"), remedy)
            })?;
            numbers.insert(metric.clone(), number);
        }
        Ok(numbers)
    }
}
