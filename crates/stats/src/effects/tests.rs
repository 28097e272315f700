use super::*;
use crate::rng::seeded;

/// Rounds of a full product with given main effects per axis and one interaction cell.
struct Lab {
    design: Design,
    main: Vec<Vec<f64>>,
    cell: Option<(usize, usize, f64)>,
    spread: f64,
}

impl Lab {
    fn truth(&self, stack: usize) -> f64 {
        let main: f64 =
            (0..self.design.axes()).map(|a| self.main[a][self.design.level(stack, a)]).sum();
        let at = |axis| self.design.level(stack, axis);
        main + self.cell.map_or(0.0, |(x, y, d)| if at(0) == x && at(1) == y { d } else { 0.0 })
    }

    fn values(&self, seed: u64, rounds: usize) -> Vec<Vec<Option<f64>>> {
        let mut rng = seeded(seed);
        let drift: Vec<f64> = (0..rounds).map(|_| 0.2 * rng.normal()).collect();
        (0..self.design.stacks())
            .map(|s| {
                let truth = self.truth(s);
                drift.iter().map(|d| Some((truth + d + self.spread * rng.normal()).exp())).collect()
            })
            .collect()
    }
}

fn lab(spread: f64) -> Lab {
    Lab {
        design: Design::product(&[3, 2, 2]),
        main: vec![vec![0.0, 0.3, 0.1], vec![0.0, 0.0], vec![0.05, 0.0]],
        cell: None,
        spread,
    }
}

#[test]
fn exact_data_give_exact_effects() {
    let found = effects(&lab(0.0).design, &lab(0.0).values(1, 8), 0.95).unwrap();
    assert_eq!((found.rounds, found.method), (8, EffectMethod::Rounds));
    let filesystem = &found.axes[0];
    assert_eq!(filesystem.extremes, (1, 0));
    assert!((filesystem.change.centre - 0.3f64.exp()).abs() < 1e-9);
    assert!(filesystem.measurable);
    let average = (0.3 + 0.1) / 3.0;
    assert!((filesystem.levels[0].centre - f64::exp(-average)).abs() < 1e-9);
    assert!((found.axes[1].at_most - 1.0).abs() < 1e-9, "the second axis does nothing");
    assert!((found.axes[2].change.centre - 0.05f64.exp()).abs() < 1e-9);
    let variance = |effects: &[f64]| {
        let mean = effects.iter().sum::<f64>() / effects.len() as f64;
        effects.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / effects.len() as f64
    };
    let (fs, journal) = (variance(&[0.0, 0.3, 0.1]), variance(&[0.05, 0.0]));
    assert!((filesystem.share - fs / (fs + journal)).abs() < 1e-6, "{}", filesystem.share);
    assert_eq!(found.interactions.len(), 3);
    for interaction in &found.interactions {
        assert!((interaction.departure.centre - 1.0).abs() < 1e-9);
    }
}

#[test]
fn an_interaction_is_found_where_it_is() {
    let mut lab = lab(0.01);
    lab.cell = Some((2, 1, 0.4));
    let found = effects(&lab.design, &lab.values(2, 10), 0.95).unwrap();
    let strongest = &found.interactions[0];
    assert_eq!((strongest.axes, strongest.levels.0), ((0, 1), 2));
    // In a 3 × 2 table one odd cell departs by 0.4 · (1 - 1/3)(1 - 1/2), and with only two values
    // on the second axis its neighbour departs as much the other way.
    assert!((strongest.departure.centre.ln().abs() - 0.4 / 3.0).abs() < 0.02, "{strongest:?}");
    assert!(strongest.measurable);
}

#[test]
fn intervals_cover_and_nothing_is_rarely_measurable() {
    let lab = lab(0.05);
    let runs = 500;
    let (mut covered, mut false_alarm, mut found_small) = (0, 0, 0);
    for seed in 0..runs {
        let found = effects(&lab.design, &lab.values(seed, 8), 0.95).unwrap();
        let average = (0.3 + 0.1) / 3.0;
        covered += u32::from(found.axes[0].levels[1].contains(f64::exp(0.3 - average)));
        false_alarm += u32::from(found.axes[1].measurable);
        found_small += u32::from(found.axes[2].measurable);
        assert_eq!(found.axes[0].extremes, (1, 0));
    }
    let share = |count: u32| f64::from(count) / runs as f64;
    assert!((0.92..=0.98).contains(&share(covered)), "{covered}");
    // `measurable` looks one way only, so half of the 5 %.
    assert!(share(false_alarm) <= 0.075, "{false_alarm}");
    assert!(share(found_small) > 0.8, "{found_small}");
}

