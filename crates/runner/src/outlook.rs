//! Forecast of the differences that a run can detect, made before its long part starts.

use crate::axes::axes;
use crate::order::{self, PILOT_ROUNDS};
use crate::question::question;
use crate::records::Outcomes;
use crate::values::round_values;
use seekwell_model::plan::{Buys, Outlook, Plan};
use seekwell_stats::design::Design;
use seekwell_stats::estimate;
use seekwell_stats::question::Question;
use seekwell_stats::race::RaceConfig;
use seekwell_stats::resolution::{self, Pilot, PilotTrial};

/// Seconds as nanoseconds; what is no time is 0.
fn ns(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9) as u64
}

fn blank(pilot: &Pilot, trials: &[PilotTrial], question: &Question) -> Outlook {
    let spread = pilot.spread;
    Outlook {
        trials: trials.len() as u32,
        spread: spread.map(|spread| spread.centre),
        spread_low: spread.map(|spread| spread.low),
        spread_high: spread.map(|spread| spread.high).filter(|high| high.is_finite()),
        trial_ns: ns(estimate::mean(&pilot.seconds).unwrap_or(0.0)),
        tie: question.tie_width,
        tie_rounds: spread.and_then(|spread| resolution::rounds_to_tie(spread.centre, question)),
        ..Outlook::default()
    }
}

/// Of a race, after its pilot.
#[must_use]
pub fn of_race(pilot: &Pilot, trials: &[PilotTrial], config: &RaceConfig) -> Outlook {
    let mut outlook = blank(pilot, trials, &config.question);
    let spent: f64 = trials.iter().map(|trial| trial.seconds).sum();
    let mean = estimate::mean(&pilot.seconds).unwrap_or(0.0);
    let stacks = pilot.seconds.len();
    let screen: usize = resolution::screen_rounds(stacks, config).iter().sum();
    let twins = usize::from(config.control.is_some());
    let per_round = (config.finalists.min(stacks - twins) + 2 * twins) as f64 * mean;
    outlook.screen_trials = screen as u32;
    outlook.screen_ns = ns(screen as f64 * mean);
    outlook.buys = resolution::plan_race(pilot, config).map_or_else(Vec::new, |plan| {
        let buys = |look: &resolution::Resolves| Buys {
            rounds: look.rounds as u32,
            time_ns: ns(spent + look.seconds),
            difference: Some(look.difference).filter(|difference| difference.is_finite()),
        };
        // Of the looks those at 10, 20, 40 … rounds and the last: the others are close by.
        let last = plan.looks.len().saturating_sub(1);
        let shown = |(look, _): &(usize, _)| look % 3 == 2 || *look == last;
        plan.looks.iter().enumerate().filter(shown).map(|(_, look)| buys(look)).collect()
    });
    let before = spent + screen as f64 * mean;
    outlook.tie_ns = outlook.tie_rounds.map(|rounds| ns(before + rounds as f64 * per_round));
    outlook
}

/// Of complete rounds, after the first two of `rounds`.
#[must_use]
pub fn of_rounds(
    plan: &Plan,
    design: &Design,
    trials: &[PilotTrial],
    rounds: u32,
    question: &Question,
) -> Outlook {
    let pilot = resolution::evaluate(design, trials);
    let mut outlook = blank(&pilot, trials, question);
    let error = 2.0 * (1.0 - question.confidence) / plan.ranked().max(2) as f64;
    let round = resolution::fixed_seconds(&pilot, 1);
    let buys = |rounds: u32| Buys {
        rounds,
        time_ns: ns(f64::from(rounds) * round),
        difference: pilot
            .spread
            .map(|spread| resolution::resolvable(spread.centre, rounds as usize, error))
            .filter(|difference| difference.is_finite()),
    };
    // What twice and four times the effort would buy, for whoever wants to ask for it.
    outlook.buys = [1, 2, 4].map(|times| buys(rounds.saturating_mul(times))).to_vec();
    outlook.tie_ns = outlook.tie_rounds.map(|rounds| ns(rounds as f64 * round));
    outlook
}

/// Forecast of the precision of a run of complete rounds, from its first two rounds. Using them does
/// not bias the result: the number of rounds was fixed before, or depends on time alone.
#[must_use]
pub fn rounds_outlook(plan: &Plan, outcomes: &Outcomes) -> Option<Outlook> {
    let candidates = plan.candidates.len() as u32;
    let mut trials = Vec::new();
    for round in 0..PILOT_ROUNDS {
        let of_round = order::round_order(plan.lab.seed, candidates, round);
        for (stack, value) in round_values(plan, outcomes, &of_round) {
            let elapsed_ns: u64 = of_round
                .iter()
                .filter(|trial| plan.candidates[trial.candidate as usize].stack as usize == stack)
                .filter_map(|trial| outcomes.get(&trial.index))
                .map(|(_, outcome)| outcome.elapsed_ns)
                .sum();
            let seconds = elapsed_ns as f64 / 1e9;
            trials.push(PilotTrial { stack, round: round as usize, value, seconds });
        }
    }
    if trials.iter().all(|trial| trial.seconds == 0.0) {
        return None;
    }
    let (_, design) = axes(plan, plan.stacks.len());
    Some(of_rounds(plan, &design, &trials, plan.rounds(), &question(plan)))
}
