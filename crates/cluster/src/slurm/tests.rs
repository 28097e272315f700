use super::*;

fn slurm(options: &[&str]) -> Slurm {
    let array = Array {
        program: PathBuf::from("/opt/see well/seekwell"),
        spool: PathBuf::from("/home/o'neil/x.nodes"),
        logs: PathBuf::from("/home/o'neil/x.nodes/logs"),
        tasks: 40,
        is_exclusive: false,
        options: options.iter().map(|option| (*option).to_owned()).collect(),
    };
    Slurm::new(array, Programs::new(vec!["/usr/bin".into()]))
}

#[test]
fn all_workers_are_one_array() {
    let expected = [
        "--parsable",
        "--job-name=seekwell",
        "--ntasks=1",
        "--cpus-per-task=1",
        "--requeue",
        "--open-mode=append",
        "--array=1-40",
        "--output=/home/o'neil/x.nodes/logs/%a.txt",
        "--partition=batch",
    ];
    assert_eq!(slurm(&["--partition=batch"]).arguments(), expected);
}

#[test]
fn a_worker_that_measures_its_node_has_it_alone() {
    let mut slurm = slurm(&[]);
    slurm.array.is_exclusive = true;
    let arguments = slurm.arguments();
    assert!(arguments.contains(&"--exclusive".into()), "{arguments:?}");
    assert!(!arguments.contains(&"--cpus-per-task=1".into()), "{arguments:?}");
}

#[test]
fn paths_are_words_of_the_script_whatever_they_hold() {
    let expected = "#!/bin/sh\nexec '/opt/see well/seekwell' work '/home/o'\\''neil/x.nodes' \
                    --task \"$SLURM_ARRAY_TASK_ID-$SLURM_RESTART_COUNT-$(uname -n)-$$-$SLURM_ARRAY_JOB_ID\"\n";
    assert_eq!(slurm(&[]).script(), expected);
}

#[test]
fn options_that_seekwell_sets_are_found() {
    let find = |options: &[&str]| {
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        Slurm::set_by_us(&options).map(str::to_owned)
    };
    assert_eq!(find(&["--time=60", "--array=1-3"]).as_deref(), Some("--array=1-3"));
    for ours in [
        "-o", "-ox.txt", "-a1-3", "-W", "-HW", "-e", "--array", "--arr=1-3", "--outp=x", "--wait",
        "--wai", "--wr", "--parsable",
    ] {
        assert_eq!(find(&["--time=60", ours]).as_deref(), Some(ours));
    }
    let others = ["--time=60", "--qos=low", "--oversubscribe", "--account=a", "--exclusive", "-Aa"];
    assert_eq!(find(&others), None);
    assert_eq!(find(&["-p", "batch", "-H", "--wait-all-nodes=1", "--nodelist=a"]), None);
}

#[test]
fn tasks_are_counted_from_the_lines_of_squeue() {
    let count = |text| {
        let Live { running, waiting, .. } = live(text);
        (running.into_iter().collect::<Vec<u32>>(), waiting)
    };
    assert_eq!(count(""), (vec![], 0));
    assert_eq!(count("PENDING 3-40\nRUNNING 2\nRUNNING 1\n"), (vec![1, 2], 38));
    assert_eq!(count("PENDING 3,7-9%2\nCOMPLETING 1\n"), (vec![], 4));
    assert_eq!(count("PENDING 3,7-9,...\n"), (vec![], 5));
    assert_eq!(count("PENDING N/A\n"), (vec![], 1));
}

#[test]
fn tasks_that_wait_until_a_time_are_known_by_their_reason() {
    let delayed = |text| live(text).delayed;
    let lines = "PENDING 3-4 BeginTime\nPENDING 5 Resources\nRUNNING 2 None\nPENDING 9 BeginTime\n";
    assert_eq!(delayed(lines), [3, 4, 9].into());
    let lines = "PENDING 3 ReqNodeNotAvail, UnavailableNodes:node1\nRUNNING 2 BeginTime\n";
    assert_eq!(delayed(lines), BTreeSet::new());
    assert_eq!(jobid(&JobId("12;blue".to_owned()), &[3, 9].into()), "jobid=12_3,12_9");
}

/// A task that is being ended, or is suspended, may still write.
#[test]
fn tasks_have_processes_until_the_scheduler_forgets_them() {
    let lines = "PENDING 3\nRUNNING 2\nCOMPLETING 4\nSUSPENDED 5\nREQUEUED 6\n";
    assert_eq!(live(lines).on_nodes.into_iter().collect::<Vec<u32>>(), [2, 4, 5]);
}

#[test]
fn workers_on_a_kernel_of_their_own_are_not_killed() {
    assert_eq!(which_to_cancel(true), ["--state=PENDING"]);
    assert_eq!(which_to_cancel(false), [""; 0]);
}

