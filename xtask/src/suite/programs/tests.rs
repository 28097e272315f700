use super::*;

fn artifact(folder: &str, target: &str, test: bool) -> String {
    format!(
        r#"{{"reason":"compiler-artifact","package_id":"path+file:///w/{folder}#0.1.0",
        "manifest_path":"/w/{folder}/Cargo.toml","target":{{"kind":["test"],"name":"{target}"}},
        "profile":{{"opt_level":"0","test":{test}}},"executable":"/w/target/{target}-1"}}"#
    )
}

fn found(folder: &str, target: &str) -> Program {
    program(&artifact(folder, target, true)).unwrap().unwrap()
}

#[test]
fn test_programs_are_told_from_the_other_messages() {
    let kill = found("crates/cli", "kill");
    assert_eq!(kill.name(), "cli kill");
    assert_eq!(kill.command().get_current_dir(), Some(Path::new("/w/crates/cli")));
    assert_eq!(kill.command().get_program(), "/w/target/kill-1");
    assert_eq!(program(&artifact("crates/cli", "seekwell", false)).unwrap(), None);
    assert_eq!(program(r#"{"reason":"build-finished","success":true}"#).unwrap(), None);
    assert!(program("   Compiling").unwrap_err().to_string().contains("   Compiling"));
}

#[test]
fn only_tests_that_are_known_to_leave_the_machine_alone_run_beside_others() {
    assert!(found("crates/host", "seekwell_host").touches_the_machine());
    assert!(found("crates/cli", "main_job").touches_the_machine());
    assert!(found("crates/of-tomorrow", "t").touches_the_machine());
    assert!(found("crates/bench", "agreement").touches_the_machine());
    assert!(!found("crates/bench", "noise").touches_the_machine());
    assert!(!found("crates/cli", "kept_verdicts").touches_the_machine());
    assert!(!found("crates/cli", "virtual").touches_the_machine());
    assert!(!found("crates/stats", "seekwell_stats").touches_the_machine());
}
