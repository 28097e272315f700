//! The race replayed over trials that were really run, against the exhaustive answer.

use super::recorded::{Recorded, read};
use super::row::{Raw, Row, Share, read_raw};
use super::{Scale, each};
use seekwell_stats::estimate::{mean, quantile, std_dev};
use seekwell_stats::race::{Race, RaceConfig, Step, looks_for};
use seekwell_stats::resolution::screen_rounds;
use seekwell_stats::{Better, Finding, Question, compare, derive_seed, seeded};
use std::path::Path;

/// Sources of the trials of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// All recorded rounds in another random order, each used once; the answer to agree with is
    /// that of all rounds.
    All,
    /// A random half of the rounds; the answer to agree with is that of the other half, so that
    /// race and answer share no trial.
    Half,
    /// As `All`, without a screen, as few stacks race on a host.
    Final,
}

/// One replay.
pub struct Replay {
    /// The stack chosen.
    pub choice: usize,
    /// Loss against the best stack by the answer to agree with, as a fraction.
    pub worse_by: f64,
    /// The verdict.
    pub kind: &'static str,
    /// Trials it took.
    pub trials: usize,
}

/// Answer of the exhaustive run itself.
pub struct Exhaustive {
    /// The best stack.
    pub best: usize,
    /// The second best.
    pub second: usize,
    /// Half width of the deciding interval between the best two, as a fraction.
    pub resolves: f64,
    /// Typical standard deviation of one log paired ratio.
    pub paired_spread: f64,
    /// All trials.
    pub trials: usize,
}

fn worse(better: Better, value: f64) -> f64 {
    if better == Better::Lower { value.ln() } else { -value.ln() }
}

/// Mean "worse by" of every stack over some rounds, and the stacks from the best on.
fn ranking(recorded: &Recorded, better: Better, rounds: &[usize]) -> (Vec<f64>, Vec<usize>) {
    let centre = |row: &Vec<f64>| {
        rounds.iter().map(|round| worse(better, row[*round])).sum::<f64>() / rounds.len() as f64
    };
    let centres: Vec<f64> = recorded.values.iter().map(centre).collect();
    let mut order: Vec<usize> = (0..centres.len()).collect();
    order.sort_by(|a, b| centres[*a].total_cmp(&centres[*b]));
    (centres, order)
}

/// The answer of all recorded rounds.
///
/// # Errors
/// With fewer than two stacks, or values that have no logarithm.
pub fn exhaustive(recorded: &Recorded, better: Better) -> Result<Exhaustive, String> {
    let count = recorded.values.first().map_or(0, Vec::len);
    let rounds: Vec<usize> = (0..count).collect();
    let (_, order) = ranking(recorded, better, &rounds);
    let (Some(&best), Some(&second)) = (order.first(), order.get(1)) else {
        return Err("fewer than two stacks".to_owned());
    };
    let values: Vec<Vec<Option<f64>>> =
        recorded.values.iter().map(|row| row.iter().copied().map(Some).collect()).collect();
    let all = compare(&values, &Question::new(better, 0.0, 0.95)).map_err(|e| e.to_string())?;
    let joint = all.rows[second].joint.ok_or("too few rounds")?;
    let spreads: Vec<f64> = (0..order.len())
        .filter(|stack| *stack != best)
        .filter_map(|stack| {
            let pairs = recorded.values[stack].iter().zip(&recorded.values[best]);
            std_dev(&pairs.map(|(a, b)| (a / b).ln()).collect::<Vec<_>>())
        })
        .collect();
    Ok(Exhaustive {
        best,
        second,
        resolves: (joint.high / joint.low).sqrt() - 1.0,
        paired_spread: mean(&spreads).ok_or("only one stack")?,
        trials: count * order.len(),
    })
}

/// Replays the race once.
///
/// # Errors
/// When the recorded values cannot be raced.
pub fn replay(
    recorded: &Recorded,
    better: Better,
    tie_width: f64,
    rounds: Rounds,
    seed: u64,
) -> Result<Replay, String> {
    let mut order: Vec<usize> = (0..recorded.values.first().map_or(0, Vec::len)).collect();
    seeded(derive_seed(seed, "order of rounds")).shuffle(&mut order);
    let answer = match rounds {
        Rounds::All | Rounds::Final => order.clone(),
        Rounds::Half => order.split_off(order.len() / 2),
    };
    let mut config = RaceConfig::new(Question::new(better, tie_width, 0.95), seed);
    let screen = match rounds {
        Rounds::Final => {
            config.finalists = recorded.values.len();
            0
        }
        Rounds::All | Rounds::Half => screen_rounds(recorded.values.len(), &config).len(),
    };
    config.looks = looks_for(order.len().saturating_sub(screen));
    let mut race = Race::new(recorded.design.clone(), config).map_err(|e| e.to_string())?;
    while let Step::Run(plan) = race.next_round() {
        let Some(&round) = order.get(plan.round) else { break };
        let values: Vec<(usize, Option<f64>)> =
            plan.order.iter().map(|&s| (s, Some(recorded.values[s][round]))).collect();
        race.record(&values).map_err(|e| e.to_string())?;
    }
    let outcome = race.outcome();
    let choice = outcome.best_guess.ok_or("no stack was chosen")?;
    let (centres, ranked) = ranking(recorded, better, &answer);
    let kind = match outcome.finding {
        Finding::Winner { .. } => "winner",
        Finding::Tie { .. } => "tie",
        Finding::Unresolved { .. } => "unresolved",
    };
    let worse_by = (centres[choice] - centres[ranked[0]]).exp_m1();
    Ok(Replay { choice, worse_by, kind, trials: outcome.trials })
}

