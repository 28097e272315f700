use super::{differs, other_place};
use serde_json::{Value, json};

fn environment() -> Value {
    json!({
        "place": "virtual",
        "kernel": "6.12.117 (full set, 2071dc50f70ce909)",
        "cpu": "CPU time not counted",
        "image": "a",
        "models": { "disk": { "rotating.rpm": "5400" }, "stick": { "flash.planes": "2" } },
    })
}

#[test]
fn what_decides_a_result_tells_runs_apart_and_a_new_build_does_not() {
    let then = environment();
    let with = |key: &str, value: Value| {
        let mut now = environment();
        now[key] = value;
        differs(&then, &now)
    };
    assert_eq!(differs(&then, &environment()), None);
    assert_eq!(with("image", json!("b")), None);
    let other = with("kernel", json!("6.12.118")).unwrap();
    assert_eq!(other, "kernel (\"6.12.117 (full set, 2071dc50f70ce909)\" then, \"6.12.118\" now)");
    let charged = with("cpu", json!("CPU time charged: 0 ns a system call, 3200 ns a KiB copied"));
    assert!(charged.unwrap().starts_with("CPU ("));
    assert!(with("place", json!("host")).unwrap().starts_with("backend ("));
}

#[test]
fn a_value_of_a_modelled_device_tells_runs_apart() {
    let then = environment();
    let with = |device: &str, values: Value| {
        let mut now = environment();
        now["models"][device] = values;
        differs(&then, &now)
    };
    assert_eq!(with("disk", json!({ "rotating.rpm": "5400" })), None);
    assert_eq!(
        with("disk", json!({ "rotating.rpm": "5900" })).unwrap(),
        "rotating.rpm of disk (5400 then, 5900 now)"
    );
    assert_eq!(
        with("disk", json!({ "rotating.rpm": "5400", "rotating.heads": "2" })).unwrap(),
        "rotating.heads of disk (nothing then, 2 now)"
    );
    let more = with("third", json!({ "fixed.parallel": "1" })).unwrap();
    assert_eq!(more, "fixed.parallel of third (nothing then, 1 now)");
    let mut silent = environment();
    silent.as_object_mut().unwrap().remove("models");
    assert!(differs(&silent, &then).unwrap().contains("did not keep their values"));
    // On the host there are no models.
    assert_eq!(differs(&silent, &silent), None);
}

#[test]
fn another_version_of_a_model_tells_runs_apart_if_both_are_known() {
    let mut then = environment();
    let mut now = environment();
    now["model_fingerprints"] = json!({ "disk": "a", "stick": "b" });
    assert_eq!(differs(&then, &now), None);
    then["model_fingerprints"] = json!({ "disk": "a", "stick": "c" });
    assert_eq!(differs(&then, &now).unwrap(), "version of the model of stick");
    assert_eq!(differs(&now, &now), None);
}

#[test]
fn a_run_resumed_on_the_other_backend_names_its_own() {
    let (guests, host) = (environment(), json!({ "kernel": "6.18.5" }));
    assert_eq!(other_place(&guests, &guests), None);
    assert_eq!(other_place(&host, &host), None);
    let (_, how) = other_place(&guests, &host).unwrap();
    assert_eq!(how, "with --place virtual");
    let (_, how) = other_place(&host, &guests).unwrap();
    assert_eq!(how, "without --place virtual");
}
