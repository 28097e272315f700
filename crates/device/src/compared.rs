//! Predictions on a device file against later runs on the device itself, as the file keeps them under
//! `[[compared]]`.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::error::{DeviceError, refuse};

#[cfg(test)]
mod tests;

/// Factor between a prediction and the device from which reports warn: 10 %, as for published figures.
const FAR: f64 = 1.1;

/// A run on a modelled device against the same lab on the real one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// Name of the lab.
    pub lab: String,
    /// Judged metric, `STEP.METRIC`.
    pub metric: String,
    /// Stacks that both runs have.
    pub stacks: u32,
    /// Lowest ratio of a stack's median on the device to the predicted one.
    pub lowest: f64,
    /// Median of these ratios.
    pub median: f64,
    /// Highest of them.
    pub highest: f64,
    /// Stack with the best predicted median.
    pub predicted_best: String,
    /// Stack with the best median on the device.
    pub best: String,
}

impl Compared {
    /// The ratio that is farthest from 1, as a factor of at least 1.
    #[must_use]
    pub fn worst(&self) -> f64 {
        [self.lowest, self.highest]
            .map(|ratio| ratio.max(ratio.recip()))
            .into_iter()
            .fold(1.0, f64::max)
    }

    pub(crate) fn check(&self, index: usize) -> Result<(), DeviceError> {
        for (key, ratio) in
            [("lowest", self.lowest), ("median", self.median), ("highest", self.highest)]
        {
            if !(ratio.is_finite() && ratio > 0.0) {
                return Err(refuse(
                    &format!("compared.{index}.{key}"),
                    ratio,
                    "must be a ratio above 0",
                ));
            }
        }
        Ok(())
    }

    /// The comparison in words, without the name of the device.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { lab, metric, stacks, lowest, median, highest, predicted_best, best } = self;
        let order = if predicted_best == best {
            format!("{best} was predicted to be the best and is")
        } else {
            format!("{predicted_best} was predicted to be the best, {best} is")
        };
        format!(
            "lab {lab}, {metric}: the device had {median:.2} times the prediction ({lowest:.2} to {highest:.2}, \
             {stacks} stacks); {order}"
        )
    }
}

/// The comparisons of a file as lines, with a heading; empty when there are none.
#[must_use]
pub fn lines(all: &[Compared]) -> String {
    if all.is_empty() {
        return String::new();
    }
    all.iter().fold("\nPredictions and the device itself\n".to_owned(), |mut text, one| {
        let mark = if one.worst() > FAR { "! " } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {mark}{}", one.sentence());
        text
    })
}

/// Warning about the prediction of this model that was farthest from the device, by more than 10 %.
#[must_use]
pub fn warning(model: &str, all: &[Compared]) -> Option<String> {
    let worst = all.iter().max_by(|one, other| one.worst().total_cmp(&other.worst()))?;
    (worst.worst() > FAR).then(|| {
        format!("an earlier prediction of the model {model} was off: {}", worst.sentence())
    })
}
