use super::*;
use std::path::Path;

/// Runs lanes of which nothing is known of an earlier run, where the kernel is there.
fn run_new(lanes: [Vec<Job>; 2], show: &mut Vec<u8>, tally: &mut Tally) -> Result<()> {
    run(lanes, &BTreeMap::new(), &mut || Ok(()), &busy, show, tally)
}

fn busy() -> bool {
    thread::sleep(std::time::Duration::from_millis(1));
    false
}

fn shell(name: &str, script: &str, folder: &Path) -> Job {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(folder);
    Job { name: name.to_owned(), command, needs_kernel: false }
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
    run_new([first, beside], &mut shown, &mut tally).unwrap();
    assert_eq!(tally.to_string(), "3 passed, 0 failed, 0 skipped\n");
    let shown = String::from_utf8(shown).unwrap();
    let place = |name: &str| shown.find(name).unwrap();
    assert!(place("== first: ") < place("== second: "), "{shown}");
}

#[test]
fn a_program_that_cannot_be_started_ends_the_run_with_its_name() {
    let command = Command::new("/nonexistent/program");
    let job = Job { name: "cli kill".to_owned(), command, needs_kernel: false };
    let (mut shown, mut tally) = (Vec::new(), Tally::default());
    let error = run_new([vec![job], Vec::new()], &mut shown, &mut tally).unwrap_err();
    assert_eq!(error.to_string(), "cannot run the tests of cli kill");
}

/// What needs the kernel is the last of its lane, and begins when the kernel is there.
#[test]
fn programs_without_a_kernel_begin_before_it_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let result = "test result: ok. 1 passed; 0 failed;";
    let mut needing =
        shell("needing", &format!("test -e kernel && echo '{result}'"), folder.path());
    needing.needs_kernel = true;
    let first = shell("first", &format!("touch early; echo '{result}'"), folder.path());
    let beside = shell("beside", &format!("echo '{result}'"), folder.path());
    let mut ready = || {
        // Only one lane waits for it, behind what it can do before.
        assert!(folder.path().join("early").exists());
        Ok(std::fs::write(folder.path().join("kernel"), "")?)
    };
    let mut tally = Tally::default();
    let (lanes, last) = ([vec![needing, first], vec![beside]], BTreeMap::new());
    run(lanes, &last, &mut ready, &busy, &mut Vec::new(), &mut tally).unwrap();
    assert_eq!(tally.to_string(), "3 passed, 0 failed, 0 skipped\n");
}

#[test]
fn a_kernel_that_cannot_be_awaited_ends_the_run() {
    let job = |name: &str| {
        let mut job = shell(name, "echo 'test result: ok. 1 passed; 0 failed;'", Path::new("/"));
        job.needs_kernel = true;
        job
    };
    let mut ready = || anyhow::bail!("no kernel");
    let aside = ["u", "v", "w"].map(job).into();
    let (lanes, last) = ([vec![job("t")], aside], BTreeMap::new());
    let error = run(lanes, &last, &mut ready, &busy, &mut Vec::new(), &mut Tally::default());
    assert_eq!(error.unwrap_err().to_string(), "no kernel");
}

/// Beside the longest of the last run, the lane of the machine takes the others.
#[test]
fn a_lane_without_jobs_of_its_own_helps_the_other() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("meet")).status().unwrap().success());
    let result = "test result: ok. 1 passed; 0 failed;";
    // Each end of the pipe waits for the other, and the short one comes first in the list.
    let short = shell("short", &format!("echo here > meet; echo '{result}'"), folder.path());
    let long = shell("long", &format!("cat meet; echo '{result}'"), folder.path());
    let last = BTreeMap::from([("long".to_owned(), 60.0), ("short".to_owned(), 6.0)]);
    let (lanes, mut tally) = ([Vec::new(), vec![short, long]], Tally::default());
    run(lanes, &last, &mut || Ok(()), &busy, &mut Vec::new(), &mut tally).unwrap();
    assert_eq!(tally.to_string(), "2 passed, 0 failed, 0 skipped\n");
}

/// Both lanes wait for a third program, which starts while they do.
#[test]
fn where_a_cpu_is_idle_a_third_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let result = "test result: ok. 1 passed; 0 failed;";
    for name in ["one", "two"] {
        assert!(Command::new("mkfifo").arg(folder.path().join(name)).status().unwrap().success());
    }
    let waiting = |name: &str| shell(name, &format!("cat {name}; echo '{result}'"), folder.path());
    let third = shell("third", &format!("echo > one; echo > two; echo '{result}'"), folder.path());
    let mut kernel = shell("kernel", &format!("echo '{result}'"), folder.path());
    kernel.needs_kernel = true;
    let last = BTreeMap::from([("two".to_owned(), 60.0), ("third".to_owned(), 6.0)]);
    let lanes = [vec![waiting("one")], vec![waiting("two"), third, kernel]];
    let mut tally = Tally::default();
    run(lanes, &last, &mut || Ok(()), &|| true, &mut Vec::new(), &mut tally).unwrap();
    assert_eq!(tally.to_string(), "4 passed, 0 failed, 0 skipped\n");
}
