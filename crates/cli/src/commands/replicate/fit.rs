//! `replicate --fit`: the modelled devices fitted to what a fit may read.

use super::labs::Labs;
use super::studies::Studies;
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_replicate::fit::{Fitted, fit};
use seekwell_replicate::judge;
use seekwell_replicate::study::{Fit, Study};
use seekwell_session::Change;

/// Failure of a run, as an error of the fit.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct RunFailed(String);

impl From<Failure> for RunFailed {
    fn from(failure: Failure) -> Self {
        let (Failure::Error(text)
        | Failure::Usage(text)
        | Failure::Refused(text)
        | Failure::Changed(text)) = failure;
        Self(text)
    }
}

/// Fits every parameter of the studies, and prints what was found. No file of a device is changed.
///
/// # Errors
/// When a value is withheld from fits, or a run fails.
pub fn run(studies: &Studies, chosen: &[&Study], labs: &Labs<'_>) -> Result<Exit, Failure> {
    let values = studies.claims().fit_values();
    for study in chosen {
        for one in &study.fits {
            let mut measure = |value: f64| measured(study, one, labs, value);
            let found = fit(one, &values, &mut measure)?;
            show(study, one, &found);
        }
    }
    Ok(Exit::Done)
}

/// Runs the lab with the parameter at `value` and returns the measured quantity.
fn measured(
    study: &Study,
    one: &Fit,
    labs: &Labs<'_>,
    value: f64,
) -> Result<Option<f64>, RunFailed> {
    let measure = study.measures.get(&one.value);
    let lab = measure
        .and_then(|measure| study.labs.iter().find(|lab| Some(&lab.name) == measure.lab.as_ref()));
    let (Some(lab), Some(measure)) = (lab, measure) else {
        return Err(RunFailed(format!("no lab of study {} measures {}", study.key, one.value)));
    };
    let change = Change::new(&one.device, &one.parameter, value);
    let runs = Vec::from_iter(labs.run_only(study, lab, &change, &measure.stack)?);
    Ok(judge::measured(study, &runs, &one.value).map(|quantity| quantity.centre))
}

fn show(study: &Study, one: &Fit, found: &Fitted) {
    let mut text = format!(
        "{}: {} {} = {}: measured {:.6}, published {} ({})",
        study.key,
        one.device,
        one.parameter,
        found.parameter,
        found.measured,
        found.published,
        one.value
    );
    if !found.inside {
        text.push_str("; no value of the range reproduces the published value");
    }
    for (value, measured) in &found.tried {
        text.push_str(&format!("\n  {value}: {measured:.6}"));
    }
    terminal::data(&text);
}
