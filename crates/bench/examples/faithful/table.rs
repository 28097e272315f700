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
    middle(samples.iter().filter(|one| one.side == side).filter_map(value).collect())
}

/// Errors of a row.
pub struct Row {
    program: &'static str,
    from: String,
    on: String,
    program_s: f64,
    replay_s: f64,
    error: f64,
    itself: f64,
}

/// Prints the row of a program.
pub fn row(
    asked: &Asked,
    (from, on): (&str, &str),
    recording: &Recording,
    samples: &[Sample],
) -> Row {
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
        from,
        on,
        if asked.cold { "cold" } else { "warm" },
        asked.pairs,
        error(replay, program),
        error(again, program),
        error(inside, recorded_inside),
    );
    if let Some(fidelity) = fidelity.as_ref().filter(|_| share < 1.0) {
        eprintln!("{}: {:?} {}", samples[0].program, fidelity, recording.differences.borrow());
    }
    Row {
        program: samples[0].program,
        from: from.to_owned(),
        on: on.to_owned(),
        program_s: program,
        replay_s: replay,
        error: error(replay, program),
        itself: error(again, program),
    }
}

fn middle(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    match all.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => all[count / 2],
        count => f64::midpoint(all[count / 2 - 1], all[count / 2]),
    }
}

/// Prints errors over all rows, over those whose filesystem is another than that of the capture, and
/// for each capture the fastest filesystem of program and replay.
pub fn summary(rows: &[Row]) {
    for (name, is_same) in [("same filesystem", true), ("predicted", false)] {
        let chosen: Vec<&Row> = rows.iter().filter(|row| (row.from == row.on) == is_same).collect();
        if chosen.is_empty() {
            continue;
        }
        let errors: Vec<f64> = chosen.iter().map(|row| row.error).collect();
        let itself = middle(chosen.iter().map(|row| row.itself).collect());
        let worst = errors.iter().copied().fold(0.0, f64::max);
        eprintln!(
            "{name}: {} rows, error median {:.3}, worst {worst:.3}; the program itself {itself:.3}",
            chosen.len(),
            middle(errors)
        );
    }
    for row in rows {
        let same: Vec<&Row> =
            rows.iter().filter(|one| one.program == row.program && one.from == row.from).collect();
        if same.len() < 2 || same[0].on != row.on {
            continue;
        }
        let least = |time: fn(&Row) -> f64| {
            same.iter().copied().min_by(|a, b| time(a).total_cmp(&time(b))).map(|one| &one.on)
        };
        let (live, replayed) = (least(|one| one.program_s), least(|one| one.replay_s));
        eprintln!("{} from {}: fastest {live:?}, predicted {replayed:?}", row.program, row.from);
    }
}
