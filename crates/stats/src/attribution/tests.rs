use super::*;
use proptest::prelude::*;

fn exact(causes: usize, single: usize, value: impl Fn(u32) -> f64) -> Attribution {
    let mut evaluate = |sets: &[u32]| Ok::<_, ()>(sets.iter().map(|set| value(*set)).collect());
    attribute(causes, single, &mut evaluate).unwrap()
}

/// Shapley values by all orders of the players.
fn by_orders(values: &[f64]) -> Vec<f64> {
    let players = values.len().ilog2() as usize;
    let mut orders = vec![vec![]];
    for _ in 0..players {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                let left = (0..players).filter(|one| !order.contains(one)).collect::<Vec<_>>();
                left.into_iter().map(move |one| [order.as_slice(), &[one]].concat())
            })
            .collect();
    }
    let mut sums = vec![0.0; players];
    for order in &orders {
        let mut set = 0;
        for player in order {
            sums[*player] += values[set | 1 << player] - values[set];
            set |= 1 << player;
        }
    }
    sums.into_iter().map(|sum| sum / orders.len() as f64).collect()
}

proptest! {
    #[test]
    fn shapley_values_are_means_over_all_orders(values in prop::collection::vec(-9.0_f64..9.0, 16)) {
        for (found, expected) in shapley(&values).iter().zip(by_orders(&values)) {
            prop_assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn amounts_and_rest_add_up_with_any_number_of_single_causes(
        values in prop::collection::vec(-9.0_f64..9.0, 32),
        single in 0_usize..6,
    ) {
        let found = exact(5, single, |set| values[set as usize]);
        let sum = found.rest + found.parts.iter().map(|part| part.amount).sum::<f64>();
        prop_assert!((sum - found.difference).abs() < 1e-9);
        let mut causes: Vec<usize> = found.parts.iter().flat_map(|part| part.causes.clone()).collect();
        causes.sort_unstable();
        prop_assert_eq!(causes, [0, 1, 2, 3, 4]);
    }
}

#[test]
fn two_causes_of_which_each_hides_the_other_share_equally() {
    let found = exact(3, 5, |on| if on & 3 == 0 { 0.0 } else { 8.0 });
    assert_eq!(found.parts[0].amount, 4.0);
    assert_eq!(found.parts[1].amount, 4.0);
    let hidden = found.pairs.iter().find(|(pair, _)| *pair == [0, 1]).unwrap();
    assert_eq!(hidden.1, -8.0);
    assert_eq!(found.parts[2], Part { causes: vec![2], amount: 0.0 });
}

#[test]
fn small_causes_are_one_part() {
    // 100 + 0.2 + 0.2: the small ones are 0.4 % together and less than the limit each.
    let found =
        exact(3, 5, |on| f64::from(on & 1) * 100.0 + f64::from((on >> 1).count_ones()) * 0.2);
    assert_eq!(found.parts.len(), 2);
    assert_eq!(found.parts[1].causes, [1, 2]);
    assert!((found.parts[1].amount - 0.4).abs() < 1e-9);
    // Both ends, three causes alone from either end, and the four sets of two parts.
    assert_eq!(found.sets, 8);
}

#[test]
fn a_difference_without_causes_is_all_rest() {
    let found = exact(0, 5, |_| 3.0);
    assert_eq!((found.difference, found.rest, found.parts.len()), (3.0, 3.0, 0));
}

#[test]
fn what_three_causes_add_at_once_is_beyond_pairs() {
    // Alone 1 each, the first two together 2 more, all three together 4 more, and 8 without any.
    let joint = |set: u32, of: u32, adds: f64| if set & of == of { adds } else { 0.0 };
    let value = |set: u32| {
        8.0 + f64::from(set.count_ones()) + joint(set, 0b11, 2.0) + joint(set, 0b111, 4.0)
    };
    let found = exact(3, 5, value);
    assert_eq!((found.difference, found.within_pairs), (17.0, 13.0));
    // Without the third cause nothing is beyond pairs.
    let found = exact(2, 5, value);
    assert_eq!((found.difference, found.within_pairs), (12.0, 12.0));
}
