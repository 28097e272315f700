use super::*;
use seekwell_device::catalogue;
use serde_json::json;

const DISK: &str = "maxtor-6y080l0";

/// Devices as they are now, and the environment of a run that used one of them.
fn now() -> (Devices, Value) {
    let shipped = catalogue().unwrap();
    let file = &shipped[DISK];
    let fingerprint = format!("{:016x}", seekwell_device::fingerprint(file));
    let environment = json!({
        "models": { DISK: file.values() },
        "model_fingerprints": { DISK: fingerprint },
    });
    (Devices::new(&shipped), environment)
}

#[test]
fn a_run_on_models_of_today_has_no_earlier_ones() {
    let (devices, environment) = now();
    assert_eq!(since(&environment, &devices).unwrap(), Since::default());
    // A run on the host has no models.
    assert_eq!(since(&json!({ "place": "host" }), &devices).unwrap(), Since::default());
}

#[test]
fn changed_values_and_behaviour_are_told_and_what_a_run_does_not_say() {
    let (devices, environment) = now();
    let of = |key: &str, value: Value| {
        let mut then = environment.clone();
        then[key][DISK] = value;
        since(&then, &devices).unwrap()
    };
    let found = of("models", json!({ "rotating.rpm": "5400" }));
    assert_eq!(found.changed.len(), 1, "{found:?}");
    assert!(
        found.changed[0].starts_with("maxtor-6y080l0: rotating.rpm was 5400, is "),
        "{found:?}"
    );
    let found = of("model_fingerprints", json!("0"));
    assert_eq!(found.changed, ["maxtor-6y080l0: the model behaves differently"]);
    let found = of("model_fingerprints", Value::Null);
    assert_eq!((found.changed.len(), found.unknown), (0, vec![DISK.to_owned()]));
    let mut gone = environment;
    gone["models"]["of-old"] = json!({});
    let found = since(&gone, &devices).unwrap();
    assert_eq!(found.changed, ["of-old: there is no such device any more"]);
}
