use super::*;

/// Searches a table of values; returns what was measured.
fn searched(spaces: &[Space], most: usize, value: &dyn Fn(&Point) -> Option<f64>) -> Measured {
    let mut measure = |points: &[Point]| Ok::<_, ()>(points.iter().map(value).collect());
    search(spaces, most, 0.005, &mut measure).expect("nothing fails")
}

fn best(measured: &Measured) -> (&Point, f64) {
    let values = measured.iter().filter_map(|(point, value)| Some((point, (*value)?)));
    values.min_by(|one, other| one.1.total_cmp(&other.1)).expect("a value")
}

#[test]
fn options_that_act_one_by_one_are_put_together() {
    let spaces = [Space { axes: vec![4, 3, 2, 5] }];
    let factors: [&[f64]; 4] =
        [&[1.0, 0.9, 1.2, 0.7], &[1.0, 1.0, 0.95], &[1.0, 1.3], &[1.0, 0.8, 0.85, 0.999, 1.0]];
    let value = |point: &Point| {
        Some(point.levels.iter().zip(factors).map(|(level, factors)| factors[*level]).product())
    };
    let measured = searched(&spaces, 100, &value);
    assert_eq!(best(&measured).0.levels, [3, 2, 0, 1]);
    // The default, ten single changes, three together, and those around the best that were not measured.
    assert!(measured.len() <= 1 + 10 + 3 + 10, "{}", measured.len());
}

#[test]
fn an_option_that_helps_with_another_alone_is_found_around_the_better_one() {
    let spaces = [Space { axes: vec![2, 2] }];
    // The second helps only with the first.
    let values = [[1.0, 1.1], [0.8, 0.5]];
    let value = |point: &Point| Some(values[point.levels[0]][point.levels[1]]);
    assert_eq!(best(&searched(&spaces, 10, &value)).0.levels, [1, 1]);
}

#[test]
fn a_gain_below_the_least_is_not_taken() {
    let spaces = [Space { axes: vec![2, 2] }];
    let value = |point: &Point| Some(1.0 - 0.004 * point.changes() as f64);
    let measured = searched(&spaces, 10, &value);
    assert!(measured.iter().all(|(point, _)| point.changes() < 2), "{measured:?}");
}

#[test]
fn a_space_that_is_far_behind_is_left_aside_after_its_single_changes() {
    let spaces = [Space { axes: vec![3, 3] }, Space { axes: vec![3, 3] }];
    let gain = |point: &Point| 0.9_f64.powi(point.changes() as i32);
    let behind = |point: &Point| Some(gain(point) * if point.space == 0 { 1.0 } else { 2.0 });
    let measured = searched(&spaces, 100, &behind);
    let of_space = |space: usize| measured.iter().filter(|(point, _)| point.space == space).count();
    // The default, four single changes, two together; then around the best of the first alone.
    assert_eq!([of_space(0), of_space(1)], [8, 6]);
    // One change makes the space that is behind the best.
    let hidden = |point: &Point| {
        Some(if point.space == 0 {
            1.0
        } else if point.levels[0] == 1 {
            0.5
        } else {
            2.0
        })
    };
    assert_eq!(best(&searched(&spaces, 100, &hidden)).0, &Point { space: 1, levels: vec![1, 0] });
}

#[test]
fn failures_and_an_end_of_measurements_leave_what_was_found() {
    let spaces = [Space { axes: vec![5, 5] }];
    let value = |point: &Point| (point.levels[0] != 1).then(|| 1.0 - 0.1 * point.levels[1] as f64);
    let measured = searched(&spaces, 7, &value);
    assert_eq!(measured.len(), 7);
    assert_eq!(measured.iter().filter(|(_, value)| value.is_none()).count(), 1);
    let none = searched(&spaces, 100, &|_| None);
    assert_eq!(none.len(), 1, "nothing is around what has no value");
}

#[test]
fn nothing_is_measured_twice_whatever_the_values() {
    for seed in 0..200 {
        let mut rng = crate::seeded(seed);
        let spaces: Vec<Space> =
            (0..3).map(|_| Space { axes: (0..4).map(|_| 1 + rng.index(4)).collect() }).collect();
        let mut drawn = crate::seeded(seed);
        let mut seen = std::collections::HashSet::new();
        let mut measure = |points: &[Point]| {
            assert!(points.iter().all(|point| seen.insert(point.clone())), "seed {seed}");
            Ok::<_, ()>(points.iter().map(|_| Some(drawn.uniform())).collect())
        };
        let measured = search(&spaces, 60, 0.0, &mut measure).expect("nothing fails");
        let all: u64 = spaces.iter().map(Space::configurations).sum();
        assert!(measured.len() as u64 <= all.min(60), "seed {seed}");
    }
}
