use crate::claims;
use crate::judge::judge;
use crate::judge::tests::{CLAIMS, STUDY, run};
use crate::study;
use seekwell_model::replication::{Miss, StudyPage};

const PAGE: &str = r#"
[page]
asked = "Which?"
findings = ["The second takes [[{9.slow} / {9.fast}]] times as long; both [[{9.both}]]."]
[[page.panel]]
title = "Elapsed"
unit = "s"
bars = [
    { name = "one", value = "9.fast" },
    { name = "two over one", published = 3, ours = "{9.slow} / {9.fast}" },
    { name = "both", says = "slow", ours = "{9.both}" },
]
[[page.panel]]
title = "Curves"
ticks = ["small", "large"]
lines = [
    { name = "up", of = "{up.$} / {9.fast}" },
    { name = "published", published = true, at = { large = "3 * {9.fast}" } },
]
"#;

fn page(claims: &str, more: &str, factor: f64) -> StudyPage {
    let claims = claims::read("claims.toml", claims).unwrap();
    let study = study::read("9.measure.toml", &format!("{STUDY}{more}{PAGE}"), &claims).unwrap();
    judge(&claims, &study, &[run(factor)], &[]).page
}

#[test]
fn the_picture_and_the_sentences_have_our_figures() {
    let page = page(CLAIMS, "", 2.0);
    assert_eq!(page.findings, ["The second takes 2.00 times as long; both (not measured)."]);
    let [bars, curves] = page.panels.as_slice() else { panic!("{:?}", page.panels) };
    assert_eq!((bars.title.as_str(), bars.unit.as_str()), ("Elapsed", "s"));
    let [one, ratio, both] = bars.bars.as_slice() else { panic!("{bars:?}") };
    assert_eq!((one.published, one.fitted), (Some(10.0), false));
    assert!((one.ours.unwrap().centre - 10.248).abs() < 0.001);
    assert_eq!(ratio.published, Some(3.0));
    assert!((ratio.ours.unwrap().centre - 2.0).abs() < 1e-9);
    // It matches two stacks, so it is not measured.
    assert_eq!((both.ours, both.says.as_deref()), (None, Some("slow")));
    let [up, published] = curves.lines.as_slice() else { panic!("{curves:?}") };
    assert!((up.at["small"].centre - 1.0).abs() < 1e-9);
    assert!((up.at["large"].centre - 4.0).abs() < 1e-9);
    assert!(published.published && published.at.len() == 1);
    assert!((published.at["large"].centre - 30.746).abs() < 0.001);
}

#[test]
fn a_value_that_was_fitted_or_changed_after_a_miss_is_drawn_as_fitted() {
    let fit = CLAIMS.replacen("use = \"predict\"", "use = \"fit\"", 1);
    assert!(page(&fit, "", 2.0).panels[0].bars[0].fitted);
    let changed = "[[changed]]\ndate = \"2026-02-04\"\nvalues = [\"9.fast\"]\ntext = \"t\"\n";
    assert!(page(CLAIMS, changed, 2.0).panels[0].bars[0].fitted);
}

/// Statement, published number, bound and factor of each miss.
fn told(misses: &[Miss]) -> Vec<(&str, Option<f64>, Option<&str>, f64)> {
    let factor = |miss: &Miss| (miss.factor * 1000.0).round() / 1000.0;
    misses
        .iter()
        .map(|miss| (miss.says.as_str(), miss.published, miss.wanted.as_deref(), factor(miss)))
        .collect()
}

#[test]
fn misses_are_sorted_by_the_factor_to_the_published_number_or_the_broken_bound() {
    let misses = page(CLAIMS, "", 4.0).misses;
    let equal = "1 ± 10 %, the whole interval";
    let wanted = [
        ("order", None, Some("above 1"), 4.0),
        ("equal", None, Some(equal), 3.6),
        ("9.slow", Some(20.0), None, 2.05),
        ("twice", Some(2.0), None, 2.0),
        ("sign", None, Some("above 1.5 and below 3"), 1.333),
    ];
    assert_eq!(told(&misses), wanted);
    assert_eq!(misses[1].reason.as_deref(), Some("they are not"));
}

#[test]
fn a_reason_is_told_once_and_what_does_not_count_is_no_miss() {
    let same = "[[reason]]\nof = \"9.slow\"\ntext = \"they are not\"\n";
    let misses = page(CLAIMS, same, 4.0).misses;
    let of_reason = misses.iter().filter(|miss| miss.reason.as_deref() == Some("they are not"));
    assert_eq!(of_reason.map(|miss| miss.says.as_str()).collect::<Vec<_>>(), ["equal"]);
    let left_out = "[[not_evidence]]\nof = \"9.order\"\ntext = \"again\"\n";
    assert!(page(CLAIMS, left_out, 4.0).misses.iter().all(|miss| miss.says != "order"));
}