#[test]
fn few_rounds_fall_back_to_single_trials() {
    let lab = lab(0.03);
    let runs = 500;
    let covered = (0..runs)
        .filter(|seed| {
            let found = effects(&lab.design, &lab.values(*seed, 2), 0.95).unwrap();
            assert_eq!(found.method, EffectMethod::Trials);
            found.axes[0].levels[1].contains(f64::exp(0.3 - 0.4 / 3.0))
        })
        .count();
    assert!((0.92..=0.98).contains(&(covered as f64 / runs as f64)), "{covered}");
}

#[test]
fn a_raced_field_with_holes_still_tells() {
    let lab = lab(0.01);
    let mut values = lab.values(3, 4);
    // Half of the stacks ran in the first round only.
    for (stack, row) in values.iter_mut().enumerate() {
        if stack % 2 == 0 {
            row[1..].fill(None);
        }
    }
    let found = effects(&lab.design, &values, 0.95).unwrap();
    assert_eq!(found.method, EffectMethod::Trials);
    assert!((found.axes[0].change.centre.ln() - 0.3).abs() < 0.03);
}

#[test]
fn axes_that_cannot_be_told_apart_give_nothing() {
    // The journal changes with the filesystem and never alone.
    let tied = Design::new(vec![vec![0, 0], vec![1, 1], vec![0, 0], vec![1, 1]]).unwrap();
    assert_eq!(effects(&tied, &vec![vec![Some(1.0); 8]; 4], 0.95), None);
    let empty = Design::product(&[2]);
    assert_eq!(effects(&empty, &[vec![None; 8], vec![None; 8]], 0.95), None);
    // One trial of each of two stacks: nothing is left to judge the noise by.
    assert_eq!(effects(&empty, &[vec![Some(1.0)], vec![Some(2.0)]], 0.95), None);
}

#[test]
fn missing_combinations_leave_out_the_interaction() {
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for a in 0..3 {
        for b in 0..3 {
            if (a, b) != (2, 2) {
                levels.push(vec![a, b]);
            }
        }
    }
    let design = Design::new(levels).unwrap();
    let values: Vec<Vec<Option<f64>>> =
        (0..8).map(|s| (0..8).map(|r| Some(1.0 + 0.01 * ((s * r) % 3) as f64)).collect()).collect();
    let found = effects(&design, &values, 0.95).unwrap();
    assert_eq!(found.axes.len(), 2);
    assert!(found.interactions.is_empty());
}

#[test]
fn one_factor_pairs_differ_in_that_axis_alone() {
    let design = Design::product(&[2, 3]);
    assert_eq!(one_factor_pairs(&design, 0), vec![(0, 3), (1, 4), (2, 5)]);
    assert_eq!(one_factor_pairs(&design, 1).len(), 6);
}

#[test]
fn because_needs_an_ablation_on_the_same_side() {
    let interval =
        |low, high| Interval { low, centre: 0.5 * (low + high), high, method: Method::StudentT };
    let effect = interval(1.2, 1.4);
    assert_eq!(wording(effect, None), Wording::ConsistentWith);
    assert_eq!(wording(effect, Some(interval(1.1, 1.3))), Wording::Confirmed);
    assert_eq!(wording(effect, Some(interval(0.9, 1.3))), Wording::ConsistentWith);
    assert_eq!(wording(effect, Some(interval(0.7, 0.9))), Wording::ConsistentWith);
    assert_eq!(wording(interval(0.9, 1.1), Some(interval(0.9, 1.1))), Wording::ConsistentWith);
}

#[test]
fn runs_without_any_effect_seldom_show_one() {
    let mut lab = lab(0.05);
    lab.main = lab.main.iter().map(|axis| vec![0.0; axis.len()]).collect();
    let runs = 400;
    let mut alarms = 0;
    for seed in 0..runs {
        let found = effects(&lab.design, &lab.values(seed, 8), 0.95).unwrap();
        let some_axis = found.axes.iter().any(|axis| axis.measurable);
        alarms += u32::from(some_axis || found.interactions.iter().any(|i| i.measurable));
        for axis in &found.axes {
            assert!(axis.measurable || axis.share == 0.0, "noise has no share: {axis:?}");
            assert!(axis.at_most >= axis.change.high - 1e-12, "{axis:?}");
        }
        assert!(found.axes.iter().map(|axis| axis.share).sum::<f64>() <= 1.0 + 1e-9);
    }
    // 5 % of 400 are 20; 33 leave three standard deviations.
    assert!(alarms <= 33, "{alarms} of {runs}");
}
