use super::*;

fn scale(low: f64, high: f64) -> Scale {
    Scale { low: low.ln(), high: high.ln() }
}

fn labels(low: f64, high: f64) -> Vec<String> {
    let mut ticks = scale(low, high).ticks();
    ticks.sort_by(f64::total_cmp);
    ticks.into_iter().map(label).collect()
}

#[test]
fn ticks_are_at_round_numbers_that_do_not_touch() {
    assert_eq!(labels(0.9, 2.1), ["1", "1.2", "1.5", "2"]);
    assert_eq!(labels(0.9, 60.0), ["1", "3", "10", "30"]);
    assert_eq!(labels(0.04, 1.3), ["0.1", "0.3", "1"]);
    assert_eq!(labels(0.985, 1.035), ["0.99", "1", "1.01", "1.02", "1.03"]);
    assert_eq!(labels(0.9, 9000.0), ["1", "10", "100", "1000"]);
}

#[test]
fn a_head_has_a_label_for_each_tick() {
    let mut page = Page::fragment();
    scale(0.9, 60.0).head(&mut page);
    let text = page.into_text();
    assert_eq!(text.matches("<text").count(), 4, "{text}");
    assert!(text.contains(">30</text>"));
}

fn row(ratio: f64, low: f64, high: f64) -> Ratio {
    crate::fixture::ratio("x", 1.0, ratio, low, high)
}

#[test]
fn far_ends_are_cut_and_the_ratios_keep_their_room() {
    let rows = [row(1.0, 1.0, 1.0), row(1.2, 0.01, 40.0)];
    let scale = Scale::of(rows.iter(), 0.05);
    assert_eq!(scale.place(0.01), Place::Cut(0.0));
    assert_eq!(scale.place(40.0), Place::Cut(100.0));
    assert!(matches!(scale.place(1.2), Place::At(_)) && matches!(scale.place(1.0), Place::At(_)));
    assert!(scale.x(1.2) - scale.x(1.0) > 10.0);
    let odd = [row(f64::NAN, 0.0, f64::INFINITY)];
    let scale = Scale::of(odd.iter(), 0.0);
    assert!(scale.x(1.0).is_finite() && (0.0..=100.0).contains(&scale.x(1.0)));
}
