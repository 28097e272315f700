use super::*;

fn program(line: &str) -> Option<Program> {
    Message::read(line).unwrap().program()
}

fn artifact(folder: &str, target: &str, test: bool) -> String {
    format!(
        r#"{{"reason":"compiler-artifact","package_id":"path+file:///w/{folder}#0.1.0",
        "manifest_path":"/w/{folder}/Cargo.toml","target":{{"kind":["test"],"name":"{target}"}},
        "profile":{{"opt_level":"0","test":{test}}},"executable":"/w/target/{target}-1"}}"#
    )
}

fn found(folder: &str, target: &str) -> Program {
    program(&artifact(folder, target, true)).unwrap()
}

#[test]
fn test_programs_are_told_from_the_other_messages() {
    let kill = found("crates/cli", "kill");
    assert_eq!(kill.name(), "cli kill");
    assert_eq!(kill.command(true).get_current_dir(), Some(Path::new("/w/crates/cli")));
    assert_eq!(kill.command(true).get_program(), "/w/target/kill-1");
    assert_eq!(kill.command(false).get_program(), "setpriv");
    assert_eq!(program(&artifact("crates/cli", "seekwell", false)), None);
    let bench = artifact("crates/virtual", "power_cuts", true).replace("[\"test\"]", "[\"bench\"]");
    assert_eq!(program(&bench), None);
    assert_eq!(program(r#"{"reason":"build-finished","success":true}"#), None);
    let error = Message::read("   Compiling").err().unwrap();
    assert!(error.to_string().contains("   Compiling"));
}

#[test]
fn warnings_are_told_but_for_their_count() {
    let told = |spans: &str, rendered: &str| {
        let line = format!(
            r#"{{"reason":"compiler-message","message":{{"rendered":{rendered},"spans":{spans}}}}}"#
        );
        Message::read(&line).unwrap().told()
    };
    let place = r#"[{"file_name":"src/lib.rs"}]"#;
    assert_eq!(told(place, "\"unused\"").as_deref(), Some("unused"));
    assert_eq!(told("[]", "\"1 warning emitted\""), None);
    assert_eq!(told(place, "null"), None);
}

#[test]
fn only_tests_that_are_known_to_leave_the_machine_alone_run_beside_others() {
    assert!(found("crates/host", "seekwell_host").touches_the_machine());
    assert!(found("crates/cli", "main_job").touches_the_machine());
    assert!(found("crates/of-tomorrow", "t").touches_the_machine());
    assert!(found("crates/bench", "agreement").touches_the_machine());
    assert!(found("crates/session", "probed").touches_the_machine());
    assert!(found("crates/capture", "caused").touches_the_machine());
    assert!(!found("crates/capture", "live").touches_the_machine());
    assert!(!found("crates/bench", "noise").touches_the_machine());
    assert!(!found("crates/cli", "kept_verdicts").touches_the_machine());
    assert!(!found("crates/cli", "seekwell").touches_the_machine());
    assert!(!found("crates/cli", "served").touches_the_machine());
    assert!(!found("crates/cli", "virtual").touches_the_machine());
    assert!(!found("crates/stats", "seekwell_stats").touches_the_machine());
}

#[test]
fn a_program_in_two_parts_runs_each_test_once() {
    let arguments = |job: &Job| {
        let words = job.command.get_args().map(|word| word.to_string_lossy().into_owned());
        // What follows the program.
        let words: Vec<_> = words.collect();
        let behind = words.rsplit(|word| word.starts_with('/')).next();
        behind.unwrap_or_default().join(" ")
    };
    let told = |jobs: &[(Job, bool)]| {
        let told = jobs.iter().map(|(job, touches)| (arguments(job), *touches));
        told.collect::<Vec<_>>()
    };
    assert_eq!(told(&found("crates/cli", "kill").jobs()), [(String::new(), true)]);
    let (within, without) = ("disks::".to_owned(), "--skip disks::".to_owned());
    let cluster = found("crates/cli", "cluster");
    assert_eq!(told(&cluster.jobs()), [(within, true), (without, false)]);
    let parts = told(&found("crates/cli", "everyday").jobs());
    assert!(parts[0].0.starts_with("capture:: labs:: marks::") && parts[0].1, "{parts:?}");
    assert!(parts[1].0.starts_with("--skip capture:: --skip labs::") && !parts[1].1, "{parts:?}");
}

/// Every named module exists, and every module of the everyday tests is named.
#[test]
fn the_parts_of_programs_are_those_of_the_tests_as_they_are() {
    let [cluster, everyday, replicate] = [
        include_str!("../../../../crates/cli/tests/cluster.rs"),
        include_str!("../../../../crates/cli/tests/everyday.rs"),
        include_str!("../../../../crates/cli/tests/replicate.rs"),
    ];
    for (text, (target, parts)) in [cluster, everyday, replicate].iter().zip(SPLIT) {
        for part in parts {
            let line = match part.strip_suffix("::") {
                Some(module) => format!("mod {module};"),
                None => format!("fn {part}()"),
            };
            assert!(text.contains(&line), "{target}: {line}");
        }
    }
    // These read files and print.
    let aside = ["book", "compare", "documents", "foreign", "init"];
    let modules = everyday.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    for module in modules {
        let stays = SPLIT[1].1.contains(&format!("{module}::").as_str());
        assert!(stays != aside.contains(&module), "{module}");
    }
    // Those that ask for root are the ones that use the machine.
    assert_eq!(replicate.matches("seekwell_testing::root()").count(), SPLIT[2].1.len());
}

#[test]
fn programs_that_may_run_guests_wait_for_the_kernel() {
    for (folder, target, needs) in [
        ("crates/cli", "main_job", true),
        ("crates/cli", "kill", false),
        ("crates/virtual", "layers", true),
        ("crates/of-tomorrow", "t", true),
        ("crates/host", "seekwell_host", false),
    ] {
        assert_eq!(found(folder, target).needs_kernel(), needs, "{folder} {target}");
    }
}