/// The kept matrix.
const MATRIX: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/runs/statistics/matrix/trials.csv.gz");
/// The metric that its lab judges, lower is better, and the tie width of the lab.
pub const JUDGED: &str = "unpack.elapsed_durable";
/// The tie width of its lab.
pub const TIE: f64 = 0.05;

/// Rows about recorded trials.
pub fn rows(scale: Scale, take: &mut impl FnMut(Row)) {
    let text = read_raw(Path::new(MATRIX)).expect("the kept matrix");
    let recorded = read(&text, JUDGED).expect("a readable matrix");
    for rounds in [Rounds::All, Rounds::Half] {
        take(row(scale, &recorded, rounds));
    }
    take(demo(scale, &recorded));
}

/// The stacks of the demo, resampled: how many runs are certified, and the trials that they take.
fn demo(scale: Scale, recorded: &Recorded) -> Row {
    let filesystems = ["ext4/", "xfs/", "btrfs/"];
    let recorded = recorded.only(|label| {
        filesystems.iter().any(|start| label.starts_with(start)) && !label.ends_with("/kyber")
    });
    let run = |case| replay(&recorded, Better::Lower, TIE, Rounds::Final, scale.seed(case));
    let runs: Vec<Replay> =
        each(scale.matrices, |case| run(case).expect("a matrix of positive values"));
    let certified = Share::count(&runs, |run| run.kind != "unresolved");
    let wrong = Share::count(
        &runs.iter().filter(|run| run.kind != "unresolved").collect::<Vec<_>>(),
        |run| run.worse_by > TIE,
    );
    let trials: Vec<f64> = runs.iter().map(|run| run.trials as f64).collect();
    let median = quantile(&trials, 0.5).unwrap_or(f64::INFINITY);
    Row {
        what: "race over recorded trials is certified",
        case: format!(
            "{} stacks × 40 rounds of a real machine, tie 5 %, without a screen",
            recorded.labels.len()
        ),
        figures: format!(
            "{certified}, {median:.0} trials (median); of certified verdicts wrong {wrong}"
        ),
        share: certified,
        target: "≥ 90 % by ≤ 220 trials".to_owned(),
        reached: Some(certified.value() >= 0.9 && median <= 220.0),
        unresolved: Some(Share::count(&runs, |run| run.kind == "unresolved")),
        raw: raw(&recorded, Rounds::Final, &runs),
    }
}

/// A line for each replay.
fn raw(recorded: &Recorded, rounds: Rounds, runs: &[Replay]) -> Raw {
    let line = |(case, run): (usize, &Replay)| {
        let label = &recorded.labels[run.choice];
        let (worse_by, kind, trials) = (run.worse_by, run.kind, run.trials);
        format!("{rounds:?},{case},{label},{worse_by:.5},{kind},{trials}")
    };
    Raw {
        name: "recorded".to_owned(),
        header: "rounds,case,choice,worse_by,verdict,trials".to_owned(),
        lines: runs.iter().enumerate().map(line).collect(),
    }
}

fn row(scale: Scale, recorded: &Recorded, rounds: Rounds) -> Row {
    let answer = exhaustive(recorded, Better::Lower).expect("a matrix of positive values");
    let tie = TIE.max(answer.resolves);
    let run = |case| replay(recorded, Better::Lower, tie, rounds, scale.seed(case));
    let runs: Vec<Replay> =
        each(scale.matrices, |case| run(case).expect("a matrix of positive values"));
    let agree = Share::count(&runs, |run| run.worse_by <= tie);
    let certified: Vec<&Replay> = runs.iter().filter(|run| run.kind != "unresolved").collect();
    let wrong = Share::count(&certified, |run| run.worse_by > tie);
    let trials = mean(&runs.iter().map(|run| run.trials as f64).collect::<Vec<_>>());
    let cost = trials.unwrap_or(0.0) / answer.trials as f64;
    let of = match rounds {
        Rounds::All => "all 40 rounds reordered, against the answer of all",
        Rounds::Half => "a random half of the rounds, against the answer of the other half",
        Rounds::Final => "all 40 rounds reordered, without a screen",
    };
    Row {
        what: "race over recorded trials agrees with the exhaustive answer",
        case: format!("24 stacks × 40 rounds of a real machine, tie {:.1} %; {of}", 100.0 * tie),
        figures: format!(
            "{agree} by {:.1} % of the trials; of certified verdicts wrong {wrong}",
            100.0 * cost
        ),
        share: agree,
        target: if rounds == Rounds::All { "≥ 95 % by ≤ 40 % of the trials" } else { "" }
            .to_owned(),
        reached: (rounds == Rounds::All).then_some(agree.value() >= 0.95 && cost <= 0.4),
        unresolved: Some(Share::count(&runs, |run| run.kind == "unresolved")),
        raw: raw(recorded, rounds, &runs),
    }
}
