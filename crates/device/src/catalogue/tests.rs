use std::path::Path;

use super::*;

#[test]
fn every_file_of_the_project_is_built_in_under_its_own_name() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../devices");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let toml = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let mut there: Vec<String> =
        toml.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    there.sort();
    assert_eq!(FILES.map(|(name, _)| name.to_owned()).to_vec(), there);
    let names: Vec<String> = catalogue().unwrap().into_keys().collect();
    assert_eq!(names, there);
}

#[test]
fn the_table_has_a_line_for_each_device() {
    let devices = catalogue().unwrap();
    let cards = devices.values().filter(|file| file.name().starts_with("cf-t"));
    let expected = "device             kind             size  depth  what it is\ncf-transcend-133x  simple flash  7.5 GiB      1  Transcend 133x CompactFlash, 8 GB, 2009\n";
    assert_eq!(table(cards), expected);
    assert_eq!(table(devices.values()).lines().count(), devices.len() + 1);
}

#[test]
fn a_device_is_found_by_name_and_on_a_bus() {
    let devices = catalogue().unwrap();
    let bus = |name: &str| {
        let file = find(&devices, name).unwrap().unwrap();
        file.bus().unwrap().name.clone()
    };
    assert_eq!(bus("cf-transcend-133x"), "udma4");
    assert_eq!(bus("cf-transcend-133x@usb2-reader"), "usb2-reader");
    assert!(find(&devices, "no-such-disk").unwrap().is_none());
    assert!(find(&devices, "no-such-disk@udma4").unwrap().is_none());
    assert!(find(&devices, "cf-transcend-133x@scsi").is_err());
}

#[test]
fn laws_are_switched_off_behind_the_name() {
    let devices = catalogue().unwrap();
    let found = |word: &str| find(&devices, word).map(|file| file.unwrap());
    let file = found("maxtor-6y080l0,off=seek,rotating.rpm=5400,off=flush").unwrap();
    let off: Vec<&str> = file.off.iter().map(seekwell_model::laws::Law::name).collect();
    assert_eq!(off, ["seek", "flush"]);
    assert_eq!(file.values()["laws that are off"], "seek, flush");
    let print = |word: &str| crate::fingerprint(&found(word).unwrap());
    assert_ne!(print("maxtor-6y080l0,off=seek"), print("maxtor-6y080l0"));
    let wrong = found("maxtor-6y080l0,off=cells").unwrap_err().to_string();
    assert_eq!(
        wrong,
        "off names cells, which the file does not have; remove it or correct its name"
    );
}

#[test]
fn numbers_are_changed_behind_the_name() {
    let devices = catalogue().unwrap();
    let name = "cf-transcend-133x@usb2-reader,flash.open_units=5, flash.erase_us = 1500.5";
    let file = find(&devices, name).unwrap().unwrap();
    assert_eq!(file.bus().unwrap().name, "usb2-reader");
    let Parameters::Flash(flash) = file.parameters() else { panic!("no flash") };
    assert_eq!((flash.open_units, flash.erase_us), (5, 1500.5));
    let refused = |change: &str| {
        find(&devices, &format!("cf-transcend-133x,{change}")).unwrap_err().to_string()
    };
    assert_eq!(
        refused("flash.open_units"),
        "'flash.open_units' after a model's name does not change a number of it; write KEY=NUMBER, for example flash.open_units=1"
    );
    assert_eq!(
        refused("flash.no_such=1"),
        "the change names flash.no_such, which the file does not have; remove it or correct its name"
    );
    assert!(refused("flash.open_units=0").contains("flash.open_units"));
    assert!(find(&devices, "no-such-disk,flash.open_units=1").unwrap().is_none());
}

#[test]
fn a_device_is_shown_with_what_it_presents_and_its_origins() {
    let text = r#"
name = "fixed"
title = "Fixed latency"
kind = "fixed"
[presented]
sectors = 2097152
physical_block = 4096
queue_depth = 4
max_request_kib = 128
[fixed]
read_latency_us = 100
write_latency_us = 50
mb_per_s = 512
parallel = 4
[sources]
presented = "test"
fixed = "test"
[ranges]
"fixed.parallel" = [1, 8]
"#;
    insta::assert_snapshot!(origins(&load(text).unwrap()), @r#"
    fixed
    Fixed latency

      capacity         1 GiB
      blocks           512 logical, 4096 physical
      queue depth      4
      longest request  128 KiB
      write cache      write through

    Where the values come from
      fixed: test
      presented: test

    Values
      fixed.mb_per_s: 512
      fixed.parallel: 4, 1 to 8
      fixed.read_latency_us: 100
      fixed.write_latency_us: 50
      kind: "fixed"
      presented.max_request_kib: 128
      presented.physical_block: 4096
      presented.queue_depth: 4
      presented.sectors: 2097152
    "#);
}
