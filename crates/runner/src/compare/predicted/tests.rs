use super::*;
use crate::fixture;
use crate::records::Records;
use seekwell_model::lab::Effort;
use seekwell_model::plan::{Plan, PlannedTrial};
use serde_json::{Value, json};

/// Records of stacks whose trials take these times; a stack without times has none.
fn records(stacks: &[&[f64]]) -> Records {
    let mut records = Records::new();
    for (candidate, times) in stacks.iter().enumerate() {
        for (round, time) in times.iter().enumerate() {
            let index = (round * stacks.len() + candidate) as u32;
            let trial =
                PlannedTrial { index, round: round as u32, candidate: candidate as u32, seed: 1 };
            records.insert(index, (trial, fixture::record(*time)));
        }
    }
    records
}

fn side<'a>(backend: &'a str, plan: &'a Plan, records: &'a Records, none: &'a Value) -> Side<'a> {
    Side { name: backend, plan, records, backend, environment: none, tool: "1" }
}

#[test]
fn medians_are_compared_stack_by_stack() {
    let none = json!({});
    let plan = fixture::plan(&["a", "b", "c", "d"], Effort::Rounds(6));
    let model = records(&[&[1.0, 1.0], &[2.0, 2.0], &[4.0, 4.0], &[1.0, 1.0]]);
    let device = records(&[&[1.4, 1.6], &[1.0, 1.0], &[4.4, 4.4], &[]]);
    let found =
        predicted(&side("virtual", &plan, &model, &none), &side("host", &plan, &device, &none))
            .unwrap();
    let ratios: Vec<f64> = found.stacks.iter().map(PredictedStack::ratio).collect();
    assert_eq!(ratios, [1.5, 0.5, 1.1]);
    assert_eq!([found.lowest, found.median, found.highest], [0.5, 1.1, 1.5]);
    assert_eq!(found.best(), ["a", "b"]);
    assert_eq!(found.without_value, ["d"]);
}

#[test]
fn a_run_on_a_disk_predicts_nothing_and_no_values_are_said() {
    let none = json!({});
    let plan = fixture::plan(&["a"], Effort::Rounds(6));
    let (some, empty) = (records(&[&[1.0]]), records(&[&[]]));
    let host = side("host", &plan, &some, &none);
    let wrong = predicted(&host, &host).unwrap_err().to_string();
    assert_eq!(
        wrong,
        "host ran on the host backend and predicts nothing; name the run on the modelled device first"
    );
    let model = side("virtual", &plan, &some, &none);
    let wrong = predicted(&model, &side("host", &plan, &empty, &none)).unwrap_err().to_string();
    let metric = &plan.lab.judge.metric;
    assert_eq!(wrong, format!("no stack has a value of {metric} in both virtual and host"));
    let other = fixture::plan(&["b"], Effort::Rounds(6));
    let wrong = predicted(&model, &side("host", &other, &some, &none)).unwrap_err().to_string();
    assert!(wrong.starts_with("virtual and host have no stack in common (a, b); "), "{wrong}");
}
