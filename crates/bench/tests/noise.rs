//! A sample of the table of verdicts under noise, on every test run. The whole table is
//! `cargo run --release -p seekwell-bench --example noise -- table 20000`.

#![allow(dead_code, reason = "the example uses more of the harness than this test")]
#![allow(clippy::expect_used, reason = "a helper of a test stops at the first surprise")]

#[path = "../examples/noise/cell.rs"]
mod cell;
#[path = "../examples/noise/forecast.rs"]
mod forecast;
#[path = "../examples/noise/noises.rs"]
mod noises;

use cell::{Plan, Size, Truth, run};
use forecast::Calibration;
use noises::NOISES;

#[test]
fn no_noise_makes_winners_of_equals_or_certifies_the_wrong_stack() {
    let sizes = [(2, 20, 0.1), (8, 6, 0.05), (8, 10, 0.1)];
    for (stacks, rounds, spread) in sizes {
        let size = Size { stacks, rounds, spread, tie: 0.05 };
        for noise in NOISES.iter().filter(|noise| noise.name != "regimes") {
            for plan in [Plan::Fixed, Plan::Looks] {
                let all = |truth| {
                    (0..40).map(move |case| run(noise, size, plan, truth, case, "development"))
                };
                let winners = all(Truth::Equal).filter(|one| one.winner).count();
                let wrong = all(Truth::Unequal).filter(|one| one.wrong).count();
                assert!(winners <= 5, "{}, {size:?}, {plan:?}: {winners} of 40", noise.name);
                assert!(wrong <= 3, "{}, {size:?}, {plan:?}: {wrong} of 40", noise.name);
            }
        }
    }
}

#[test]
fn clean_noise_is_certified() {
    let size = Size { stacks: 2, rounds: 20, spread: 0.1, tie: 0.05 };
    let ended =
        (0..60).map(|case| run(&NOISES[0], size, Plan::Fixed, Truth::Unequal, case, "development"));
    assert!(ended.filter(|one| one.certified).count() >= 45);
}

#[test]
fn forecasts_come_true_as_often_as_they_say() {
    let found = Calibration::of(250, "development");
    assert!(found.0.len() >= 100, "{} forecasts", found.0.len());
    assert!(found.brier() < 0.8 * found.brier_of_base_rate(), "{}", found.text());
    for (count, said, came) in found.tenths().into_iter().filter(|(count, ..)| *count >= 20) {
        // Three standard deviations of so few forecasts on top of ten points.
        let chance = 3.0 * (said * (1.0 - said) / count as f64).sqrt();
        assert!((said - came).abs() <= 0.10 + chance, "{count}: {said} {came}\n{}", found.text());
    }
}
