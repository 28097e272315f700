//! Worth of verdicts under noise: false winners, wrong certificates, coverage.
//!
//! ```text
//! cargo run --release -p seekwell-bench --example noise -- table [CASES [NOISE [STACKS [ROUNDS]]]]
//! ```
//!
//! A noise is one function of `noises.rs`. Every row has the share certified under clean noise of
//! the same size beside it, so that withholding everything does not pass.

#![allow(clippy::print_stdout, reason = "a measuring program prints its table")]
#![allow(clippy::expect_used, reason = "a measuring program stops at the first surprise")]

mod cell;
mod noises;

use cell::{Ended, Plan, Size, Truth, run};
use noises::{NOISES, Noise};

/// Seeds of the kept table; development used others.
const SEEDS: &str = "reported noise";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, usual: usize| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let seeds = std::env::var("SEEDS").unwrap_or_else(|_| SEEDS.to_owned());
    let cases = number(1, 400);
    let filter = arguments.get(2).cloned().unwrap_or_default();
    let (stacks, rounds) = (number(3, 0), number(4, 0));
    println!(
        "noise | stacks × rounds, σ | design | false winner | certified (clean) | wrong of certified | coverage | trials"
    );
    for size in sizes().into_iter().filter(|size| {
        (stacks == 0 || size.stacks == stacks) && (rounds == 0 || size.rounds == rounds)
    }) {
        for plan in [Plan::Fixed, Plan::Looks] {
            let clean = Cell::of(&NOISES[0], size, plan, cases, &seeds);
            for noise in NOISES.iter().filter(|noise| noise.name.contains(&filter)) {
                let found = Cell::of(noise, size, plan, cases, &seeds);
                println!("{}", found.line(noise, size, plan, &clean));
            }
        }
    }
}

fn sizes() -> Vec<Size> {
    let size = |stacks, rounds, spread| Size { stacks, rounds, spread, tie: 0.05 };
    vec![
        size(2, 6, 0.05),
        size(2, 20, 0.1),
        size(2, 40, 0.1),
        size(3, 10, 0.05),
        size(4, 20, 0.1),
        size(8, 6, 0.05),
        size(8, 6, 0.3),
        size(8, 10, 0.1),
        size(8, 40, 0.16),
        size(24, 10, 0.1),
        size(48, 20, 0.1),
    ]
}

struct Cell {
    false_winners: f64,
    certified: usize,
    wrong: usize,
    of: usize,
    coverage: f64,
    trials: f64,
}

impl Cell {
    fn of(noise: &Noise, size: Size, plan: Plan, cases: usize, seeds: &str) -> Self {
        let all = |truth: Truth| -> Vec<Ended> {
            (0..cases).map(|case| run(noise, size, plan, truth, case, seeds)).collect()
        };
        let share = |all: &[Ended], is: fn(&Ended) -> bool| {
            all.iter().filter(|one| is(one)).count() as f64 / all.len().max(1) as f64
        };
        let equal = all(Truth::Equal);
        let unequal = all(Truth::Unequal);
        let known: Vec<Ended> =
            equal.iter().chain(&unequal).copied().filter(|one| one.covered.is_some()).collect();
        let trials: usize = unequal.iter().map(|one| one.trials).sum();
        Self {
            false_winners: share(&equal, |one| one.winner),
            certified: unequal.iter().filter(|one| one.certified).count(),
            wrong: unequal.iter().filter(|one| one.wrong).count(),
            of: cases,
            coverage: share(&known, |one| one.covered == Some(true)),
            trials: trials as f64 / cases.max(1) as f64,
        }
    }

    fn line(&self, noise: &Noise, size: Size, plan: Plan, clean: &Self) -> String {
        let percent = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        format!(
            "{} | {} × {}, {:.0} % | {plan:?} | {:.1} % | {:.0} % ({:.0} %) | {:.1} % of {} | {:.0} % | {:.0}",
            noise.name,
            size.stacks,
            size.rounds,
            100.0 * size.spread,
            100.0 * self.false_winners,
            percent(self.certified, self.of),
            percent(clean.certified, clean.of),
            percent(self.wrong, self.certified),
            self.certified,
            100.0 * self.coverage,
            self.trials
        )
    }
}
