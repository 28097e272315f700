use super::*;

/// Output of a restricted shell.
fn shell(script: &str, nodes: &[&Path]) -> String {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    restrict(&mut command, nodes).unwrap();
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_restricted_program_sees_only_the_devices_of_its_stack() {
    let test = "a_restricted_program_sees_only_the_devices_of_its_stack";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root for a mount namespace");
    }
    let before = std::fs::read_dir("/dev").unwrap().count();
    let seen =
        shell("cd /dev; echo *; echo text > /dev/null && echo written", &[Path::new("/dev/full")]);
    assert!(seen.contains("full") && seen.contains("null") && seen.contains("written"), "{seen}");
    for absent in ["loop", "vda", "sda", "mem", "disk"] {
        assert!(!seen.contains(absent), "{absent} is visible: {seen}");
    }
    assert_eq!(std::fs::read_dir("/dev").unwrap().count(), before, "the host's /dev changed");
}

#[test]
fn a_node_that_does_not_exist_is_an_error_before_anything_runs() {
    let mut command = Command::new("/bin/true");
    assert!(restrict(&mut command, &[Path::new("/dev/no-such-node")]).is_err());
}
