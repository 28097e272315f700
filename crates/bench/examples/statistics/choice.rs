//! Quality, certainty and cost of the stack that a race chooses.

use super::matrix::{Lab, Noise, Trouble};
use super::row::{Raw, Row, Share};
use super::{Scale, each};
use seekwell_stats::estimate::{mean, median, quantile};
use seekwell_stats::race::{Race, RaceConfig, Step};
use seekwell_stats::{Better, Finding, Question, derive_seed, seeded};

/// A choice within this share of the best rate is good.
const GOOD: f64 = 0.02;

/// Result of one race.
struct Run {
    loss: f64,
    kind: &'static str,
    trials: usize,
    /// Loss of the best finalist: what the screen had thrown away.
    screen_loss: f64,
    risk: f64,
}

impl Run {
    fn certified(&self) -> bool {
        self.kind != "unresolved"
    }
}

struct Cell {
    noise: Noise,
    stacks: usize,
    filesystem: f64,
    trouble: Trouble,
}

impl Cell {
    fn lab(&self, seed: u64) -> Lab {
        let label =
            format!("{:?} {} {} {:?}", self.noise, self.stacks, self.filesystem, self.trouble);
        let seed = derive_seed(seed, &label);
        Lab::matrix(self.stacks, self.noise, self.filesystem, self.trouble, seed)
    }

    fn name(&self) -> String {
        let noise = match self.noise {
            Noise::Calm => "calm",
            Noise::Fast17 => "FAST'17-like",
        };
        let trouble = match self.trouble {
            Trouble::None => "",
            Trouble::HeavyTails => ", heavy tails",
            Trouble::TwoModes => ", two modes",
            Trouble::CarryOver => ", carry-over",
            Trouble::All => ", heavy tails + two modes + carry-over",
        };
        format!("{noise}, K = {}, σ(fs) = {}{trouble}", self.stacks, self.filesystem)
    }

    fn race(&self, seed: u64) -> Run {
        let mut lab = self.lab(seed);
        let question = Question::new(Better::Higher, GOOD, 0.95);
        let config = RaceConfig::new(question, seed);
        let mut race = Race::new(lab.design.clone(), config).expect("a sound configuration");
        while let Step::Run(plan) = race.next_round() {
            let values = lab.round(&plan.order);
            race.record(&values).expect("the stacks asked for");
        }
        let outcome = race.outcome();
        let chosen = outcome.best_guess.expect("every lab has stacks");
        let finalists = outcome.comparison.iter().flat_map(|c| &c.rows);
        let screen_loss = finalists.map(|row| lab.loss(row.stack)).fold(1.0, f64::min);
        let kind = match outcome.finding {
            Finding::Winner { .. } => "winner",
            Finding::Tie { .. } => "tie",
            Finding::Unresolved { .. } => "unresolved",
        };
        let (trials, risk) = (outcome.trials, outcome.screening_risk);
        Run { loss: lab.loss(chosen), kind, trials, screen_loss, risk }
    }

    /// Today's practice: so many runs of each, the best mean wins. In complete rounds in random
    /// order and centred per round, which flatters it.
    fn practice(&self, seed: u64, runs: usize) -> f64 {
        let mut lab = self.lab(seed);
        let mut rng = seeded(derive_seed(seed, "practice"));
        let mut order: Vec<usize> = (0..self.stacks).collect();
        let mut sums = vec![0.0; self.stacks];
        for _ in 0..runs {
            rng.shuffle(&mut order);
            let logs: Vec<(usize, f64)> =
                order.iter().map(|&stack| (stack, lab.trial(stack).ln())).collect();
            let offset =
                median(&logs.iter().map(|(_, log)| *log).collect::<Vec<_>>()).unwrap_or(0.0);
            for (stack, log) in logs {
                sums[stack] += log - offset;
            }
        }
        let best = (0..self.stacks).max_by(|a, b| sums[*a].total_cmp(&sums[*b]));
        lab.loss(best.unwrap_or(0))
    }

    fn cost_limit(&self) -> f64 {
        match self.stacks {
            48 => 0.85,
            192 => 0.40,
            _ => 0.30,
        }
    }

