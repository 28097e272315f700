//! `seekwell compare` on run files with known values.

use super::{data, seekwell, talk};
use seekwell_model::plan::BackendFacts;
use seekwell_model::record::Record;
use seekwell_runner::order::{self, Expanded};
use seekwell_store::RunFile;
use std::path::Path;

const LAB: &str = "\
[lab]
name = \"before and after\"
[[filesystem]]
type = \"ext4\"
[scheduler]
choose = [\"none\", \"bfq\"]
[[workload]]
kind = \"command\"
run = \"true {dir}\"
[judge]
metric = \"command.elapsed\"
rounds = 8
";

/// Eight values around 1 s with a spread of about 1 %.
const STEADY: [f64; 8] = [1.0, 1.011, 0.99, 1.003, 1.01, 0.991, 0.999, 1.002];

fn record(elapsed: f64) -> Record {
    seekwell_fixtures::record(vec![seekwell_fixtures::step("command", "elapsed", elapsed)])
}

/// A run file of [`LAB`] whose trials take these factors of [`STEADY`], by stack.
fn run_file(path: &Path, lab: &str, kernel: &str, factors: [f64; 2]) {
    let lab = seekwell_spec::read_lab_bytes(lab.as_bytes(), "lab.toml").unwrap();
    let facts = BackendFacts {
        schedulers: vec!["none".into(), "bfq".into()],
        kernel_filesystems: vec!["ext4".into()],
        programs: vec!["mkfs.ext4".into()],
        ..BackendFacts::default()
    };
    let expansion = seekwell_spec::expand(&lab, &facts).unwrap();
    let expanded = Expanded {
        stacks: expansion.stacks,
        candidates: expansion.candidates,
        left_out: expansion.left_out,
        warnings: expansion.warnings,
    };
    let plan = order::plan(&lab.lab, expanded, &facts).unwrap();
    let environment = serde_json::json!({ "place": "host", "kernel": kernel });
    let mut file = RunFile::create(path, &plan, &environment).unwrap();
    for trial in &plan.trials {
        let value = STEADY[trial.round as usize] * factors[trial.candidate as usize];
        file.append(trial, &record(value)).unwrap();
    }
}

#[test]
fn two_kernels_are_compared_marked_and_judged_by_the_exit_status() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    run_file(&path("a"), LAB, "6.1", [1.0, 1.0]);
    run_file(&path("b"), LAB, "6.12", [1.2, 1.0]);
    let compare = |arguments: &[&str]| {
        seekwell(directory.path()).arg("compare").args(arguments).output().unwrap()
    };
    let output = compare(&["a", "b"]);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let text = data(&output);
    assert!(
        text.contains("These two runs differ in 1 of 2 stacks (0 better, 1 worse); 1 the same"),
        "{text}"
    );
    assert!(text.contains("kernel: 6.1 -> 6.12"), "{text}");
    assert!(text.contains("not paired"), "{text}");

    for (limit, expected) in [("5%", 5), ("0.5", 0), ("20%", 4)] {
        let output = compare(&["a", "b", "--fail-above", limit]);
        assert_eq!(output.status.code(), Some(expected), "{limit}: {}", data(&output));
    }
    let output = compare(&["a", "b", "--json", "--fail-above", "5%"]);
    assert_eq!(output.status.code(), Some(5));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["stacks"][0]["change"], "worse");
    assert_eq!(found["stacks"][0]["threshold"], "failed");
    assert_eq!(found["stacks"][1]["change"], "same");
    assert!((found["stacks"][0]["ratio"].as_f64().unwrap() - 1.2).abs() < 1e-9);
    assert_eq!(found["differences"][0]["what"], "kernel");
}

#[test]
fn what_does_not_compare_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    run_file(&path("a"), LAB, "6.1", [1.0, 1.0]);
    let other = LAB.replace("command.elapsed", "command.cpu");
    run_file(&path("metric"), &other, "6.1", [1.0, 1.0]);
    let other = LAB.replace("run = \"true {dir}\"", "run = \"true {dir}/x\"");
    run_file(&path("work"), &other, "6.1", [1.0, 1.0]);
    for (second, expected) in
        [("metric", "command.cpu"), ("work", "not do the same work"), ("none", "none")]
    {
        let output = seekwell(directory.path()).args(["compare", "a", second]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{second}");
        assert!(talk(&output).contains(expected), "{}", talk(&output));
    }
    let output = seekwell(directory.path()).args(["compare", "a", "./a"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(talk(&output).contains("named twice"), "{}", talk(&output));
    // 5 would be 500 %, which holds always.
    for wrong in ["five", "5"] {
        let output = seekwell(directory.path())
            .args(["compare", "a", "a", "--fail-above", wrong])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(talk(&output).contains("5%"), "{}", talk(&output));
    }
}
