use super::*;

fn stamp(lane: u32, number: u64, end_ns: u64) -> Stamp {
    Stamp { lane, number, end_ns }
}

fn needs(resource: &mut Resource, me: Stamp, kind: Use) -> Vec<(u32, u64)> {
    let mut needs = Vec::new();
    resource.add(me, kind, &mut needs);
    needs.iter().map(|need| (need.lane, need.number)).collect()
}

#[test]
fn shared_uses_overlap_and_others_do_not() {
    let mut name = Resource::default();
    assert_eq!(needs(&mut name, stamp(0, 1, 10), Use::Alone), []);
    assert_eq!(needs(&mut name, stamp(1, 1, 20), Use::Shared), [(0, 1)]);
    assert_eq!(needs(&mut name, stamp(2, 1, 30), Use::Shared), [(0, 1)]);
    assert_eq!(needs(&mut name, stamp(1, 2, 40), Use::Shared), [(0, 1)]);
    assert_eq!(needs(&mut name, stamp(0, 2, 50), Use::Alone), [(1, 2), (2, 1)]);
    assert_eq!(needs(&mut name, stamp(3, 1, 60), Use::Listing), [(0, 2)]);
    assert_eq!(needs(&mut name, stamp(4, 1, 70), Use::Shared), [(3, 1)]);
}

#[test]
fn calls_that_ran_at_the_same_time_stay_free_and_later_ones_wait_for_both() {
    let mut data = Resource::default();
    let mut all = Vec::new();
    data.add_as_recorded(stamp(0, 1, 100), 0, Use::Alone, &mut all);
    data.add_as_recorded(stamp(1, 1, 120), 50, Use::Alone, &mut all);
    assert_eq!(all, []);
    data.add_as_recorded(stamp(2, 1, 300), 200, Use::Alone, &mut all);
    assert_eq!(all, [stamp(0, 1, 100), stamp(1, 1, 120)]);
}

#[test]
fn an_order_that_is_known_is_not_demanded_again() {
    let mut known = Known::default();
    assert_eq!(known.missing(0, &[stamp(1, 4, 0), stamp(0, 9, 0), stamp(1, 6, 0)]), [(1, 6)]);
    assert_eq!(known.missing(0, &[stamp(1, 5, 0), stamp(2, 1, 0)]), [(2, 1)]);
    assert_eq!(known.missing(2, &[stamp(1, 5, 0)]), [(1, 5)]);
}
