use super::*;

fn geometry() -> Geometry {
    seekwell_device::build(&seekwell_device::catalogue().unwrap()["sata-500gb-7200"], 1).geometry()
}

const REGION: (u64, u64) = (1 << 20, 1 << 18);

#[test]
fn a_trace_is_that_of_its_seed_and_has_reads_alone_unless_writes_are_allowed() {
    let of = |seed, writes| lists(&geometry(), REGION, seed, writes);
    assert_eq!(of(3, true), of(3, true));
    assert_ne!(of(3, true), of(4, true));
    let is_read = |list: &List| list.requests.iter().all(|(way, _)| *way == Direction::Read);
    assert!(of(3, false).iter().all(|list| is_read(list) && !list.is_flushed));
}

#[test]
fn a_trace_has_both_directions_patterns_sizes_and_depths_inside_its_region() {
    let all = lists(&geometry(), REGION, 3, true);
    let (first, sectors) = REGION;
    for (_, span) in all.iter().flat_map(|list| &list.requests) {
        assert!(first <= span.lba, "{span:?}");
        assert!(span.lba + u64::from(span.sectors) <= first + sectors, "{span:?}");
    }
    let count = |is: &dyn Fn(&List) -> bool| all.iter().filter(|list| is(list)).count();
    let ways = |list: &List, way| list.requests.iter().any(|(one, _)| *one == way);
    let in_a_row = |list: &List| {
        let follows = |pair: &[(Direction, Span)]| {
            pair[0].1.lba + u64::from(pair[0].1.sectors) == pair[1].1.lba
        };
        list.requests.windows(2).all(follows)
    };
    assert!(count(&|list| ways(list, Direction::Read) && ways(list, Direction::Write)) > 5);
    assert!(count(&|list| !ways(list, Direction::Write)) > 5);
    assert!(count(&in_a_row) > 5 && count(&|list| !in_a_row(list)) > 5);
    assert!(count(&|list| list.is_flushed) > 2);
    for sectors in SIZES {
        assert!(count(&|list| list.requests[0].1.sectors == sectors) > 1, "{sectors}");
    }
    for depth in [1, 2, 4, 8, 16, 31] {
        assert!(count(&|list| list.depth == depth) > 1, "{depth}");
    }
}
