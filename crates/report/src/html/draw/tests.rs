use super::*;

fn axis(low: f64, high: f64) -> Axis {
    Axis { low: low.ln(), high: high.ln() }
}

fn labels(low: f64, high: f64) -> Vec<String> {
    axis(low, high).round_ratios().into_iter().map(label).collect()
}

#[test]
fn ticks_are_at_round_numbers() {
    assert_eq!(labels(0.9, 60.0), ["1", "2", "5", "10", "20", "50"]);
    assert_eq!(labels(0.04, 1.3), ["0.05", "0.1", "0.2", "0.5", "1"]);
    assert_eq!(labels(0.96, 2.6), ["1", "1.5", "2", "2.5"]);
    assert_eq!(labels(0.97, 1.31), ["1", "1.1", "1.2", "1.3"]);
    assert_eq!(labels(0.985, 1.035), ["0.99", "1", "1.01", "1.02", "1.03"]);
}

#[test]
fn a_scale_has_the_same_ends_as_its_rows() {
    let mut page = crate::page::Page::fragment();
    axis(0.9, 60.0).ticks(&mut page);
    let text = page.into_text();
    assert_eq!(text.matches("<text").count(), 6, "{text}");
    assert!(text.contains(">50</text>"));
}
