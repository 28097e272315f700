use super::*;
use crate::fixture;
use seekwell_model::warning::Warning;

/// The JSON of a run whose records are in memory.
pub(crate) fn json_of(view: &RunView) -> Value {
    serde_json::from_slice(&written(view)).unwrap()
}

fn written(view: &RunView) -> Vec<u8> {
    let mut text = Vec::new();
    let each = |see: &mut dyn FnMut(&PlannedTrial, &Record)| {
        view.records.iter().for_each(|(trial, record)| see(trial, record));
        Ok(())
    };
    write_json(view, &each, &mut text).unwrap();
    text
}

#[test]
fn stable_names_are_there() {
    let mut view = fixture::winner();
    view.warnings =
        vec![Warning { code: "c".to_owned(), text: "t".to_owned(), remedy: "r".to_owned() }];
    let value = json_of(&view);
    assert_eq!(value["format"], "1.0");
    assert_eq!(value["lab"], "mail");
    assert_eq!(value["backend"], "host");
    assert_eq!(value["place"], "host", "the earlier name stays");
    let trial = &value["trials"][1];
    assert_eq!(trial["stack"], "xfs/none");
    assert_eq!(trial["workload"], "mail");
    assert_eq!(trial["round"], 0);
    assert_eq!(trial["status"], "ok");
    assert_eq!(trial["metrics"]["unpack.elapsed_durable"], 0.412);
    assert_eq!(trial["fingerprint"], Value::Null);
    let verdict = &value["verdict"];
    assert_eq!(verdict["kind"], "winner");
    assert_eq!(verdict["stacks"], json!(["xfs/none"]));
    assert_eq!(verdict["baseline"], "xfs/none");
    assert_eq!(
        (&verdict["ratios"][1]["stack"], &verdict["ratios"][1]["ratio"]),
        (&json!("xfs/bfq"), &json!(1.136))
    );
    assert_eq!(
        (&verdict["ratios"][1]["low"], &verdict["ratios"][1]["high"]),
        (&json!(1.087), &json!(1.19))
    );
    assert!(verdict["reason"].as_str().unwrap().starts_with("better than"));
    assert_eq!(value["warnings"], json!([{ "code": "c", "text": "t", "remedy": "r" }]));
    assert_eq!(value["permanent"][0]["stack"], "xfs/none");
}

#[test]
fn kinds_of_verdict_have_stable_words() {
    assert_eq!(json_of(&fixture::tie())["verdict"]["kind"], "tie");
    assert_eq!(json_of(&fixture::unresolved())["verdict"]["kind"], "unresolved");
}

#[test]
fn a_failed_trial_says_where_and_why() {
    let mut view = fixture::winner();
    view.records[0].1.status =
        Status::Failed { stage: "mkfs".to_owned(), reason: "no space".to_owned() };
    let trial = &json_of(&view)["trials"][0];
    assert_eq!(trial["status"], "failed");
    assert_eq!((&trial["stage"], &trial["reason"]), (&json!("mkfs"), &json!("no space")));
}

#[test]
fn what_is_not_known_is_null() {
    let mut view = fixture::unresolved();
    view.verdict.ratios[1].low = None;
    view.verdict.baseline = None;
    view.verdict.ratios[2].ratio = Some(f64::NAN);
    let value = json_of(&view);
    assert_eq!(value["verdict"]["ratios"][1]["low"], Value::Null);
    assert_eq!(value["verdict"]["ratios"][2]["ratio"], Value::Null);
    assert_eq!(value["verdict"]["baseline"], Value::Null);
}

#[test]
fn latencies_are_percentiles_of_the_histograms() {
    let mut histogram = Histogram::new();
    (1..=1000).for_each(|value| histogram.record(value));
    let mut view = fixture::winner();
    let step = &mut view.records[0].1.steps[1];
    step.histograms.insert("read".to_owned(), histogram.to_bytes());
    step.histograms.insert("write".to_owned(), vec![1, 2, 3]);
    let latency = &json_of(&view)["trials"][0]["steps"][1]["latency_ns"];
    assert_eq!(latency["read"]["count"], 1000);
    assert_eq!(latency["read"]["p50"], 500);
    assert_eq!(latency["read"]["p999"], 999);
    assert_eq!(latency["read"]["max"], 1000);
    assert_eq!(latency["write"], Value::Null);
}

#[test]
fn trials_stand_among_the_other_fields_in_indented_text() {
    let text = String::from_utf8(written(&fixture::winner())).unwrap();
    let fields: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("  \"")?.split_once('"').map(|(name, _)| name))
        .collect();
    assert!(fields.is_sorted(), "{fields:?}");
    assert!(fields.contains(&"trials"), "{fields:?}");
    assert!(text.ends_with("\n}\n"));
    let value = json_of(&fixture::winner());
    assert_eq!(format!("{value:#}\n"), text, "as one value is printed");
}

#[test]
fn a_record_that_cannot_be_read_is_an_error_and_a_closed_output_stays_one() {
    let view = fixture::winner();
    let damaged = |_: &mut dyn FnMut(&PlannedTrial, &Record)| Err(io::Error::other("torn"));
    let error = write_json(&view, &damaged, &mut io::sink()).unwrap_err();
    assert!(error.to_string().contains("torn"), "{error}");
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let none = |_: &mut dyn FnMut(&PlannedTrial, &Record)| Ok(());
    let error = write_json(&view, &none, &mut Closed).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}
