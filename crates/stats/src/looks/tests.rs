use super::*;

#[test]
fn looks_come_a_quarter_apart_for_ever() {
    assert_eq!(up_to(80), vec![6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80]);
    assert!((2..40).all(|look| rounds_at(look) > rounds_at(look - 1)));
    assert_eq!(held_after(5), (0, false));
    assert_eq!(held_after(6), (1, true));
    assert_eq!(held_after(39), (8, false));
}

#[test]
fn all_shares_together_are_the_error() {
    let all: f64 = (0..500).map(|look| share(look) + closing_share(look)).sum();
    assert!((all - 1.0).abs() < 1e-9, "{all}");
    let fixed: f64 = SINGLE + (1..60).map(|more| (1.0 - SINGLE) * 0.5f64.powi(more)).sum::<f64>();
    assert!(fixed <= 1.0 + 1e-12, "{fixed}");
    assert!(prolonged_share(10, 11) > prolonged_share(10, 14));
}
