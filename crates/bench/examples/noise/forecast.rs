//! Forecasts held against the future that came: "decides within N more rounds, probability p".

use super::noises::{NOISES, Setting};
use seekwell_stats::design::Design;
use seekwell_stats::outlook::Outlook;
use seekwell_stats::race::{Race, RaceConfig, Step, looks_for};
use seekwell_stats::{Better, Finding, Question, Rng, derive_seed, seeded};

/// Rounds after which a future ends.
const LAST: usize = 160;

/// Noises of the futures, by their place in the table: clean, drift, Student's t, correlated.
const OF_NOISES: [usize; 5] = [0, 0, 1, 3, 10];

/// A forecast and its outcome.
#[derive(Clone, Copy, Debug)]
pub struct Forecast {
    /// Stacks of the lab.
    pub stacks: usize,
    /// Rounds that were done.
    pub done: usize,
    /// Rounds that the forecast is about.
    pub rounds: u64,
    /// Its probability.
    pub probability: f64,
    /// True if the run was decided by then.
    pub came: bool,
}

/// Forecasts of many labs. Each looks ahead up to a look to come that is drawn at random.
pub struct Calibration(pub Vec<Forecast>);

impl Calibration {
    /// Simulates so many labs; those that are decided before their forecast count for nothing.
    pub fn of(cases: usize, seeds: &str) -> Self {
        Self((0..cases).filter_map(|case| one(case, seeds)).collect())
    }

    /// Mean squared error of the probabilities (Brier 1950).
    pub fn brier(&self) -> f64 {
        self.mean(|one| (one.probability - f64::from(u8::from(one.came))).powi(2))
    }

    /// The same of a forecast that always says how often it comes true.
    pub fn brier_of_base_rate(&self) -> f64 {
        let base = self.mean(|one| f64::from(u8::from(one.came)));
        base * (1.0 - base)
    }

    fn mean(&self, of: impl Fn(&Forecast) -> f64) -> f64 {
        self.0.iter().map(of).sum::<f64>() / self.0.len().max(1) as f64
    }

    /// Per tenth of the probability: forecasts, their mean probability, and how many came true.
    pub fn tenths(&self) -> Vec<(usize, f64, f64)> {
        let tenth = |number: usize| {
            let within = |one: &&Forecast| ((one.probability * 10.0) as usize).min(9) == number;
            let part = Self(self.0.iter().filter(within).copied().collect());
            let came = part.mean(|one| f64::from(u8::from(one.came)));
            (part.0.len(), part.mean(|one| one.probability), came)
        };
        (0..10).map(tenth).collect()
    }

    /// The table, with its head.
    pub fn lines(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let head = ["probability", "forecasts", "on average", "came true"].map(str::to_owned);
        let mut lines: Vec<Vec<String>> = self
            .tenths()
            .into_iter()
            .enumerate()
            .map(|(tenth, (count, said, came))| {
                vec![
                    format!("{} to {} %", 10 * tenth, 10 * tenth + 10),
                    count.to_string(),
                    format!("{:.0} %", 100.0 * said),
                    format!("{:.0} %", 100.0 * came),
                ]
            })
            .collect();
        lines.push(vec![
            "Brier score, and that of the base rate".to_owned(),
            self.0.len().to_string(),
            format!("{:.3}", self.brier()),
            format!("{:.3}", self.brier_of_base_rate()),
        ]);
        (head.to_vec(), lines)
    }

    /// The table in plain text.
    pub fn text(&self) -> String {
        let (head, lines) = self.lines();
        let all = std::iter::once(head).chain(lines);
        all.map(|cells| cells.join(" | ") + "\n").collect()
    }

    /// One line per forecast.
    pub fn raw(&self) -> Vec<String> {
        let line = |one: &Forecast| {
            let Forecast { stacks, done, rounds, probability, came } = one;
            format!("{stacks},{done},{rounds},{probability},{came}")
        };
        let head = "stacks,done,rounds,probability,came".to_owned();
        std::iter::once(head).chain(self.0.iter().map(line)).collect()
    }
}

fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.index(of.len())]
}

/// A lab that is forecast once and then run to its end.
fn one(case: usize, seeds: &str) -> Option<Forecast> {
    let seed = derive_seed(case as u64, &format!("forecast {seeds}"));
    let mut rng = seeded(seed);
    let stacks = 2 + rng.index(8);
    let spread = pick(&mut rng, &[0.03, 0.06, 0.1, 0.16]);
    let width = pick(&mut rng, &[0.0, 0.05, 0.15]);
    let truth: Vec<f64> = (0..stacks).map(|_| width * rng.normal()).collect();
    let done = pick(&mut rng, &[6, 8, 10, 13, 16, 20, 25]);
    let ahead: Vec<usize> = looks_for(LAST).into_iter().filter(|look| *look > done).collect();
    let most = pick(&mut rng, &ahead);
    let noise = &NOISES[pick(&mut rng, &OF_NOISES)];
    let values = (noise.draw)(&mut rng, &Setting { truth: &truth, rounds: LAST, spread });
    let config = RaceConfig {
        looks: looks_for(LAST),
        finalists: stacks,
        ..RaceConfig::new(Question::new(Better::Lower, 0.05, 0.95), seed)
    };
    let mut race = Race::new(Design::unstructured(stacks), config).expect("a sound race");
    let mut made: Option<Outlook> = None;
    while let Step::Run(plan) = race.next_round() {
        let row: Vec<_> =
            plan.order.iter().map(|stack| (*stack, values[*stack][plan.round])).collect();
        race.record(&row).expect("the stacks asked for");
        let decided =
            race.last_look().is_some_and(|l| !matches!(l.finding, Finding::Unresolved { .. }));
        let reached = made.is_some_and(|made| plan.round as u64 + 1 >= made.rounds);
        if decided || reached {
            let Outlook { rounds, probability } = made?;
            return Some(Forecast { stacks, done, rounds, probability, came: decided });
        }
        if plan.round + 1 == done {
            made = Some(race.outlook(most)?);
        }
    }
    None
}
