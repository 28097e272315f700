use super::Map;
use proptest::prelude::*;
use std::collections::HashMap;

proptest! {
    #[test]
    fn equals_a_hash_map(steps in prop::collection::vec((0_u32..20_000, prop::option::of(0_u32..9)), 1..100)) {
        let mut map = Map::default();
        let mut expected: HashMap<u32, u32> = HashMap::new();
        for (key, value) in steps {
            let old = match value {
                Some(value) => expected.insert(key, value),
                None => expected.remove(&key),
            };
            prop_assert_eq!(map.set(key, value), old);
            prop_assert_eq!(map.get(key), expected.get(&key).copied());
            prop_assert_eq!(map.get(key + 1), expected.get(&(key + 1)).copied());
        }
    }
}
