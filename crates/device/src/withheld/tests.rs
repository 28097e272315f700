use super::*;

#[test]
fn a_mixed_trace_has_all_depths_up_to_the_deepest() {
    let names = [("mixed trace, reads", 31), ("mixed trace", 1), ("random reads", 4)];
    let said = names.map(|(class, depth)| depths(class, depth));
    assert_eq!(said, ["depths up to 31", "depth 1", "depth 4"]);
}

fn class(class: &str, demerit: f64) -> Withheld {
    let class = class.to_owned();
    Withheld { class, depth: 1, count: 300, device_ms: 2.0, model_ms: 3.0, demerit }
}

#[test]
fn a_class_above_20_percent_is_marked_where_the_device_is_shown_and_warned_of_in_runs() {
    let all = [class("random reads", 0.2), class("random writes", 1.63)];
    assert_eq!(
        lines(Some(Measurements { made: 4_000, withheld: 1_333 }), &all),
        "\nRequests that the probe withheld to judge this file\n  1333 of 4000 measurements (33 %), and a mixed trace, which no fit saw\n  random reads at depth 1: device 2.00 ms, model 3.00 ms, demerit 20.0 %\n  ! random writes at depth 1: device 2.00 ms, model 3.00 ms, demerit 163.0 %; do not believe this class\n"
    );
    let warned = warning("mine", &all).unwrap();
    assert!(warned.contains("random writes at depth 1"), "{warned}");
    assert!(!warned.contains("random reads"), "{warned}");
    assert_eq!((warning("mine", &all[..1]), lines(None, &[])), (None, String::new()));
    let heading = "\nRequests that the probe withheld to judge this file\n";
    assert!(lines(None, &all).starts_with(&format!("{heading}  random reads")));
}

#[test]
fn numbers_that_cannot_be_are_refused_by_their_key() {
    assert!(class("random reads", 0.1).check(0).is_ok());
    let refused = class("random reads", f64::NAN).check(3).unwrap_err();
    assert_eq!(refused.key(), Some("withheld.3.demerit"));
    assert!(Measurements { made: 3, withheld: 3 }.check().is_ok());
    let refused = Measurements { made: 3, withheld: 4 }.check().unwrap_err();
    assert_eq!(refused.key(), Some("measurements.withheld"));
}
