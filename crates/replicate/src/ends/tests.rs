use super::*;
use crate::judge::tests::{plan, run};

const LAB: &str = r#"
[lab]
name = "l"
stacks_only = true

[[device]]
name = "card"
model = "cf@usb2"

[[device]]
name = "part"
model = { name = "cf", size = "1GiB" }

[[device]]
name = "disk"
model = "cf-other"

[[journal]]
name = "stick"
model = "usb"

[[journal]]
name = "internal"

[[stack]]
device = ["card", "disk"]

[[stack]]
device = "disk"

[[stack]]
filesystem = "ext4"

[[exclude]]
device = ["disk"]
journal = "internal"
"#;

fn names_of(lab: &Table, axis: &str) -> Vec<String> {
    entries(lab, axis).filter_map(|value| Some(value.get("name")?.as_str()?.to_owned())).collect()
}

#[test]
fn the_stacks_of_one_model_are_left_whatever_its_bus_and_size() {
    let lab: Table = narrowed(LAB, "cf").unwrap().unwrap().parse().unwrap();
    assert_eq!(names_of(&lab, "device"), ["card", "part"]);
    assert_eq!(names_of(&lab, "journal"), ["stick", "internal"]);
    let stacks: Vec<String> = entries(&lab, "stack").map(ToString::to_string).collect();
    assert_eq!(stacks, [r#"{ device = ["card"] }"#, r#"{ filesystem = "ext4" }"#]);
    assert_eq!(entries(&lab, "exclude").count(), 0);
    assert_eq!(lab["lab"]["stacks_only"], Value::Boolean(true));
}

#[test]
fn of_a_model_that_is_a_journal_the_journals_are_narrowed() {
    let lab: Table = narrowed(LAB, "usb").unwrap().unwrap().parse().unwrap();
    assert_eq!(names_of(&lab, "journal"), ["stick"]);
    assert_eq!(names_of(&lab, "device"), ["card", "part", "disk"]);
    assert_eq!(entries(&lab, "exclude").count(), 0);
}

#[test]
fn a_lab_without_the_model_is_none_and_one_with_it_as_both_stays() {
    assert_eq!(narrowed(LAB, "c").unwrap(), None);
    let both = LAB.replace("model = \"usb\"", "model = \"cf\"");
    assert_eq!(narrowed(&both, "cf").unwrap().unwrap(), both);
    assert!(narrowed("[lab", "cf").is_err());
}

/// Both stacks of the base run are of one device, the second one on the model.
fn of_models() -> Run {
    let mut run = run(2.0);
    let mut plan = plan();
    plan.stacks[1].device.backing =
        Backing::Model { model: "cf@usb2".to_owned(), size: None, start: None };
    run.plan = plan;
    run
}

#[test]
fn trials_of_the_models_stacks_take_the_places_of_the_base_runs() {
    let base = of_models();
    // The end ran the second stack alone, so that all its numbers differ; it lacks round 5.
    let mut end = of_models();
    end.file = "l@cf.x=1.seekwell".to_owned();
    let all = std::mem::take(&mut end.records);
    for (index, (trial, mut record)) in all {
        if trial.candidate == 1 && trial.round != 5 {
            record.steps[0].metrics.insert("elapsed".to_owned(), 99.0);
            let trial = PlannedTrial { index: 100 + index, ..trial };
            end.records.insert(100 + index, (trial, record));
        }
    }
    let merged = merged(&base, &end, "cf");
    assert_eq!(merged.file, end.file);
    assert_eq!(merged.records.len(), 11);
    assert_eq!(Vec::from_iter(merged.again.clone()), [1, 3, 5, 7, 9]);
    for (trial, record) in merged.records.values() {
        let elapsed = record.steps[0].metrics["elapsed"];
        let kept = base.records[&trial.index].1.steps[0].metrics["elapsed"];
        assert_eq!(elapsed, if trial.candidate == 1 { 99.0 } else { kept });
    }
}
