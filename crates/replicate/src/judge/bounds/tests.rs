use super::*;

fn found(low: f64, centre: f64, high: f64) -> Quantity {
    Quantity { low, centre, high, rounds: 6 }
}

fn one(above: Option<f64>, below: Option<f64>) -> Bounds {
    Bounds { above, below, not_above: None, tie: 0.05 }
}

#[test]
fn an_interval_that_includes_a_bound_cannot_tell() {
    let above = one(Some(10.0), None);
    assert_eq!(above.agrees(found(10.1, 11.0, 12.0)), Some(true));
    assert_eq!(above.agrees(found(9.0, 10.5, 12.0)), None);
    assert_eq!(above.agrees(found(8.0, 9.0, 9.9)), Some(false));
    let range = Bounds::range(2.0, 3.0);
    assert_eq!(range.agrees(found(2.1, 2.5, 2.9)), Some(true));
    assert_eq!(range.agrees(found(1.9, 2.5, 2.9)), None);
    assert_eq!(range.agrees(found(2.1, 2.9, 3.1)), None);
    assert_eq!(range.agrees(found(3.1, 3.2, 3.3)), Some(false));
}

#[test]
fn a_ratio_within_the_tie_width_is_no_win() {
    for (bounds, turn) in [
        (one(Some(1.0), None), (|ratio| ratio) as fn(f64) -> f64),
        (one(None, Some(1.0)), |ratio| 1.0 / ratio),
    ] {
        let agrees = |low, centre, high| {
            let mut ends = [turn(low), turn(high)];
            ends.sort_by(f64::total_cmp);
            bounds.agrees(found(ends[0], turn(centre), ends[1]))
        };
        assert_eq!(agrees(1.06, 1.1, 1.2), Some(true));
        // Significant, and within the tie: the whole interval shows a tie, half of it nothing.
        assert_eq!(agrees(1.001, 1.002, 1.003), Some(false));
        assert_eq!(agrees(1.01, 1.04, 1.08), None);
        assert_eq!(agrees(1.01, 1.2, 1.4), None);
        assert_eq!(agrees(1.0, 1.0, 1.0), Some(false));
        assert_eq!(agrees(0.63, 0.93, 1.38), None);
        assert_eq!(agrees(0.8, 0.85, 0.9), Some(false));
    }
    // Nothing written at all is below one byte, however narrow a tie is.
    assert_eq!(one(None, Some(1.0)).agrees(found(0.0, 0.0, 0.0)), Some(true));
}

#[test]
fn no_win_is_shown_by_a_loss_or_a_tie() {
    let bounds = Bounds { not_above: Some(1.0), tie: 0.02, ..Bounds::default() };
    assert_eq!(bounds.agrees(found(0.1, 0.1, 0.1)), Some(true));
    assert_eq!(bounds.agrees(found(0.99, 1.0, 1.01)), Some(true));
    assert_eq!(bounds.agrees(found(0.9, 1.0, 1.1)), None);
    assert_eq!(bounds.agrees(found(1.01, 1.2, 1.4)), None);
    assert_eq!(bounds.agrees(found(1.1, 1.2, 1.3)), Some(false));
}

#[test]
fn the_broken_bound_is_the_one_on_the_wrong_side_of_the_interval() {
    let range = Bounds::range(2.0, 3.0);
    assert_eq!(range.broken(found(3.1, 3.2, 3.3)), Some(3.0));
    assert_eq!(range.broken(found(1.0, 1.1, 1.2)), Some(2.0));
    assert_eq!(range.broken(found(1.0, 2.1, 2.2)), None);
    assert_eq!(range.broken(found(2.1, 2.2, 2.3)), None);
}
