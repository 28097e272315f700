//! The worth of answers under noise: how wide the loss bound is, how often it is missed, how often a run
//! decides, and how often a sentence about an axis is wrong.
//!
//! ```text
//! cargo run --release -p seekwell-bench --example noise -- [CASES [NOISE [STACKS [ROUNDS]]]]
//! ```
//!
//! prints one CSV line per cell; `make statistics` keeps them as `benches/runs/statistics/bounds.csv`. A
//! noise is one function of `noises.rs`. With `carry-over` in place of a noise the lines are those of
//! laboratories in which a trial is slower after some stacks than after others.

#![allow(clippy::print_stdout, reason = "a measuring program prints its table")]
#![allow(clippy::expect_used, reason = "a measuring program stops at the first surprise")]

mod cell;
mod noises;

use cell::{Ended, Order, Size, run, run_carrying};
use noises::NOISES;
use seekwell_stats::estimate::median;

/// Seeds of the kept table; development used others.
const SEEDS: &str = "reported noise, method 4";

/// The columns.
const HEAD: &str = "noise,stacks,rounds,spread,labs,median_bound,missed,decided,axis_wrong,trials";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, usual: usize| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let filter = arguments.get(1).cloned().unwrap_or_default();
    let (cases, stacks, rounds) = (number(0, 200), number(2, 0), number(3, 0));
    let wanted = |size: &&Size| {
        (stacks == 0 || size.stacks == stacks) && (rounds == 0 || size.rounds == rounds)
    };
    if filter == "carry-over" {
        return carry_over(cases);
    }
    println!("{HEAD}");
    for size in SIZES.iter().filter(wanted) {
        for noise in NOISES.iter().filter(|noise| noise.name.contains(&filter)) {
            let mut all = both_halves(cases, &|case| run(noise, *size, case, SEEDS));
            println!("\"{}\",{}", noise.name, line(*size, &mut all));
        }
    }
}

/// Runs the cases on two threads.
fn both_halves(cases: usize, run: &(impl Fn(usize) -> Ended + Sync)) -> Vec<Ended> {
    let half = |from: usize| -> Vec<Ended> { (from..cases).step_by(2).map(run).collect() };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut all = half(0);
        all.extend(other.join().expect("noises that do not panic"));
        all
    })
}

/// Laboratories with carry-over: wrong certificates by range, stacks and order.
fn carry_over(cases: usize) {
    println!("range,stacks,rounds,order,labs,certified,wrong,missed");
    for (range, stacks) in [(0.17, 2), (0.17, 4), (0.34, 2), (0.34, 4)] {
        let size = Size { stacks, rounds: 20, spread: 0.05 };
        for (name, order) in [("chained", Order::Chained), ("random", Order::Random)] {
            let all = both_halves(cases, &|case| run_carrying(range, order, size, case, SEEDS));
            let count = |is: fn(&Ended) -> bool| all.iter().filter(|one| is(one)).count();
            let certified = count(|one| one.decided);
            let (wrong, missed) = (count(|one| one.wrong), count(|one| one.missed));
            println!(
                "{range},{stacks},{},{name},{cases},{certified},{wrong},{missed}",
                size.rounds
            );
        }
    }
}

/// Laboratories that are simulated.
const SIZES: [Size; 5] = [
    Size { stacks: 2, rounds: 20, spread: 0.1 },
    Size { stacks: 3, rounds: 10, spread: 0.05 },
    Size { stacks: 8, rounds: 10, spread: 0.1 },
    Size { stacks: 9, rounds: 14, spread: 0.09 },
    Size { stacks: 24, rounds: 20, spread: 0.1 },
];

fn line(size: Size, all: &mut [Ended]) -> String {
    let labs = all.len();
    let share = |is: &dyn Fn(&Ended) -> bool| {
        all.iter().filter(|one| is(one)).count() as f64 / labs.max(1) as f64
    };
    let bounds: Vec<f64> = all.iter().map(|one| one.bound).collect();
    let lines: usize = all.iter().map(|one| one.axis_lines.0).sum();
    let wrong: usize = all.iter().map(|one| one.axis_lines.1).sum();
    let axis_wrong = match lines {
        0 => String::new(),
        lines => format!("{:.4}", wrong as f64 / lines as f64),
    };
    let trials: usize = all.iter().map(|one| one.trials).sum();
    format!(
        "{},{},{},{labs},{:.4},{:.4},{:.3},{axis_wrong},{:.0}",
        size.stacks,
        size.rounds,
        size.spread,
        median(&bounds).unwrap_or(f64::INFINITY),
        share(&|one| one.missed),
        share(&|one| one.decided),
        trials as f64 / labs.max(1) as f64
    )
}
