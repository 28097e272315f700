use super::*;
use crate::fixture;
use crate::sentence::{kind_word, verdict_sentences};
use seekwell_model::answer::Answer;
use seekwell_model::layers::{Layer, Layers};
use serde_json::json;

/// `xfs/none` wins by 14 % (8.7 to 19 %) over `xfs/bfq` on models, with these requests in each trial.
fn run(models: [&str; 3], errors: serde_json::Value, totals: DeviceTotals) -> RunView {
    let mut view = fixture::winner();
    for (stack, model) in view.plan.stacks.iter_mut().zip(models) {
        stack.device.backing = Backing::Model { model: model.to_owned(), size: None, start: None };
    }
    for (_, record) in &mut view.records {
        let step = record.steps.iter_mut().find(|step| step.name == "unpack").unwrap();
        step.device = Some(totals);
    }
    view.environment["model_errors"] = errors;
    view
}

fn writes(size: u64) -> DeviceTotals {
    DeviceTotals {
        writes: 1000,
        written_bytes: 1000 * size,
        flushes: Some(5),
        ..DeviceTotals::default()
    }
}

fn missed(class: &str, factor: f64) -> serde_json::Value {
    json!({ "disk": { class: { "factor": factor, "figure": "random writes: 124 /s, model 104 /s" } } })
}

const ONE: [&str; 3] = ["disk"; 3];

#[test]
fn an_advantage_below_the_error_of_the_model_is_certain_on_the_model_only() {
    let view = run(ONE, missed("small-writes", 1.19), writes(4096));
    let found = on_device(&view).unwrap();
    assert_eq!(found.holds, Some(false));
    let [low, high] = found.advantage.unwrap();
    assert!((low - 1.087 / 1.19).abs() < 1e-12 && (high - 1.19 * 1.19).abs() < 1e-12);
    assert_eq!(
        found.sentences,
        [
            "This is certain for the model only: the model of disk misses small writes by 19 % (random writes: 124 /s, model 104 /s). On real devices xfs/none may be from 9 % slower to 42 % faster than xfs/bfq."
        ]
    );
    assert_eq!(kind_word(&view), "Winner on the model");
    let all = verdict_sentences(&view).join(" ");
    assert!(all.contains(&format!("Main doubt: {}", found.sentences[0])), "{all}");
}

#[test]
fn a_class_that_the_step_does_not_use_does_not_count() {
    // Below 1 % of the requests, and of the other size.
    for class in ["flushes", "large-writes", "small-reads", "slowest-reads"] {
        let mut errors = missed(class, 3.0);
        errors["disk"]["small-writes"] = json!({ "factor": 1.02, "figure": "f" });
        let found = on_device(&run(ONE, errors, writes(4096))).unwrap();
        let [low, _] = found.advantage.unwrap();
        assert!((low - 1.087 / CHECKED_TO).abs() < 1e-12, "{class}");
    }
    let few = DeviceTotals { reads: 11, ..writes(4096) };
    let found = on_device(&run(ONE, missed("small-reads", 3.0), few)).unwrap();
    assert!((found.advantage.unwrap()[0] - 1.087 / 3.0).abs() < 1e-12);
}

#[test]
fn an_advantage_above_the_error_holds_and_says_its_range() {
    let mut view = run(ONE, missed("large-writes", 1.19), writes(131_072));
    view.verdict.ratios[1] = fixture::ratio("xfs/bfq", 1.0, 3.0, 2.6, 3.4);
    let found = on_device(&view).unwrap();
    assert_eq!(found.holds, Some(true));
    assert_eq!(
        found.sentences,
        [
            "On real devices xfs/none is still 2.2 to 4.0 times as fast as xfs/bfq: the model of disk misses large writes by 19 % (random writes: 124 /s, model 104 /s)."
        ]
    );
    assert_eq!(kind_word(&view), "Winner");
}

