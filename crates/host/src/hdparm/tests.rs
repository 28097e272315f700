use super::*;
use crate::fixture::Machine;
use crate::undo::{Target, Undo};
use std::fs;

/// A program that keeps one setting in a file and prints as hdparm does.
fn fake(machine: &Machine, level: &str) -> System {
    let state = machine.path("apm");
    fs::write(&state, level).unwrap();
    let script = format!(
        "#!/bin/sh\ncase $1 in\n-B) v=$(cat {0}); [ $v = 255 ] && v=off; printf '\\n%s:\\n APM_level\\t= %s\\n' $2 $v;;\n\
         -B*) v=${{1#-B}}; [ $v -gt 254 ] && v=255; echo $v > {0};;\n\
         -M) printf '\\n%s:\\n acoustic      = not supported\\n' $2;;\n*) exit 22;;\nesac\n",
        state.display()
    );
    let path = machine.path("bin/hdparm");
    seekwell_testing::program(&path, &script);
    let mut system = machine.system();
    // The script's own cat.
    system.programs.extend(["/usr/bin".into(), "/bin".into()]);
    system
}

#[test]
fn only_flags_that_can_be_restored_are_taken() {
    assert_eq!(split("sdb", "-M128").unwrap(), ("-M", "128"));
    assert_eq!(split("sdb", "-B 254").unwrap(), ("-B", "254"));
    for refused in ["--security-erase", "-M", "-S60", "-W1 --yes", "-N1000", "", "-B128;x"] {
        assert!(split("sdb", refused).is_err(), "{refused}");
    }
}

#[test]
fn a_setting_is_set_read_back_recorded_and_restored() {
    let machine = Machine::new();
    let system = fake(&machine, "255");
    let mut undo = Undo::in_memory(&system);
    let target = Target::Hdparm { device: "sdb".into(), flag: "-B".into() };
    assert!(undo.record(&target).unwrap());
    set(&system, "sdb", "-B", "128").unwrap();
    assert_eq!(get(&system, "sdb", "-B").unwrap(), "128");
    undo.restore_where(|_| true).unwrap();
    assert_eq!(get(&system, "sdb", "-B").unwrap(), "255");
}

#[test]
fn what_the_disk_lacks_and_what_it_changes_is_an_error() {
    let machine = Machine::new();
    let system = fake(&machine, "1");
    insta::assert_snapshot!(get(&system, "sdb", "-M").unwrap_err(), @"sdb: hdparm -M shows no acoustic: the disk does not have this setting; remove it from [device.settings]");
    insta::assert_snapshot!(set(&system, "sdb", "-B", "300").unwrap_err(), @"sdb: hdparm -B300 left the setting at 255; write a value that the disk accepts");
}

#[test]
fn without_hdparm_the_package_is_named() {
    let machine = Machine::new();
    insta::assert_snapshot!(get(&machine.system(), "sdb", "-B").unwrap_err(), @"hdparm is not installed; install it with: apt-get install hdparm");
}
