//! The table: errors as absolute log ratios of medians.

use crate::Asked;
use crate::measure::{Recording, Sample};

/// Prints the head.
pub fn head() {
    println!(
        "program,from,on,cache,pairs,fidelity,program_s,again_s,replay_s,asap_s,recorded_s,error,itself,recorded_inside_s,inside_s,inside_error"
    );
}

fn median(samples: &[Sample], side: &str, value: impl Fn(&Sample) -> Option<f64>) -> f64 {
    let mut all: Vec<f64> =
        samples.iter().filter(|one| one.side == side).filter_map(value).collect();
    all.sort_by(f64::total_cmp);
    match all.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => all[count / 2],
        count => f64::midpoint(all[count / 2 - 1], all[count / 2]),
    }
}

/// Prints the row of a program.
pub fn row(asked: &Asked, recording: &Recording, samples: &[Sample]) {
    let elapsed = |side: &str| median(samples, side, |one| Some(one.elapsed_s));
    let error = |of: f64, to: f64| (of / to).ln().abs();
    let (program, again) = (elapsed("program"), elapsed("again"));
    let (replay, asap) = (elapsed("replay"), elapsed("asap"));
    let recorded = recording.plan.recorded();
    let inside = median(samples, "replay", |one| one.inside_s);
    let recorded_inside = recorded.inside_ns as f64 / 1e9;
    let recorded_s = recorded.elapsed_ns as f64 / 1e9 + recording.around_s;
    let fidelity = recording.fidelity.borrow();
    let share = fidelity.as_ref().and_then(seekwell_replay::Fidelity::share).unwrap_or(f64::NAN);
    println!(
        "{},{},{},{},{},{share:.4},{program:.4},{again:.4},{replay:.4},{asap:.4},{recorded_s:.4},{:.3},{:.3},{recorded_inside:.4},{inside:.4},{:.3}",
        samples[0].program,
        asked.from,
        asked.on,
        if asked.cold { "cold" } else { "warm" },
        asked.pairs,
        error(replay, program),
        error(again, program),
        error(inside, recorded_inside),
    );
    if let Some(fidelity) = fidelity.as_ref().filter(|_| share < 1.0) {
        eprintln!("{}: {:?} {}", samples[0].program, fidelity, recording.differences.borrow());
    }
}
