use super::*;
use seekwell_model::units::Bytes;

const MINE: &str = r#"name = "mine"
title = "t"
kind = "fixed"
[presented]
sectors = 2097152
queue_depth = 4
max_request_kib = 128
[fixed]
read_latency_us = 92
write_latency_us = 192
mb_per_s = 512
parallel = 4
[sources]
presented = "t"
fixed = "t"
"#;

fn devices() -> Devices {
    Devices::new(&seekwell_device::catalogue().unwrap())
}

fn written(text: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("own.toml"), text).unwrap();
    directory
}

/// The message for a device file with this text, without the directory.
fn refusal(text: &str) -> String {
    let directory = written(text);
    let error = devices().named("own.toml", directory.path()).unwrap_err().to_string();
    error.replace(&format!("{}/", directory.path().display()), "")
}

#[test]
fn a_path_becomes_the_name_of_its_device() {
    let directory = written(MINE);
    let mut devices = devices();
    let mut named = |word: &str| devices.named(word, directory.path()).unwrap();
    assert_eq!(named("own.toml"), "mine");
    assert_eq!(named("./own.toml,fixed.parallel=2"), "mine,fixed.parallel=2");
    assert_eq!(named("own.toml@usb2,fixed.parallel=2"), "mine@usb2,fixed.parallel=2");
    assert_eq!(named("maxtor-6y080l0"), "maxtor-6y080l0");
    let changed = devices.find("mine,fixed.parallel=2").unwrap().unwrap();
    assert_eq!(changed.values()["fixed.parallel"], "2");
}

#[test]
fn a_lab_with_device_files_is_complete_without_them() {
    let directory = written(MINE);
    let mut lab = seekwell_spec::read_lab(
        "[lab]\nname = \"t\"\n[[device]]\nname = \"d\"\nmodel = { name = \"own.toml\", size = \"64MiB\" }\n\
         [[journal]]\nname = \"j\"\nmodel = \"own.toml\"\n[[filesystem]]\ntype = \"ext4\"\n[[workload]]\nkind = \"mail\"\n\
         [judge]\nmetric = \"unpack.elapsed_durable\"\nrounds = 6\n",
        "t.toml",
    )
    .unwrap();
    let mut before = devices();
    before.of_lab(&mut lab, directory.path()).unwrap();
    assert_eq!(
        lab.devices[0].backing,
        Backing::Model { model: "mine".to_owned(), size: Some(Bytes::mib(64)), start: None }
    );
    assert_eq!(
        lab.journals[0].external,
        Some(Backing::Model { model: "mine".to_owned(), size: None, start: None })
    );

    let mut environment = serde_json::json!({});
    before.keep(&mut environment);
    assert_eq!(environment["device_files"], serde_json::json!({ "mine": MINE }));
    let mut after = devices();
    after.of_run(&environment, Path::new("t.seekwell")).unwrap();
    assert_eq!(after.files()["mine"], before.files()["mine"]);
}

#[test]
fn runs_on_shipped_devices_keep_no_file() {
    let mut environment = serde_json::json!({});
    devices().keep(&mut environment);
    assert_eq!(environment, serde_json::json!({}));
}

#[test]
fn changes_name_a_device_or_its_file() {
    let directory = written(MINE);
    let path = directory.path().join("own.toml").display().to_string();
    let mut devices = devices();
    devices.change(&[Change::new(&path, "fixed.parallel", 2.0)]).unwrap();
    devices.change(&[Change::new("mine", "fixed.mb_per_s", 100.0)]).unwrap();
    // The lab may name the file after its numbers were changed.
    devices.named(&path, Path::new("")).unwrap();
    let values = devices.files()["mine"].values();
    assert_eq!((&*values["fixed.parallel"], &*values["fixed.mb_per_s"]), ("2", "100"));
    let error = devices.change(&[Change::new("yours", "fixed.parallel", 2.0)]).unwrap_err();
    assert!(error.to_string().contains("modelled device 'yours' not found"), "{error}");
}

#[test]
fn a_wrong_device_file_gets_one_message_with_file_line_and_key() {
    assert_eq!(
        refusal(&MINE.replace("parallel = 4", "parallel = 0")),
        "own.toml, line 12: fixed.parallel = 0: must be between 1 and 65536"
    );
    assert_eq!(
        refusal(&MINE.replace("fixed = \"t\"", "\"fixed.speed\" = \"t\"")),
        "own.toml, line 15: [sources] names fixed.speed, which the file does not have; remove it or correct its name"
    );
    assert_eq!(
        refusal(&MINE.replace("\"mine\"", "\"ram\"")),
        "own.toml: name = \"ram\" is the name of another modelled device; give it another name"
    );
    assert_eq!(
        refusal(&"#".repeat(MOST_BYTES as usize + 1)),
        "cannot read the device file own.toml: longer than 1 MiB; give the path of a file that device probe wrote"
    );
    let none = devices().named("none.toml", Path::new("/nonexistent")).unwrap_err().to_string();
    assert!(none.starts_with("cannot read the device file /nonexistent/none.toml: No such file"));
}

#[test]
fn two_files_cannot_be_one_device() {
    let directory = written(MINE);
    let other = MINE.replace("parallel = 4", "parallel = 3");
    std::fs::write(directory.path().join("other.toml"), other).unwrap();
    let mut devices = devices();
    devices.named("own.toml", directory.path()).unwrap();
    let error = devices.named("other.toml", directory.path()).unwrap_err().to_string();
    assert!(error.ends_with(
        "other.toml: name = \"mine\" is the name of another modelled device; give it another name"
    ));
}
