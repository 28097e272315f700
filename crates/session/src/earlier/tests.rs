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
    // Every difference is named: one that changes nothing must not hide another.
    for part in ["maxtor-6y080l0: ", "rotating.rpm was 5400, is ", "kind was nothing, is "] {
        assert!(found.changed[0].contains(part), "{part}: {found:?}");
    }
    let found = of("model_fingerprints", json!("0"));
    assert_eq!(found.changed, ["maxtor-6y080l0: the model behaves differently"]);
    let found = of("model_fingerprints", Value::Null);
    assert_eq!((found.changed.len(), found.unknown), (0, vec![DISK.to_owned()]));
    let mut gone = environment;
    gone["models"]["of-old"] = json!({});
    let found = since(&gone, &devices).unwrap();
    assert_eq!(found.changed, ["of-old: there is no such device any more"]);
}

#[test]
fn models_without_a_figure_that_checks_them_are_counted_apart() {
    let session = crate::loaded::Session::new(crate::machine::Machine {
        system: seekwell_host::sysfs::System::host(),
        program: "/nonexistent".into(),
        state: "/nonexistent".into(),
        kernels: None,
        folders: Vec::new(),
        temporary: std::env::temp_dir(),
    });
    let lab = |name: &str| {
        let text = format!(
            "[lab]\nname = \"l\"\nquestion = \"q\"\n[[device]]\nmodel = \"{name}\"\n[[filesystem]]\ntype = \"raw\"\n[[workload]]\nkind = \"seek\"\n[judge]\nmetric = \"seek.iops\"\nrounds = 6\n"
        );
        seekwell_spec::read_lab(&text, "l.toml").unwrap()
    };
    // The Maxtor's figures choose its numbers, the RAM disk has none; the rate at which the Duracell writes checks it, and
    // on another bus it is the same model.
    let labs = ["maxtor-6y080l0", "ram", "cf-duracell-300x", "cf-duracell-300x@usb2-reader"];
    let checks = session.model_checks(&labs.map(lab)).unwrap();
    assert_eq!((checks.models, checks.checked), (3, 1));
    let met = truth::rows(&session.devices().unwrap()["cf-duracell-300x"])
        .iter()
        .filter(|row| !row.published.calibrates)
        .all(|row| !row.is_off());
    assert_eq!(checks.met, u32::from(met));
    assert_eq!(session.model_checks(&[]).unwrap(), ModelChecks::default());
}
