//! Noises, one function each.
//!
//! A noise takes the true logarithms of the stacks and gives the value of every stack in every
//! round, `None` for a trial that failed. What it says of a stack typically must be its truth.

use flate2::read::GzDecoder;
use seekwell_stats::Rng;
use seekwell_stats::estimate::median;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::OnceLock;

/// `values[stack][round]`.
pub type Values = Vec<Vec<Option<f64>>>;

/// Input of a noise function.
pub struct Setting<'a> {
    /// True logarithm of every stack, lower is better.
    pub truth: &'a [f64],
    /// Rounds.
    pub rounds: usize,
    /// Standard deviation of a clean trial's logarithm.
    pub spread: f64,
}

/// A noise as it is plugged in.
pub struct Noise {
    /// Its name in the table.
    pub name: &'static str,
    /// The noise itself.
    pub draw: fn(&mut Rng, &Setting<'_>) -> Values,
}

/// Every noise of the table; the first is the clean one that the others are held against.
pub const NOISES: &[Noise] = &[
    Noise { name: "lognormal", draw: lognormal },
    Noise { name: "drift 10 %", draw: drift },
    Noise { name: "sawtooth", draw: sawtooth },
    Noise { name: "Student's t, 3", draw: student },
    Noise { name: "Pareto 2.5", draw: pareto },
    Noise { name: "rare mode, all", draw: rare_mode },
    Noise { name: "rare mode of the best", draw: rare_mode_of_best },
    Noise { name: "two modes, 10 %", draw: two_modes },
    Noise { name: "ticks of 30 %", draw: ticks_30 },
    Noise { name: "ticks of 10 %, calm", draw: ticks_10_calm },
    Noise { name: "AR(1) 0.3 per stack", draw: ar_03 },
    Noise { name: "AR(1) 0.6 per stack", draw: ar_06 },
    Noise { name: "AR(1) 0.6 common", draw: ar_06_common },
    Noise { name: "AR(1) 0.6 of the best", draw: ar_06_of_best },
    Noise { name: "one 20-fold noisier", draw: one_noisier },
    Noise { name: "best 20-fold noisier", draw: best_noisier },
    Noise { name: "slow 15 % fail, one", draw: slow_fail_one },
    Noise { name: "slow 15 % fail, all", draw: slow_fail_all },
    Noise { name: "3 % fail at random", draw: fail_at_random },
    Noise { name: "regimes", draw: regimes },
    Noise { name: "recorded", draw: recorded },
];

/// Fills a matrix, trial by trial in order of rounds.
fn each(setting: &Setting<'_>, mut log: impl FnMut(usize, usize) -> f64) -> Values {
    let stacks = setting.truth.len();
    let mut values = vec![vec![None; setting.rounds]; stacks];
    #[allow(clippy::needless_range_loop, reason = "trials are drawn in the order of rounds")]
    for round in 0..setting.rounds {
        for (stack, truth) in setting.truth.iter().enumerate() {
            values[stack][round] = Some((truth + log(stack, round)).exp());
        }
    }
    values
}

/// Stack with the least truth.
fn best(setting: &Setting<'_>) -> usize {
    let truth = setting.truth;
    (0..truth.len()).min_by(|a, b| truth[*a].total_cmp(&truth[*b])).unwrap_or(0)
}

/// Clean noise.
pub fn lognormal(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    each(setting, |_, _| setting.spread * rng.normal())
}

fn drift(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    let mut walk = 0.0;
    let trials = (setting.rounds * setting.truth.len()) as f64;
    let sign = if rng.uniform() < 0.5 { -0.1 } else { 0.1 };
    each(setting, |_, _| {
        walk += sign / trials + 0.004 * rng.normal();
        walk + setting.spread * rng.normal()
    })
}

/// The machine slows down steadily and recovers every seven trials, whoever runs.
fn sawtooth(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    // Stacks run in random order: the phase of a trial is random.
    each(setting, |_, _| {
        2.0 * setting.spread * (rng.index(7) as f64 / 7.0 - 0.43) + setting.spread * rng.normal()
    })
}

fn student(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    each(setting, |_, _| {
        let squares: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
        setting.spread * rng.normal() / (squares / 3.0).sqrt()
    })
}

/// Delays on top of the value itself.
fn pareto(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    each(setting, |_, _| {
        let delay = rng.uniform().max(1e-12).powf(-1.0 / 2.5) - 1.0;
        (1.0 + 3.0 * setting.spread * delay).ln()
    })
}

fn rare_mode(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    each(setting, |_, _| {
        let slow = if rng.uniform() < 0.05 { 3f64.ln() } else { 0.0 };
        slow + setting.spread * rng.normal()
    })
}

fn rare_mode_of_best(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    let best = best(setting);
    each(setting, |stack, _| {
        let slow = if stack == best && rng.uniform() < 0.05 { 3f64.ln() } else { 0.0 };
        slow + setting.spread * rng.normal()
    })
}

fn two_modes(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    each(setting, |_, _| {
        let slow = if rng.uniform() < 0.1 { 0.15 } else { 0.0 };
        slow + setting.spread * rng.normal()
    })
}

/// Rounds to the next multiple of a tick that is this part of a value of 1.
fn ticked(mut values: Values, tick: f64) -> Values {
    for value in values.iter_mut().flatten().flatten() {
        *value = (*value / tick).round().max(1.0) * tick;
    }
    values
}

fn ticks_30(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    ticked(lognormal(rng, setting), 0.3)
}

fn ticks_10_calm(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    let calm = Setting { spread: 0.2 * setting.spread, ..*setting };
    ticked(lognormal(rng, &calm), 0.1)
}

fn autoregressive(
    rng: &mut Rng,
    setting: &Setting<'_>,
    correlation: impl Fn(usize) -> f64,
) -> Values {
    let mut last: Vec<f64> = setting.truth.iter().map(|_| rng.normal()).collect();
    each(setting, |stack, round| {
        let rho = correlation(stack);
        if round > 0 {
            last[stack] = rho * last[stack] + (1.0 - rho * rho).sqrt() * rng.normal();
        }
        setting.spread * last[stack]
    })
}

fn ar_03(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    autoregressive(rng, setting, |_| 0.3)
}

fn ar_06(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    autoregressive(rng, setting, |_| 0.6)
}

fn ar_06_of_best(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    let best = best(setting);
    autoregressive(rng, setting, |stack| if stack == best { 0.6 } else { 0.0 })
}

fn ar_06_common(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    let mut common = rng.normal();
    each(setting, |stack, _| {
        if stack == 0 {
            common = 0.6 * common + 0.8 * rng.normal();
        }
        setting.spread * (common + rng.normal())
    })
}

fn one_noisier(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    let noisy = setting.truth.len() - 1;
    each(setting, |stack, _| {
        let times = if stack == noisy { 20.0 } else { 1.0 };
        times * setting.spread * rng.normal()
    })
}

fn best_noisier(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    let noisy = best(setting);
    each(setting, |stack, _| {
        let times = if stack == noisy { 20.0 } else { 1.0 };
        times * setting.spread * rng.normal()
    })
}

/// The slowest 15 % of a stack's trials time out.
fn slow_fail(rng: &mut Rng, setting: &Setting<'_>, fails: impl Fn(usize) -> bool) -> Values {
    let limit = 1.036 * setting.spread;
    let mut values = lognormal(rng, setting);
    for (stack, row) in values.iter_mut().enumerate().filter(|(stack, _)| fails(*stack)) {
        for value in row {
            *value = value.filter(|value| value.ln() - setting.truth[stack] < limit);
        }
    }
    values
}

fn slow_fail_one(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    slow_fail(rng, setting, |stack| stack == 0)
}

fn slow_fail_all(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    slow_fail(rng, setting, |_| true)
}

fn fail_at_random(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    let mut values = lognormal(rng, setting);
    for value in values.iter_mut().flatten() {
        *value = value.filter(|_| rng.uniform() >= 0.03);
    }
    values
}

/// Every stack has slow and fast spells of about eight rounds.
fn regimes(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    let draw = |rng: &mut Rng| if rng.uniform() < 0.5 { 1.0 } else { -1.0 };
    let mut spell: Vec<f64> = setting.truth.iter().map(|_| draw(rng)).collect();
    each(setting, |stack, _| {
        if rng.uniform() < 0.125 {
            spell[stack] = draw(rng);
        }
        setting.spread * (0.6 * spell[stack] + 0.8 * rng.normal())
    })
}

/// Real trials: 40 rounds of 24 stacks, as a machine ran them.
const RECORDED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/runs/statistics/matrix/trials.csv.gz");

/// Logarithms of the recorded trials around the median of their stack, `[stack][round]`.
fn residuals() -> &'static [Vec<f64>] {
    static READ: OnceLock<Vec<Vec<f64>>> = OnceLock::new();
    READ.get_or_init(|| {
        let file = File::open(RECORDED).expect("the kept trials");
        let lines = BufReader::new(GzDecoder::new(file)).lines().skip(1);
        let mut stacks: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        // Trials stand in the order in which they ran, so each stack's are in the order of rounds.
        for line in lines.map(|line| line.expect("text")) {
            let fields: Vec<&str> = line.split(',').collect();
            let seconds: f64 = fields[9].parse().expect("seconds until durable");
            stacks.entry(fields[3].to_owned()).or_default().push(seconds.ln());
        }
        let around = |row: Vec<f64>| {
            let middle = median(&row).expect("trials");
            row.iter().map(|log| log - middle).collect()
        };
        stacks.into_values().map(around).collect()
    })
}

/// As many recorded stacks as there are, each in the same rounds in a row, around the truths.
fn recorded(rng: &mut Rng, setting: &Setting<'_>) -> Values {
    let all = residuals();
    let mut chosen: Vec<usize> = (0..all.len()).collect();
    rng.shuffle(&mut chosen);
    let first = rng.index(all[0].len() - setting.rounds + 1);
    each(setting, |stack, round| all[chosen[stack]][first + round])
}
