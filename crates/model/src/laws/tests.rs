use super::*;

#[test]
fn the_table_has_each_law_once_and_in_order() {
    for (index, one) in LAWS.iter().enumerate() {
        assert_eq!(one.law as usize, index, "{}", one.name);
        assert_eq!(Law::from_name(one.name), Some(one.law));
        assert!(!one.models.is_empty() && !one.off.ends_with('.'), "{}", one.name);
    }
    assert_eq!(Law::from_name("gravity"), None);
    assert_eq!(law_table().lines().count(), LAWS.len());
}

#[test]
fn a_set_has_what_was_put_into_it() {
    let set: LawSet = [Law::Cpu, Law::Seek].into_iter().collect();
    assert!(set.contains(Law::Seek) && set.contains(Law::Cpu) && !set.contains(Law::Bus));
    assert_eq!(set.iter().collect::<Vec<_>>(), [Law::Seek, Law::Cpu]);
    assert_eq!(set.with(Law::Bus, false), set);
    assert_eq!(LawSet::NONE.union(set), set);
    assert!(LawSet::NONE.is_empty() && !set.is_empty());
}

#[test]
fn counters_that_the_kernel_lacks_are_missing_and_not_zero() {
    let totals =
        DeviceTotals { reads: 3, writes: 4, read_bytes: 1_000_000, ..DeviceTotals::default() };
    assert_eq!(Counter::Requests.of(&totals), Some(7.0));
    assert_eq!(Counter::Moved.of(&totals), Some(1.0));
    assert_eq!(Counter::Flushes.of(&totals), None);
}