#[test]
fn a_controller_that_starts_again_is_asked_again() {
    let unreachable = || ClusterError::Command {
        command: "scancel",
        words: "scancel: error: Unable to contact slurm controller (connect failure)".to_owned(),
    };
    let asked = |failures: u32, other: bool| {
        let (mut asked, mut pauses) = (0, 0);
        let ended = patiently(
            &mut || {
                asked += 1;
                match asked <= failures {
                    true if other => Err(ClusterError::Command {
                        command: "scancel",
                        words: "Access denied".to_owned(),
                    }),
                    true => Err(unreachable()),
                    false => Ok(()),
                }
            },
            &mut || pauses += 1,
        );
        (ended.is_ok(), asked, pauses)
    };
    assert_eq!(asked(0, false), (true, 1, 0));
    assert_eq!(asked(3, false), (true, 4, 3));
    assert_eq!(asked(99, false), (false, ATTEMPTS, ATTEMPTS - 1));
    assert_eq!(asked(99, true), (false, 1, 0));
}

#[test]
fn per_cents_in_the_path_of_the_run_are_no_patterns() {
    let mut slurm = slurm(&[]);
    slurm.array.logs = PathBuf::from("/home/50%a/x.nodes/logs");
    let expected = "--output=/home/50%%a/x.nodes/logs/%a.txt";
    assert!(slurm.arguments().contains(&expected.into()), "{:?}", slurm.arguments());
}

#[test]
fn a_job_on_one_of_several_clusters_is_asked_for_there() {
    let mut slurm = slurm(&[]);
    let question = |slurm: &Slurm, job: &str| {
        let words = slurm.question(&JobId(job.to_owned())).into_iter();
        words.map(|word| word.into_string().unwrap()).collect::<Vec<_>>()
    };
    let alone = ["--noheader", "--all", "--format=%T %K %r", "--jobs", "12"];
    assert_eq!(question(&slurm, "12"), alone);
    let there = [&["--clusters=east"], &alone[..]].concat();
    assert_eq!(question(&slurm, "12;east"), there);
    // That of an earlier worker, whose name tells the number alone.
    slurm.cluster = Some("east".to_owned());
    assert_eq!(question(&slurm, "12"), there);
}

#[test]
fn the_reason_of_tasks_that_wait_is_known() {
    let reason = |text| live(text).reason;
    assert_eq!(reason("PENDING 3-4 JobHeldUser\n").as_deref(), Some("JobHeldUser"));
    let long = "PENDING 1 ReqNodeNotAvail, UnavailableNodes:node1\n";
    assert_eq!(reason(long).as_deref(), Some("ReqNodeNotAvail"));
    assert_eq!(reason("PENDING 3 None\nRUNNING 2 None\n"), None);
}

/// A script of the shell with a time of its own.
fn script(text: &str, longest: Duration) -> (Result<String, String>, Duration) {
    let mut command = Command::new("sh");
    command.args(["-c", text]);
    let begun = Instant::now();
    let answer = answer("squeue", command, "", longest).map_err(|error| error.to_string());
    (answer, begun.elapsed())
}

#[test]
fn a_command_that_hangs_is_ended() {
    let long = Duration::from_secs(60);
    assert_eq!(script("echo yes; echo no >&2", long).0, Ok("yes\n".to_owned()));
    let failed = script("echo yes; printf 'a\nb\n' >&2; exit 3", long).0;
    assert_eq!(failed, Err("squeue failed: a; b".to_owned()));
    // More than a pipe holds.
    assert_eq!(script("yes | head -c 1000000", long).0.map(|text| text.len()), Ok(1_000_000));
    let (hung, took) = script("exec sleep 100", Duration::from_millis(200));
    assert_eq!(hung, Err("squeue failed: no answer within 0 s".to_owned()));
    assert!(took < Duration::from_secs(50), "{took:?}");
}

/// A command of Slurm in this folder.
fn command_in(folder: &Path, name: &str, mode: u32, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The script comes by standard input, and the program of a folder that others can write is not run, though the folder
/// comes first.
#[test]
fn a_job_is_submitted_without_a_file_by_a_command_that_nobody_else_can_change() {
    use std::os::unix::fs::PermissionsExt as _;
    let all = tempfile::tempdir().unwrap();
    let [open, safe] = ["open", "safe"].map(|name| all.path().join(name));
    for (folder, mode) in [(&open, 0o777), (&safe, 0o755)] {
        std::fs::create_dir(folder).unwrap();
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let kept = all.path().join("kept");
    command_in(&open, "sbatch", 0o755, &format!("echo stolen >'{}'; echo 666", kept.display()));
    command_in(&safe, "sbatch", 0o755, &format!("cat >'{}'; echo 12", kept.display()));
    let mut slurm = slurm(&[]);
    slurm.array.spool = all.path().join("x.nodes");
    slurm.programs = Programs::new(vec![open.clone(), safe]);
    assert_eq!(slurm.submit().unwrap(), JobId("12".to_owned()));
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), slurm.script());
    assert!(!slurm.array.spool.exists(), "nothing is written");

    slurm.programs = Programs::new(vec![open]);
    let refused = slurm.submit().unwrap_err().to_string();
    assert!(
        refused.starts_with("sbatch failed: not found in a folder that only root"),
        "{refused}"
    );
}
