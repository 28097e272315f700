use super::*;
use crate::file::with_origin;
use crate::probed::Probed;

/// Two probes of one drive.
const MINE: &str = include_str!("../../../../testdata/probed/mine.toml");
const AGAIN: &str = include_str!("../../../../testdata/probed/again.toml");

/// The lines about a file and a second one, on a machine with a host, a user and a disk of these names.
fn said(text: &str, other: Option<&str>) -> String {
    let private =
        [("the name of this host", "Box-7"), ("a user name", "root"), ("a serial", "S4EV")];
    lines(&check(text, other, &private.map(|(kind, text)| (kind, text.to_owned()))))
}

/// The line of a rule about the file with one text replaced.
fn line(rule: &str, old: &str, new: &str) -> String {
    assert!(MINE.contains(old), "{old}");
    let said = said(&MINE.replace(old, new), Some(AGAIN));
    let found = said.lines().find(|line| line.contains(rule)).unwrap();
    found.replacen(rule, "", 1).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_file_that_may_be_given_to_others_passes_every_rule() {
    insta::assert_snapshot!(said(MINE, Some(AGAIN)), @r"
    pass  schema      a device file of format 1.0
    pass  provenance  Amazon Elastic Block Store, 100 GiB; Seekwell 0.2.0 probed it with reads on 2026-11-29
    pass  accuracy    mixed trace at depths up to 32: device 2.97 ms, model 2.97 ms, demerit 0.0 %; worst rate: random reads, depth 32: 2997.763 /s, model 2999 (+0 %); 0 of 5 classes above 20 %
    pass  agreement   each model meets the other probe's rates; worst: random reads, depth 32: 2997.763 /s, model 2999 (+0 %)
    pass  privacy     no name of a person or host, no serial number, no home folder
    ");
    assert_eq!(check(MINE, Some(AGAIN), &[]).len(), 5);
}

#[test]
fn what_is_not_there_is_not_passed() {
    insta::assert_snapshot!(said(MINE, None), @r"
    pass  schema      a device file of format 1.0
    pass  provenance  Amazon Elastic Block Store, 100 GiB; Seekwell 0.2.0 probed it with reads on 2026-11-29
    pass  accuracy    mixed trace at depths up to 32: device 2.97 ms, model 2.97 ms, demerit 0.0 %; worst rate: random reads, depth 32: 2997.763 /s, model 2999 (+0 %); 0 of 5 classes above 20 %
    open  agreement   not checked: name the file of a second probe too
    pass  privacy     no name of a person or host, no serial number, no home folder
    ");
    insta::assert_snapshot!(said("name = \n/home/me", Some(AGAIN)), @r"
    fail  schema      line 2: key with no value, expected `=`
    open  provenance  not checked: the file is wrong
    open  accuracy    not checked: the file is wrong
    open  agreement   not checked: the file is wrong
    fail  privacy     the path of a home folder in line 2; take it out
    ");
    let shipped = include_str!("../../../../devices/ram.toml");
    insta::assert_snapshot!(said(shipped, Some(AGAIN)), @r"
    fail  schema      no format version; probe the drive with this version
    fail  provenance  no [probed]; probe the drive with this version
    fail  accuracy    no withheld figure of a mixed trace
    fail  agreement   not the same drive: unknown, 8388608 sectors, and Amazon Elastic Block Store, 209715200 sectors
    pass  privacy     no name of a person or host, no serial number, no home folder
    ");
}

#[test]
fn the_schema_is_a_known_version_of_the_format() {
    let lines = [
        line("schema", "format = \"1.0\"", "format = \"2.0\""),
        line("schema", "format = \"1.0\"", "format = \"1.9\""),
        line("schema", "format = \"1.0\"", "format = 1"),
        line("schema", "format = \"1.0\"", ""),
        line("schema", "parallel = 128", "paralel = 128"),
        line("schema", "\"2026-11-29\"", "\"yesterday\""),
        line("schema", "\"2026-11-29\"", "\"2026-11-29T07:00:00\""),
        line("schema", "drive = \"Amazon", "serial = \"1\"\ndrive = \"Amazon"),
        line("schema", "seekwell = \"0.2.0\"", "seekwell = \" \""),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    fail line 1: format = "2.0": is newer than 1.0, which this version reads; update Seekwell
    pass a device file of format 1.9
    fail line 1: format = 1: '1' is not a format version (expected MAJOR.MINOR)
    fail no format version; probe the drive with this version
    fail line 27: fixed.paralel: unknown field `paralel`, expected one of `read_latency_us`, `write_latency_us`, `flush_latency_us`, `mb_per_s`, `parallel`, `limit`
    fail line 102: probed.date = yesterday: must be a day such as 2026-11-30
    fail line 102: probed.date = 2026-11-29T07:00:00: must be a day such as 2026-11-30
    fail line 100: probed.serial: unknown field `serial`, expected one of `drive`, `seekwell`, `date`, `method`
    fail line 101: probed.seekwell = '': must not be empty
    "#);
}

#[test]
fn the_provenance_names_drive_version_day_and_method() {
    let origin = MINE.find("[probed]").unwrap();
    let lines = [
        line("provenance", "drive = \"Amazon Elastic Block Store\"\n", ""),
        line("provenance", &MINE[origin..], ""),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    fail no drive: a model was probed, or a drive that tells no model
    fail no [probed]; probe the drive with this version
    ");
}

#[test]
fn the_accuracy_is_that_of_what_the_probe_withheld() {
    let mixed = "model_ms = 2.9746\ndemerit = 0.0000";
    let withheld = MINE.find("[[withheld]]").unwrap();
    let sources = MINE.find("[sources]").unwrap();
    let published = MINE.find("[[published]]").unwrap();
    let measurements = MINE.find("[measurements]").unwrap();
    let lines = [
        line("accuracy", mixed, "model_ms = 3.5\ndemerit = 0.2"),
        line("accuracy", mixed, "model_ms = 3.6\ndemerit = 0.201"),
        line("accuracy", "model_ms = 60.1259\ndemerit = 0.0000", "model_ms = 80\ndemerit = 0.3"),
        line("accuracy", "value = 2997.763", "value = 2700"),
        line("accuracy", &MINE[withheld..sources], ""),
        line("accuracy", &MINE[published..measurements], ""),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    pass mixed trace at depths up to 32: device 2.97 ms, model 3.50 ms, demerit 20.0 %; worst rate: random reads, depth 32: 2997.763 /s, model 2999 (+0 %); 0 of 5 classes above 20 %
    fail mixed trace at depths up to 32: device 2.97 ms, model 3.60 ms, demerit 20.1 %, above 20 %
    pass mixed trace at depths up to 32: device 2.97 ms, model 2.97 ms, demerit 0.0 %; worst rate: random reads, depth 32: 2997.763 /s, model 2999 (+0 %); 1 of 5 classes above 20 %
    fail random reads, depth 32: 2700 /s, model 2999 (+11 %), off by more than 10 %
    fail no withheld figure of a mixed trace
    fail no withheld figure that checks the model
    ");
}

#[test]
fn two_probes_agree_if_each_model_meets_the_rates_of_the_other() {
    let slow = AGAIN.replace("per_second = 3000", "per_second = 2600");
    let of = |other: &str| said(MINE, Some(other)).lines().nth(3).unwrap().to_owned();
    let lines = [
        of(&slow),
        of(&AGAIN.replace("sectors = 209715200", "sectors = 209715208")),
        of(&AGAIN.replace("drive = \"Amazon Elastic Block Store\"", "")),
        of(MINE),
        of("name"),
        of(&AGAIN.replace("source = \"probe", "calibrates = true\nsource = \"probe")),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    fail  agreement   random reads, depth 32: 2997.763 /s, model 2599 (-13 %), off by more than 10 %
    fail  agreement   not the same drive: Amazon Elastic Block Store, 209715200 sectors, and Amazon Elastic Block Store, 209715208 sectors
    fail  agreement   not the same drive: Amazon Elastic Block Store, 209715200 sectors, and unknown, 209715200 sectors
    fail  agreement   the same withheld figures in both files; probe the drive again
    fail  agreement   the second file: line 1: key with no value, expected `=`
    pass  agreement   each model meets the other probe's rates; worst: random reads, depth 32: 2997.763 /s, model 2999 (+0 %)
    ");
}

#[test]
fn a_file_names_no_person_no_host_and_no_single_drive() {
    let title = "title = \"Amazon Elastic Block Store\"";
    let with = |text: &str| line("privacy", title, &format!("title = \"{text}\""));
    let lines = [
        with("/dev/disk/by-id/ata-MAKER-MODEL-SERIAL"),
        with("/home/me/disk"),
        with("wwn-0x5000c500"),
        with("Serial number 12"),
        with("ask me@example.org"),
        with("probed on box-7"),
        with("disk s4ev of box-7"),
        with("box-71 mine@sata, uproot, s4ev2"),
        line("privacy", "# Made by a probe", "# box-7, S4EV\n# S4EV: made by a probe"),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    fail a serial number in line 12; take it out
    fail the path of a home folder in line 12; take it out
    fail a serial number in line 12; take it out
    fail a serial number in line 12; take it out
    fail an e-mail address in line 12; take it out
    fail the name of this host in line 12; take it out
    fail the name of this host in line 12; take it out
    pass no name of a person or host, no serial number, no home folder
    fail the name of this host in line 3 (the first of 2 such lines); take it out
    ");
}

#[test]
fn an_origin_is_added_to_a_file_once() {
    let text = include_str!("../../../../devices/fixed.toml");
    let day = |date: &str| Probed {
        drive: None,
        seekwell: "0.2.0".to_owned(),
        date: date.to_owned(),
        method: "reads".to_owned(),
    };
    let with = with_origin(text, &day("2026-11-30")).unwrap();
    let file = load(&with).unwrap();
    assert_eq!(file.probed(), Some(&day("2026-11-30")));
    assert_eq!(file.format().unwrap().to_string(), "1.0");
    // Neither is a part of the device's behaviour, on which runs depend.
    assert_eq!(file.values(), load(text).unwrap().values());
    assert!(with_origin(&with, &day("2026-11-30")).is_err());
    assert!(with_origin(text, &day("2026-13-30")).is_err());
}
