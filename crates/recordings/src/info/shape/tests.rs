use super::*;

/// Small appends, each synced.
fn log() -> Shape {
    Shape {
        reads: Some(0.0),
        names: Some(0.0),
        writes_per_sync: Some(1.0),
        write_bytes: Some(512.0),
        writes_in_a_row: Some(1.0),
        depth: Some(1.0),
        ..Shape::default()
    }
}

/// Small random reads and synced writes.
fn database() -> Shape {
    Shape {
        reads: Some(0.7),
        names: Some(0.0),
        writes_per_sync: Some(1.0),
        read_bytes: Some(8192.0),
        write_bytes: Some(8192.0),
        reads_in_a_row: Some(0.0),
        writes_in_a_row: Some(0.0),
        depth: Some(4.0),
    }
}

#[test]
fn a_load_is_at_no_distance_from_itself_and_as_far_there_as_back() {
    for one in [log(), database(), Shape::default()] {
        assert!(one.distance(&one).abs() < 1e-12, "{one:?}");
        for other in [log(), database(), Shape::default()] {
            assert_eq!(one.distance(&other), other.distance(&one));
            assert!((0.0..=1.0).contains(&one.distance(&other)));
        }
    }
}

/// Worked out by hand: reads 0.7 and names 0, syncs equal, reads count 0.35 and have no counterpart; sizes of writes
/// are 4 of 10 doublings apart and their order differs entirely, both with weight 0.65; depth is 2 of 5 doublings
/// apart, with weight 0.5.
#[test]
fn the_distance_is_the_weighted_mean_of_the_parts_that_both_have() {
    let sum = 0.7 + 0.65 * 0.4 + 0.65 + 0.5 * 0.4;
    let weights = 1.0 + 1.0 + 2.0 + 0.65 + 0.65 + 0.5;
    assert!((log().distance(&database()) - sum / weights).abs() < 1e-12);
}

#[test]
fn a_log_that_syncs_every_other_line_is_nearer_than_one_that_never_does() {
    let with = |writes_per_sync| Shape { writes_per_sync, ..log() };
    let distances = [Some(2.0), Some(64.0), None].map(|syncs| log().distance(&with(syncs)));
    assert!(distances.is_sorted() && distances[0] > 0.0, "{distances:?}");
    assert!(distances[2] > 0.25, "{distances:?}");
}

#[test]
fn a_recording_without_calls_has_no_shape() {
    assert_eq!(Shape::of(&Summary::default()), None);
}
