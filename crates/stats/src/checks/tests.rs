use super::*;
use crate::rng::seeded;

/// A laboratory with known troubles, in logarithms.
#[derive(Clone, Copy, Default)]
struct Troubles {
    drift_per_round: f64,
    per_position: f64,
    carry_of_stack_0: f64,
    walk: f64,
    spread: f64,
}

fn run(seed: u64, stacks: usize, rounds: usize, troubles: Troubles) -> Vec<Trial> {
    let mut rng = seeded(seed);
    let mut trials = Vec::new();
    let (mut before, mut walk) = (None, 0.0);
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..stacks).collect();
        rng.shuffle(&mut order);
        for (position, stack) in order.into_iter().enumerate() {
            walk = 0.9 * walk + troubles.walk * rng.normal();
            let log = 0.1 * stack as f64
                + troubles.drift_per_round * round as f64
                + troubles.per_position * position as f64
                + if before == Some(0) { troubles.carry_of_stack_0 } else { 0.0 }
                + walk
                + troubles.spread * rng.normal();
            before = Some(stack);
            trials.push(Trial { stack, round, position, value: log.exp() });
        }
    }
    trials
}

fn share(of: u64, found: impl Fn(u64) -> bool) -> f64 {
    (0..of).filter(|seed| found(*seed)).count() as f64 / of as f64
}

#[test]
fn a_clean_laboratory_is_rarely_accused() {
    let clean = Troubles { spread: 0.03, ..Troubles::default() };
    let of =
        |check: fn(&Checks) -> bool| share(1000, |s| check(&super::check(&run(s, 6, 10, clean))));
    assert!(of(|c| c.drift.unwrap().detected()) < 0.025);
    assert!(of(|c| c.order.unwrap().detected()) < 0.025);
    assert!(of(|c| c.carry_over.unwrap().detected()) < 0.025);
    assert!(of(|c| c.dependence_p.unwrap() < DETECT_BELOW) < 0.025);
}

#[test]
fn each_trouble_is_found_by_its_own_check() {
    let clean = Troubles { spread: 0.03, ..Troubles::default() };
    let found = |troubles: Troubles, check: fn(&Checks) -> bool| {
        share(200, |s| check(&super::check(&run(s, 6, 20, troubles))))
    };
    let drifting = Troubles { drift_per_round: 0.005, ..clean };
    assert!(found(drifting, |c| c.drift.unwrap().detected()) > 0.95);
    assert!(found(drifting, |c| c.carry_over.unwrap().detected()) < 0.05);
    let ordered = Troubles { per_position: 0.01, ..clean };
    assert!(found(ordered, |c| c.order.unwrap().detected()) > 0.95);
    let carrying = Troubles { carry_of_stack_0: 0.05, ..clean };
    assert!(found(carrying, |c| c.carry_over.unwrap().detected()) > 0.9);
    assert!(found(carrying, |c| c.order.unwrap().detected()) < 0.1);
    // A disturbance that outlasts several trials but not a whole round of twelve.
    let walking = Troubles { walk: 0.05, ..clean };
    let dependent =
        share(200, |s| check(&run(s, 12, 20, walking)).dependence_p.unwrap() < DETECT_BELOW);
    assert!(dependent > 0.9, "{dependent}");
}

#[test]
fn sizes_are_estimated_without_bias() {
    let troubles = Troubles {
        drift_per_round: 0.01,
        per_position: -0.02,
        carry_of_stack_0: 0.2,
        spread: 0.002,
        walk: 0.0,
    };
    let checks = check(&run(1, 5, 21, troubles));
    let drift = checks.drift.unwrap();
    assert!((drift.change.centre.ln() - 0.2).abs() < 0.02, "{drift:?}");
    let carry = checks.carry_over.unwrap();
    assert!((carry.factor.ln() - 0.2).abs() < 0.02, "{carry:?}");
    let alone = Troubles { carry_of_stack_0: 0.0, ..troubles };
    let order = check(&run(1, 5, 21, alone)).order.unwrap();
    assert!((order.change.centre.ln() + 0.08).abs() < 0.005, "{order:?}");
    assert!(order.change.contains((-0.08f64).exp()), "{order:?}");
}

#[test]
fn too_little_says_nothing() {
    let nothing = Checks { drift: None, order: None, carry_over: None, dependence_p: None };
    assert_eq!(check(&[]), nothing);
    let clean = Troubles { spread: 0.03, ..Troubles::default() };
    assert_eq!(check(&run(1, 6, 1, clean)), nothing);
    let short = check(&run(1, 2, 3, clean));
    assert_eq!(short.drift, None);
    assert_eq!(short.order, None);
}

#[test]
fn exact_values_are_clean() {
    let checks = check(&run(1, 4, 10, Troubles::default()));
    assert!(!checks.drift.unwrap().detected() || checks.drift.unwrap().change.centre == 1.0);
    assert!(!checks.carry_over.unwrap().detected(), "{checks:?}");
}

#[test]
fn values_without_logarithm_are_left_out() {
    let mut trials = run(1, 4, 10, Troubles { spread: 0.03, ..Troubles::default() });
    trials[5].value = 0.0;
    trials[6].value = f64::NAN;
    assert!(check(&trials).drift.is_some());
}