#[test]
fn errors_of_two_models_are_multiplied() {
    let mut errors = missed("small-writes", 1.5);
    errors["ssd"] = json!({ "small-writes": { "factor": 2.5, "figure": "g" } });
    let view = run(["disk", "ssd", "disk"], errors, writes(4096));
    let found = on_device(&view).unwrap();
    assert!((found.advantage.unwrap()[0] - 1.087 / 3.75).abs() < 1e-12);
    assert!(found.sentences[0].contains("misses small writes by 50 %"));
    assert!(
        found.sentences[0].contains("; the model of ssd misses small writes by a factor of 2.5")
    );
}

#[test]
fn a_class_without_a_figure_is_an_unknown_error() {
    let mut view = run(ONE, json!({ "disk": {} }), writes(4096));
    view.verdict.ratios[1] = fixture::ratio("xfs/bfq", 1.0, 3.0, 2.6, 3.4);
    let found = on_device(&view).unwrap();
    assert_eq!(found.holds, None);
    assert_eq!(
        found.sentences,
        [
            "On real devices xfs/none is still 2.4 to 3.7 times as fast as xfs/bfq: small writes of disk are unchecked, and an error of 10 % is assumed."
        ]
    );
    let mixed = DeviceTotals { reads: 1000, read_bytes: 4_096_000, ..writes(4096) };
    let mut view = run(ONE, missed("small-writes", 1.05), mixed);
    view.verdict.ratios[1] = fixture::ratio("xfs/bfq", 1.0, 3.0, 2.6, 3.4);
    let found = on_device(&view).unwrap();
    assert_eq!(found.holds, None);
    assert_eq!(found.sentences[1], "Not checked against published figures: small reads of disk.");
}

/// The counters of an array know no flushes; its disks and the cache before them have errors of their own.
#[test]
fn devices_below_layers_count_and_not_the_layer() {
    let mut view = run(ONE, json!({}), writes(131_072));
    view.environment["model_errors"] = json!({
        "disk": { "flushes": { "factor": 1.3, "figure": "f" }, "large-writes": { "factor": 3.0, "figure": "g" } },
        "ssd": { "small-writes": { "factor": 1.2, "figure": "h" } },
    });
    let cache = Layer {
        kind: "writecache".to_owned(),
        devices: 1,
        fast: Some(Backing::Model { model: "ssd".to_owned(), size: None, start: None }),
        options: BTreeMap::new(),
    };
    for stack in &mut view.plan.stacks {
        stack.layers = Layers { name: "cached".to_owned(), parts: vec![cache.clone()] };
    }
    for (_, record) in &mut view.records {
        let step = record.steps.iter_mut().find(|step| step.name == "unpack").unwrap();
        step.members = vec![writes(8192), DeviceTotals { flushes: Some(0), ..writes(4096) }];
        step.members[0].flushes = Some(500);
    }
    let found = on_device(&view).unwrap();
    // Flushes of the disk and small writes of the cache; not the large writes of the layer.
    let low = found.advantage.unwrap()[0];
    assert!((low - 1.087 / 1.3 / 1.2).abs() < 1e-12, "{low}, {:?}", found.sentences);
}

/// Four disks of a RAID 5 read and write for parity, and flush; the array's own counters know long writes alone.
#[test]
fn the_disks_of_a_raid_5_count_with_their_parity_and_flushes() {
    let mut view = run(ONE, json!({}), writes(262_144));
    view.environment["model_errors"] = json!({
        "disk": {
            "flushes": { "factor": 1.4, "figure": "f" },
            "large-writes": { "factor": 3.0, "figure": "g" },
            "small-reads": { "factor": 1.5, "figure": "r" },
            "small-writes": { "factor": 1.2, "figure": "w" },
        },
    });
    let raid = Layer { kind: "raid".to_owned(), devices: 4, fast: None, options: BTreeMap::new() };
    for stack in &mut view.plan.stacks {
        stack.layers = Layers { name: "raid".to_owned(), parts: vec![raid.clone()] };
    }
    let set = |view: &mut RunView, reads: u64, flushes: u64| {
        for (_, record) in &mut view.records {
            let step = record.steps.iter_mut().find(|step| step.name == "unpack").unwrap();
            let member = DeviceTotals { flushes: Some(flushes), ..writes(4096) };
            step.members = vec![DeviceTotals { reads, read_bytes: reads * 4096, ..member }; 4];
        }
    };
    let low = |view: &RunView| on_device(view).unwrap().advantage.unwrap()[0];
    for (reads, flushes, factor) in [(500, 500, 1.5), (0, 500, 1.4), (0, 0, 1.2)] {
        set(&mut view, reads, flushes);
        let found = low(&view);
        assert!((found - 1.087 / factor).abs() < 1e-12, "{reads}, {flushes}: {found}");
    }
}