    fn rows(&self, scale: Scale, take: &mut impl FnMut(Row)) {
        let runs: Vec<Run> = each(scale.matrices, |case| self.race(scale.seed(case)));
        let good = Share::count(&runs, |run| run.loss <= GOOD);
        let per = 10.0 * self.stacks as f64;
        let costs: Vec<f64> = runs.iter().map(|run| run.trials as f64 / per).collect();
        let cost = mean(&costs).unwrap_or(0.0);
        let ninetieth = quantile(&costs, 0.9).unwrap_or(0.0);
        let lost = Share::count(&runs, |run| run.screen_loss > GOOD);
        let unresolved = Share::count(&runs, |run| !run.certified());
        let practice = if self.trouble == Trouble::None {
            let of = |count: usize| {
                let losses: Vec<f64> =
                    each(scale.matrices, |case| self.practice(scale.seed(case), count));
                Share::count(&losses, |loss| *loss <= GOOD).value() * 100.0
            };
            format!("; 3 runs of each {:.0} %, 10 runs {:.0} %", of(3), of(10))
        } else {
            String::new()
        };
        let (least, limit) = if self.trouble == Trouble::None {
            (0.97, format!("≥ 97 %, cost ≤ {:.2}", self.cost_limit()))
        } else {
            (0.90, "≥ 90 %".to_owned())
        };
        let cheap = self.trouble != Trouble::None || cost <= self.cost_limit();
        take(Row {
            what: "chosen stack within 2 % of the best",
            case: self.name(),
            figures: format!(
                "{good}; cost {cost:.3} of 10 runs of each (90th percentile {ninetieth:.2}); best lost in the screen {:.1} %{practice}",
                100.0 * lost.value()
            ),
            share: good,
            target: limit,
            reached: Some(good.value() >= least && cheap),
            unresolved: Some(unresolved),
            raw: self.raw(&runs),
        });
        self.certificate(&runs, take);
    }

    fn certificate(&self, runs: &[Run], take: &mut impl FnMut(Row)) {
        let certified: Vec<&Run> = runs.iter().filter(|run| run.certified()).collect();
        let wrong = Share::count(&certified, |run| run.loss > GOOD);
        let share = Share { hits: certified.len(), of: runs.len() };
        let winners = Share::count(runs, |run| run.kind == "winner");
        let least = match (self.trouble, self.stacks, self.noise) {
            (Trouble::None, 192, Noise::Calm) => Some(0.95),
            (Trouble::None, 192, Noise::Fast17) => Some(0.60),
            _ => None,
        };
        let mut target = if self.trouble == Trouble::None { "wrong ≤ 2 %" } else { "" }.to_owned();
        if let Some(least) = least {
            target.push_str(&format!(", certified ≥ {:.0} %", 100.0 * least));
        }
        let reached = wrong.value() <= 0.02 && least.is_none_or(|least| share.value() >= least);
        let risk = mean(&runs.iter().map(|run| run.risk).collect::<Vec<_>>()).unwrap_or(0.0);
        take(Row {
            what: "certified verdicts",
            case: self.name(),
            figures: format!(
                "certified {share}, of these wrong {wrong}; winners {:.1} %; printed screening risk {:.1} % on average",
                100.0 * winners.value(),
                100.0 * risk
            ),
            share: wrong,
            target,
            reached: (self.trouble == Trouble::None).then_some(reached),
            unresolved: Some(Share { hits: share.of - share.hits, of: share.of }),
            raw: Raw::default(),
        });
    }

    fn raw(&self, runs: &[Run]) -> Raw {
        let line = |(case, run): (usize, &Run)| {
            format!(
                "{:?},{case},{:.5},{},{},{:.5},{:.4}",
                self.noise, run.loss, run.kind, run.trials, run.screen_loss, run.risk
            )
        };
        Raw {
            name: format!("choice-{}-{}-{:?}", self.stacks, self.filesystem, self.trouble)
                .to_lowercase(),
            header: "noise,case,loss,verdict,trials,best_finalist_loss,\
                     screening_risk"
                .to_owned(),
            lines: runs.iter().enumerate().map(line).collect(),
        }
    }
}

/// Rows about choosing among so many stacks, for each width of the filesystems' effects and each
/// trouble.
pub fn rows(
    scale: Scale,
    stacks: usize,
    widths: &[f64],
    troubles: &[Trouble],
    take: &mut impl FnMut(Row),
) {
    for &filesystem in widths {
        for &trouble in troubles {
            for noise in [Noise::Calm, Noise::Fast17] {
                Cell { noise, stacks, filesystem, trouble }.rows(scale, take);
            }
        }
    }
}
