use super::ById;
use proptest::prelude::*;
use std::collections::BTreeMap;

proptest! {
    /// Sums are those of a plain map, also of numbers that share a place.
    #[test]
    fn states_are_those_of_a_map(
        asked in prop::collection::vec((0_u32..400, 1_u64..9), 0..600),
    ) {
        let (mut by_id, mut plain) = (ById::new(), BTreeMap::new());
        for (id, more) in asked {
            *by_id.get(id, || 100) += more;
            *plain.entry(id).or_insert(100) += more;
        }
        prop_assert_eq!(by_id.len(), plain.len());
        prop_assert_eq!(by_id.iter().copied().collect::<BTreeMap<_, _>>(), plain);
    }
}
