use super::*;
use std::path::Path;

fn shell(name: &str, script: &str, folder: &Path) -> Job {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(folder);
    Job { name: name.to_owned(), command }
}

#[test]
fn lanes_run_side_by_side_and_a_lane_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("meet")).status().unwrap().success());
    // Each end of the pipe waits for the other.
    let result = "test result: ok. 1 passed; 0 failed;";
    let first = vec![
        shell("first", &format!("cat meet; touch seen; echo '{result}'"), folder.path()),
        shell("second", &format!("test -e seen && echo '{result}'"), folder.path()),
    ];
    let beside =
        vec![shell("beside", &format!("echo here > meet; echo '{result}'"), folder.path())];
    let (mut shown, mut tally) = (Vec::new(), Tally::default());
    run([first, beside], &mut shown, &mut tally).unwrap();
    assert_eq!(tally.to_string(), "3 passed, 0 failed, 0 skipped\n");
    let shown = String::from_utf8(shown).unwrap();
    let place = |name: &str| shown.find(name).unwrap();
    assert!(place("== first: ") < place("== second: "), "{shown}");
}

#[test]
fn a_program_that_cannot_be_started_ends_the_run_with_its_name() {
    let job = Job { name: "cli kill".to_owned(), command: Command::new("/nonexistent/program") };
    let error = run([vec![job]], &mut Vec::new(), &mut Tally::default()).unwrap_err();
    assert_eq!(error.to_string(), "cannot run the tests of cli kill");
}