#[test]
fn percentiles_count_the_slowest_reads() {
    let reads = DeviceTotals { reads: 10, read_bytes: 40_960, ..DeviceTotals::default() };
    let mut errors = missed("small-reads", 1.0);
    errors["disk"]["slowest-reads"] = json!({ "factor": 3.6, "figure": "p" });
    let mut view = run(ONE, errors, reads);
    assert!((on_device(&view).unwrap().advantage.unwrap()[0] - 1.087 / CHECKED_TO).abs() < 1e-12);
    view.verdict.metric = "unpack.latency_p99".to_owned();
    assert!((on_device(&view).unwrap().advantage.unwrap()[0] - 1.087 / 3.6).abs() < 1e-12);
}

#[test]
fn equal_stacks_are_equal_on_the_model() {
    let mut view = run(ONE, missed("small-writes", 1.19), writes(4096));
    let tie = fixture::tie();
    view.verdict = tie.verdict;
    let found = on_device(&view).unwrap();
    assert!(found.sentences[0].contains("times as fast as ext4/none: "), "another filesystem");
    view.verdict.stacks.push("ext4/none".to_owned());
    let found = on_device(&view).unwrap();
    assert_eq!((found.holds, found.advantage), (None, None));
    let said = &found.sentences[0];
    assert!(
        said.starts_with("On the model ")
            && said.contains(
                " are within the lab's tie of 2 %; real devices may differ: the model of disk misses"
            ),
        "{said}"
    );
}

#[test]
fn an_answer_without_a_bound_has_the_error_of_its_leaders_model() {
    let mut view = run(ONE, missed("small-writes", 1.19), writes(4096));
    view.verdict.kind = VerdictKind::Unresolved;
    // A run in progress has every stack here.
    view.verdict.stacks.reverse();
    let found = on_device(&view).unwrap();
    assert_eq!((found.holds, found.advantage), (None, None));
    let said = &found.sentences[0];
    assert!(
        said.starts_with("Real devices may differ: the model of disk misses small writes"),
        "{said}"
    );
}

#[test]
fn a_stack_that_may_lose_data_is_no_rival() {
    let mut view = run(ONE, missed("small-writes", 1.19), writes(4096));
    let label = view.verdict.ratios[1].stack.clone();
    let all: Vec<String> = view.verdict.ratios.iter().map(|row| row.stack.clone()).collect();
    let out = all.iter().skip(1).filter(|other| **other != label).cloned().collect();
    view.verdict.answer = Some(Answer { pick: Some(all[0].clone()), out, ..Answer::default() });
    let said = on_device(&view).unwrap().sentences.remove(0);
    assert!(said.contains(&all[2]) && !said.contains(&label), "{said}");
}

#[test]
fn one_stack_within_the_tie_is_compared_with_another_filesystem_or_the_next() {
    let mut view = run(ONE, missed("small-writes", 1.19), writes(4096));
    view.verdict.kind = VerdictKind::Tie;
    let found = on_device(&view).unwrap();
    assert!(found.sentences[0].contains("as fast as ext4/none"), "{found:?}");
    view.verdict.ratios.truncate(2);
    let found = on_device(&view).unwrap();
    assert!(found.sentences[0].contains("than xfs/bfq"), "{found:?}");
    view.verdict.ratios.truncate(1);
    assert_eq!(on_device(&view), None, "nothing to compare it with");
}

#[test]
fn real_devices_memory_and_earlier_runs_say_nothing() {
    assert_eq!(on_device(&fixture::winner()), None);
    assert_eq!(on_device(&run(ONE, json!({}), writes(4096))), None);
    assert_eq!(on_device(&run(ONE, json!("nonsense"), writes(4096))), None);
}
