use super::*;
use serde_json::Value;

#[test]
fn an_older_file_is_shown_with_the_verdict_of_today_and_keeps_its_own_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.seekwell");
    let kept = "../../benches/runs/replicate/000-seek@cf-duracell-300x.flash.open_units=1.seekwell";
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join(kept);
    std::fs::copy(old, &path).unwrap();
    let file = RunFile::open(&path).unwrap();
    let view = view_as_text(&file).unwrap();
    assert_eq!(view.stored.as_ref().unwrap().method, 0);
    assert_eq!(view.verdict.method, METHOD);
    let differs = WarningCode::VerdictDiffers.definition().code;
    assert!(view.warnings.iter().all(|warning| warning.code != differs), "{:?}", view.warnings);
    let screen = Screen { width: 80, height: None, colour: false, all: false, path: &path };
    let text = seekwell_report::terminal(&view, &screen);
    assert!(text.contains("An earlier version (method 0) judged this run: inconclusive"), "{text}");
    let mut json = Vec::new();
    write_json(&file, &view, &mut json).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["verdict"]["method"], 0);
    assert!(json.as_object().unwrap().contains_key("answer"));
}

#[test]
fn a_stack_that_keeps_less_by_todays_rules_is_no_longer_picked() {
    let kept = "../../benches/runs/virtual/cuts/fast-commit.seekwell";
    let file = RunFile::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(kept)).unwrap();
    let view = view_as_text(&file).unwrap();
    assert_eq!(view.stored.as_ref().unwrap().stacks, ["fast-commit"]);
    assert_eq!(view.verdict.stacks, ["ext4"]);
}
