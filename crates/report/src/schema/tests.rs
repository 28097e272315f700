use super::*;
use crate::fixture;
use seekwell_model::record::{DeviceTotals, Status};
use seekwell_model::stack::{Backing, MemoryLimit, Overlay};
use seekwell_model::units::Bytes;
use seekwell_stats::histogram::Histogram;

/// Paths of a value that the schema does not allow or does not know; only the words that our
/// schema uses.
fn wrong(value: &Value, schema: &Value, root: &Value, path: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.strip_prefix("#/$defs/").expect("a reference inside");
        return wrong(value, &root["$defs"][name], root, path, found);
    }
    if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
        let each = any.iter().map(|one| {
            let mut problems = Vec::new();
            wrong(value, one, root, path, &mut problems);
            problems
        });
        let best = each.min_by_key(Vec::len).expect("a choice");
        return found.extend(best);
    }
    let mut complain = |what: String| found.push(format!("{path}: {what}"));
    if let Some(constant) = schema.get("const").filter(|constant| *constant != value) {
        complain(format!("{value} is not {constant}"));
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array)
        && !words.contains(value)
    {
        complain(format!("{value} is none of {words:?}"));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let is = |kind: &&str| match *kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type {other}"),
    };
    if !kinds.is_empty() && !kinds.iter().any(is) {
        complain(format!("{value} is no {kinds:?}"));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.is_object() && value.get(name).is_none() {
            complain(format!("{name} is missing"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        match (schema["properties"].get(name), schema.get("additionalProperties")) {
            (Some(known), _) | (None, Some(known)) => wrong(inner, known, root, &path, found),
            // Objects of others (SMART, the environment) are whatever they are.
            (None, None) if schema.get("properties").is_none() => {}
            (None, None) => found.push(format!("{path}: not in the schema")),
        }
    }
    for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
        wrong(inner, &schema["items"], root, &format!("{path}[{index}]"), found);
    }
}

fn problems(view: &crate::RunView) -> Vec<String> {
    let schema: Value = serde_json::from_str(&json_schema()).expect("JSON");
    let mut found = Vec::new();
    wrong(&crate::json::tests::json_of(view), &schema, &schema, "run", &mut found);
    found
}

#[test]
fn every_run_is_as_the_schema_says() {
    let mut full = fixture::winner();
    full.plan.left_out = fixture::left_out();
    full.warnings = fixture::warnings();
    let stack = &mut full.plan.stacks[0];
    stack.device.backing = Backing::Disk { path: "/dev/disk/by-id/x".into() };
    stack.memory.limit = MemoryLimit::Limit(Bytes(1));
    stack.filesystem.overlay =
        Some(Overlay { upper: Some(Bytes(1)), write_back: WriteBack::Never });
    let (_, record) = &mut full.records[0];
    record.status = Status::Failed { stage: "mkfs".to_owned(), reason: "no".to_owned() };
    record.in_force.journal = Some(record.in_force.device.clone());
    let mut histogram = Histogram::new();
    histogram.record(5);
    record.steps[0].histograms = [("read".to_owned(), histogram.to_bytes())].into();
    record.steps[0].histograms.insert("odd".to_owned(), vec![1]);
    record.steps[0].device = Some(DeviceTotals::default());
    for view in [full, fixture::winner(), fixture::tie(), fixture::unresolved()] {
        assert_eq!(problems(&view), Vec::<String>::new());
    }
}

#[test]
fn the_schema_finds_what_is_wrong() {
    let schema: Value = serde_json::from_str(&json_schema()).expect("JSON");
    let mut value = crate::json::tests::json_of(&fixture::winner());
    value["verdict"]["kind"] = json!("perhaps");
    value["trials"][0]["round"] = json!("one");
    value["verdict"]["extra"] = json!(1);
    value["stacks"][0].as_object_mut().expect("an object").remove("label");
    let mut found = Vec::new();
    wrong(&value, &schema, &schema, "run", &mut found);
    assert_eq!(
        found,
        [
            "run.stacks[0]: label is missing",
            "run.trials[0].round: \"one\" is no [\"integer\"]",
            "run.verdict.extra: not in the schema",
            "run.verdict.kind: \"perhaps\" is none of [String(\"winner\"), String(\"tie\"), String(\"unresolved\")]",
        ]
    );
}
