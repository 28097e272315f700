use super::*;
use proptest::prelude::*;

fn union(spans: &[(u64, u64)], limit: usize) -> Spans {
    let mut union = Spans::new(limit);
    spans.iter().for_each(|(start, end)| union.add(*start, *end));
    union
}

fn covered(spans: &[(u64, u64)]) -> Vec<bool> {
    (0..200).map(|at| spans.iter().any(|(start, end)| (*start..*end).contains(&at))).collect()
}

fn any_spans() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let span = (0_u64..190, 0_u64..10).prop_map(|(start, length)| (start, start + length));
    proptest::collection::vec(span, 0..40)
}

fn length(covered: impl Iterator<Item = bool>) -> u64 {
    covered.filter(|covered| *covered).count() as u64
}

proptest! {
    #[test]
    fn unions_are_those_of_every_nanosecond(one in any_spans(), two in any_spans()) {
        let (left, right) = (union(&one, 1000), union(&two, 1000));
        let (in_one, in_two) = (covered(&one), covered(&two));
        prop_assert_eq!(left.length(), length(in_one.iter().copied()));
        let both = in_one.iter().zip(&in_two).map(|(one, two)| *one && *two);
        prop_assert_eq!(left.shared(&right), length(both));
    }

    #[test]
    fn spans_out_of_order_cost_one_sorting_of_many(count in LATE..LATE + 9) {
        let backwards: Vec<(u64, u64)> =
            (0..count as u64).rev().map(|at| (at * 10, at * 10 + 3)).collect();
        let union = union(&backwards, 1 << 20);
        prop_assert!(union.late.len() < LATE);
        prop_assert_eq!(union.length(), count as u64 * 3);
    }

    #[test]
    fn a_full_union_gets_longer_and_stays_small(spans in any_spans()) {
        let full = union(&spans, 4);
        prop_assert!(full.spans.len() <= 4);
        prop_assert!(full.length() >= union(&spans, 1000).length());
    }
}
