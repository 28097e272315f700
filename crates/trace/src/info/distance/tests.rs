use super::*;

/// Writes of 4 KiB, of which all but the first follow each other.
fn writes(count: u64) -> Summary {
    let mut summary = Summary { calls: count, ..Summary::default() };
    let sizes = crate::info::Spread { p50: Some(4096), ..Default::default() };
    let (bytes, sequential) = (count * 4096, count - 1);
    summary.writes =
        Transfer { count, bytes, located: count, sequential, sizes, ..Transfer::default() };
    summary
}

#[test]
fn a_load_has_no_distance_to_itself() {
    let figures = distance(&writes(4), &writes(4));
    assert!(figures.len() > 15, "{figures:?}");
    assert!(figures.iter().all(|figure| figure.distance.is_none_or(|far| far == 0.0)));
}

#[test]
fn amounts_differ_by_the_smaller_to_the_larger_and_shares_by_their_difference() {
    let figures = distance(&writes(4), &writes(1));
    let named = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap();
    let written = named("bytes written");
    assert_eq!((written.first, written.second), (Some(16_384.0), Some(4096.0)));
    assert_eq!(written.distance, Some(0.75));
    assert_eq!(named("size of writes, p50, bytes").distance, Some(0.0));
    assert_eq!(named("sequential writes").distance, Some(0.75));
}
