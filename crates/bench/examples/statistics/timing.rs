//! Is the time predicted after the pilot the time it takes?

use super::matrix::{Lab, Noise, Trouble};
use super::row::{Raw, Row, Share};
use super::{Scale, each};
use seekwell_stats::estimate::median;
use seekwell_stats::forecast::remaining;
use seekwell_stats::race::{Race, RaceConfig, Stage, Step};
use seekwell_stats::resolution::{
    PilotTrial, Resolves, evaluate, fixed_seconds, pilot_stacks, plan_race,
};
use seekwell_stats::{Better, Question, Rng, derive_seed, seeded};

/// Seconds of work of a trial at the best rate; the rest is mkfs, mount and tear-down.
const WORK_S: f64 = 20.0;
const FIXED_S: f64 = 3.0;

/// Times of one simulated run: predicted and actual, in s.
struct Run {
    fixed: (f64, f64),
    screen: (f64, f64),
    /// The whole race, forecast when the screen ended, and as it was.
    race: (f64, f64),
    /// Range of that forecast, in trials of the final, and how many it took.
    likely: (f64, f64),
    final_trials: f64,
    /// First and last look, predicted after the pilot.
    looks: (f64, f64),
}

/// Predicted and actual time of a part of a run.
type Part = fn(&Run) -> (f64, f64);

/// A trial: its rate and how long it took. The slower the stack, the longer the trial.
fn trial(lab: &mut Lab, rng: &mut Rng, stack: usize) -> (f64, f64) {
    let rate = lab.trial(stack);
    (rate, WORK_S / rate + FIXED_S * (0.1 * rng.normal()).exp())
}

fn simulate(stacks: usize, noise: Noise, seed: u64) -> Run {
    let mut lab = Lab::matrix(stacks, noise, 0.25, Trouble::None, derive_seed(seed, "timing"));
    let mut rng = seeded(derive_seed(seed, "timing of trials"));
    let mut pilot = Vec::new();
    for round in 0..2 {
        for stack in pilot_stacks(&lab.design) {
            let (rate, seconds) = trial(&mut lab, &mut rng, stack);
            pilot.push(PilotTrial { stack, round, value: Some(rate), seconds });
        }
    }
    let design = lab.design.clone();
    let pilot = evaluate(&design, &pilot);
    let mut config = RaceConfig::new(Question::new(Better::Higher, 0.02, 0.95), seed);
    config.known_spread = pilot.spread.map(|spread| spread.centre);
    let plan = plan_race(&pilot, &config).expect("a pilot of two rounds");
    let fixed: f64 =
        (0..10).flat_map(|_| 0..stacks).map(|stack| trial(&mut lab, &mut rng, stack).1).sum();
    let mut race = Race::new(design, config).expect("a sound configuration");
    let (mut screen, mut whole) = (0.0, 0.0);
    let (mut forecast, mut screened) = (None, 0);
    while let Step::Run(round) = race.next_round() {
        if round.stage == Stage::Final && forecast.is_none() {
            screen = whole;
            let each: f64 = round.order.iter().map(|stack| pilot.seconds[*stack]).sum();
            screened = race.outcome().trials;
            forecast = remaining(&race, 20).map(|rest| (rest, each / round.order.len() as f64));
        }
        let mut values = Vec::new();
        for stack in round.order {
            let (rate, seconds) = trial(&mut lab, &mut rng, stack);
            values.push((stack, Some(rate)));
            whole += seconds;
        }
        race.record(&values).expect("the stacks asked for");
    }
    let (rest, each) = forecast.expect("every race has a final");
    let end = |trials: f64| screen + trials * each;
    let look = |look: Option<&Resolves>| look.map_or(0.0, |look| look.seconds);
    Run {
        fixed: (fixed_seconds(&pilot, 10), fixed),
        screen: (plan.screen_seconds, screen),
        race: (end(rest.typical), whole),
        likely: (rest.low, rest.high),
        final_trials: (race.outcome().trials - screened) as f64,
        looks: (look(plan.looks.first()), look(plan.looks.last())),
    }
}

/// Rows about time.
pub fn rows(scale: Scale, take: &mut impl FnMut(Row)) {
    // A few runs among many stacks take longest and show least.
    let sizes: &[usize] = if scale.timed < 100 { &[48] } else { &[48, 192] };
    for noise in [Noise::Calm, Noise::Fast17] {
        for &stacks in sizes {
            let runs: Vec<Run> =
                each(scale.timed, |case| simulate(stacks, noise, scale.seed(case)));
            let case = |text| format!("{text}, {noise:?}, K = {stacks}");
            let raw = Raw {
                name: "timing".to_owned(),
                header: "noise,stacks,fixed_predicted_s,fixed_s,screen_predicted_s,screen_s,\
                         race_forecast_s,race_s,final_likely_from,final_likely_to,\
                         first_look_s,last_look_s,final_trials"
                    .to_owned(),
                lines: runs.iter().map(|run| line(noise, stacks, run)).collect(),
            };
            take(row(case("10 rounds of every stack"), &runs, |run| run.fixed, raw));
            take(row(case("screen"), &runs, |run| run.screen, Raw::default()));
            let forecast = case("whole race, forecast after the screen");
            take(row(forecast, &runs, |run| run.race, Raw::default()));
            let likely = Share::count(&runs, |run| {
                run.likely.0 <= run.final_trials && run.final_trials <= run.likely.1
            });
            let likely_case = case("trials of the final, likely range after the screen");
            take(range_row(likely_case, likely, "of the runs"));
            let looks = Share::count(&runs, |run| {
                run.looks.0 <= 1.2 * run.race.1 && run.race.1 <= 1.2 * run.looks.1
            });
            take(range_row(case("whole race, first to last look, after the pilot"), looks, ""));
        }
    }
}

fn range_row(case: String, share: Share, note: &str) -> Row {
    Row {
        what: "predicted wall time",
        case,
        figures: format!("ends inside in {share} {note}").trim_end().to_owned(),
        share,
        target: String::new(),
        reached: None,
        unresolved: None,
        raw: Raw::default(),
    }
}

fn row(case: String, runs: &[Run], of: Part, raw: Raw) -> Row {
    let near = Share::count(runs, |run| {
        let (predicted, actual) = of(run);
        (predicted / actual - 1.0).abs() <= 0.2
    });
    let ratio: Vec<f64> = runs.iter().map(|run| of(run).0 / of(run).1).collect();
    Row {
        what: "predicted wall time",
        case,
        figures: format!(
            "within ±20 % in {near}; median predicted : actual {:.2}",
            median(&ratio).unwrap_or(0.0)
        ),
        share: near,
        target: "within ±20 % in 90 %".to_owned(),
        reached: Some(near.value() >= 0.9),
        unresolved: None,
        raw,
    }
}

fn line(noise: Noise, stacks: usize, run: &Run) -> String {
    let times = [run.fixed, run.screen, run.race, run.likely, run.looks];
    let times: Vec<String> = times.iter().map(|(a, b)| format!("{a:.0},{b:.0}")).collect();
    format!("{noise:?},{stacks},{},{}", times.join(","), run.final_trials)
}
