//! The race replayed over trials that were really run, against the exhaustive answer.

use seekwell_stats::design::Design;
use seekwell_stats::estimate::{mean, std_dev};
use seekwell_stats::interval::mean_interval;
use seekwell_stats::race::{Race, RaceConfig, Step, looks_for};
use seekwell_stats::{Better, Question, Verdict, seeded};
use std::collections::BTreeMap;

/// A recorded matrix: every stack in every round.
pub struct Recorded {
    /// Axes of the stacks.
    pub design: Design,
    /// `values[stack][round]`.
    pub values: Vec<Vec<f64>>,
    /// Labels of the stacks.
    pub labels: Vec<String>,
}

/// What the replays found.
pub struct Replayed {
    /// Replays whose choice is within the tie width of the exhaustive best.
    pub agree: usize,
    /// Replays.
    pub of: usize,
    /// Replays that ended not resolved.
    pub unresolved: usize,
    /// Mean trials as a share of the exhaustive run.
    pub cost: f64,
    /// Half width of the exhaustive run's own 95 % interval between its best two, as a fraction.
    pub exhaustive_resolves: f64,
    /// Typical standard deviation of one log paired ratio.
    pub paired_spread: f64,
}

/// Reads lines `label,level,level,…,round,value` (one per trial, `#` starts a comment, the first
/// line names the columns). Rounds that lack a stack are left out.
///
/// # Errors
/// In words, with the line.
pub fn read(text: &str) -> Result<Recorded, String> {
    let mut stacks: BTreeMap<String, (Vec<usize>, BTreeMap<usize, f64>)> = BTreeMap::new();
    let mut names: Vec<BTreeMap<String, usize>> = Vec::new();
    for (number, line) in text.lines().enumerate().skip(1) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |what: &str| format!("line {}: {what}: {line}", number + 1);
        let fields: Vec<&str> = line.split(',').collect();
        let [label, levels @ .., round, value] = fields.as_slice() else {
            return Err(wrong("needs label, levels, round and value"));
        };
        names.resize(names.len().max(levels.len()), BTreeMap::new());
        let levels: Vec<usize> = levels
            .iter()
            .enumerate()
            .map(|(axis, name)| {
                let next = names[axis].len();
                *names[axis].entry((*name).to_owned()).or_insert(next)
            })
            .collect();
        let round = round.parse().map_err(|_| wrong("the round is not a number"))?;
        let value: f64 = value.parse().map_err(|_| wrong("the value is not a number"))?;
        stacks
            .entry((*label).to_owned())
            .or_insert_with(|| (levels, BTreeMap::new()))
            .1
            .insert(round, value);
    }
    let first = stacks.values().next().ok_or("no trials")?;
    let complete: Vec<usize> = first
        .1
        .keys()
        .copied()
        .filter(|round| stacks.values().all(|(_, values)| values.contains_key(round)))
        .collect();
    let values = stacks
        .values()
        .map(|(_, values)| complete.iter().map(|round| values[round]).collect())
        .collect();
    let levels = stacks.values().map(|(levels, _)| levels.clone()).collect();
    let design = Design::new(levels).map_err(|error| error.to_string())?;
    Ok(Recorded { design, values, labels: stacks.into_keys().collect() })
}

/// Replays the race so often, each time over the recorded rounds in another random order.
///
/// # Errors
/// When the recorded values cannot be raced.
pub fn replay(
    recorded: &Recorded,
    better: Better,
    tie_width: f64,
    times: usize,
) -> Result<Replayed, String> {
    let rounds = recorded.values.first().map_or(0, Vec::len);
    let worse = |value: f64| if better == Better::Lower { value.ln() } else { -value.ln() };
    let centre: Vec<f64> = recorded
        .values
        .iter()
        .map(|row| row.iter().map(|v| worse(*v)).sum::<f64>() / rounds as f64)
        .collect();
    let best =
        (0..centre.len()).min_by(|a, b| centre[*a].total_cmp(&centre[*b])).ok_or("no stacks")?;
    let (mut agree, mut unresolved, mut trials) = (0, 0, 0);
    for seed in 0..times as u64 {
        let (choice, decided, ran) = one(recorded, better, tie_width, seed)?;
        agree += usize::from(centre[choice] - centre[best] <= tie_width.ln_1p());
        unresolved += usize::from(!decided);
        trials += ran;
    }
    let ratios = |stack: usize| -> Vec<f64> {
        let pairs = recorded.values[stack].iter().zip(&recorded.values[best]);
        pairs.map(|(a, b)| worse(*a) - worse(*b)).collect()
    };
    let second = (0..centre.len())
        .filter(|s| *s != best)
        .min_by(|a, b| centre[*a].total_cmp(&centre[*b]))
        .ok_or("only one stack")?;
    let interval = mean_interval(&ratios(second), 0.05).ok_or("too few rounds")?;
    let spreads: Vec<f64> = (0..centre.len())
        .filter(|s| *s != best)
        .filter_map(|stack| std_dev(&ratios(stack)))
        .collect();
    Ok(Replayed {
        agree,
        of: times,
        unresolved,
        cost: trials as f64 / (times * rounds * centre.len()) as f64,
        exhaustive_resolves: (0.5 * (interval.high - interval.low)).exp_m1(),
        paired_spread: mean(&spreads).ok_or("only one stack")?,
    })
}

/// One replay: choice, whether certified, trials.
fn one(
    recorded: &Recorded,
    better: Better,
    tie_width: f64,
    seed: u64,
) -> Result<(usize, bool, usize), String> {
    let rounds = recorded.values.first().map_or(0, Vec::len);
    let mut order: Vec<usize> = (0..rounds).collect();
    seeded(seed).shuffle(&mut order);
    let mut config = RaceConfig::new(Question::new(better, tie_width, 0.95), seed);
    let screen: usize =
        seekwell_stats::resolution::screen_rounds(recorded.values.len(), &config).len();
    config.looks = looks_for(rounds.saturating_sub(screen));
    let mut race = Race::new(recorded.design.clone(), config).map_err(|e| e.to_string())?;
    while let Step::Run(plan) = race.next_round() {
        let Some(&round) = order.get(plan.round) else { break };
        let values: Vec<(usize, Option<f64>)> =
            plan.order.iter().map(|&s| (s, Some(recorded.values[s][round]))).collect();
        race.record(&values).map_err(|e| e.to_string())?;
    }
    let outcome = race.outcome();
    let decided = !matches!(outcome.verdict, Verdict::Unresolved { .. });
    Ok((outcome.best_guess.ok_or("no stack was chosen")?, decided, outcome.trials))
}
