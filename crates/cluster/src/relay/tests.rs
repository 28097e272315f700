use super::*;
use crate::fixture::{batch, line, record, share, spool, took};

fn allocation() -> Allocation {
    Allocation {
        program: "/opt/it's/seekwell".into(),
        kernel_id: "954cce6c503f0545".to_owned(),
        kernel: vec!["/k/linux".into(), "/k/kernel.json".into()],
        spool: "/home/a/x.nodes".into(),
        local: "/local".into(),
        tasks: 3,
        options: vec!["--partition=batch".to_owned()],
    }
}

#[test]
fn an_allocation_has_a_cpu_for_each_worker_and_survives_a_node() {
    let arguments = allocation().arguments();
    let arguments: Vec<&str> = arguments.iter().filter_map(|one| one.to_str()).collect();
    assert_eq!(
        arguments,
        [
            "--job-name=seekwell",
            "--cpus-per-task=1",
            "--no-kill",
            "--ntasks=3",
            "--partition=batch"
        ]
    );
}

#[test]
fn the_script_brings_all_that_a_worker_needs() {
    let script = allocation().script(Path::new("/usr/bin/sbcast"), Path::new("/usr/bin/srun"));
    for line in [
        "'/usr/bin/sbcast' --force '/opt/it'\\''s/seekwell' \"$at.program\"\n",
        "'/usr/bin/sbcast' --force '/home/a/x.nodes/work.json' \"$at.work.json\"\n",
        "'/usr/bin/sbcast' --force '/home/a/x.nodes/id' \"$at.id\"\n",
        "'/usr/bin/sbcast' --force '/k/linux' \"$at.linux\"\n",
        "'/usr/bin/sbcast' --force '/k/kernel.json' \"$at.kernel.json\"\n",
        "kernel=$mine/cache/seekwell/kernels/954cce6c503f0545\n",
    ] {
        assert!(script.contains(line), "{line}\n{script}");
    }
    let checked = Command::new("sh").args(["-n", "-c", &script]).status().unwrap();
    assert!(checked.success(), "{script}");
}

#[test]
fn words_of_workers_become_deliveries_and_heartbeats() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let mut state = State::default();
    let task = "2--n-1-9".to_owned();
    state.hear(&spool, 2, Word::Ready(task.clone())).unwrap();
    assert_eq!((state.ready.len(), state.here.len()), (1, 1));
    spool.want(&share(4)).unwrap();
    let taken = took(&spool, &task).unwrap();
    state.given.insert(2, given(taken, &task));
    state.hear(&spool, 2, Word::Beat).unwrap();
    state.hear(&spool, 2, Word::Beat).unwrap();
    assert_eq!(spool.heard(&task).unwrap(), Some(2));
    state.hear(&spool, 2, Word::Results(vec![(4, Ok(Box::new(record(4))))])).unwrap();
    let delivery = spool.delivered(&share(4)).unwrap().unwrap();
    assert_eq!((delivery.task, delivery.results), (task, vec![Ok(Box::new(record(4)))]));
    assert_eq!(spool.taken().unwrap(), []);
    // Of a worker that has nothing: the second half of a word that was lost with a node.
    state.hear(&spool, 2, Word::Results(vec![])).unwrap();
    state.hear(&spool, 2, Word::Gone).unwrap();
    assert!(state.here.is_empty() && state.ready.is_empty());
}

fn given(share: Share, task: &str) -> Given {
    Given::new(share, task.to_owned())
}

/// The results of a worker are in the folder one by one, and stay when it is lost.
#[test]
fn a_share_of_several_trials_comes_back_trial_by_trial() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    spool.want(&batch(4..7)).unwrap();
    took(&spool, "2--n-1-9").unwrap();
    assert!(spool.add(4, &line(4, "2--n-1-9")).unwrap());
    let rest = Share { index: 4, trials: batch(5..7).trials };
    let mut state = State::default();
    state.given.insert(2, given(rest, "2--n-1-9"));
    let result = |index| Word::Results(vec![(index, Ok(Box::new(record(index))))]);
    state.hear(&spool, 2, result(5)).unwrap();
    assert_eq!(spool.begun(4, "2--n-1-9").unwrap().unwrap().lines.len(), 2);
    assert_eq!(spool.delivered(&batch(4..7)).unwrap(), None);
    // The word with a result was lost with its line: no other trial gets its place.
    state.hear(&spool, 2, result(9)).unwrap();
    state.hear(&spool, 2, result(5)).unwrap();
    assert_eq!(spool.begun(4, "2--n-1-9").unwrap().unwrap().lines.len(), 2);
    state.hear(&spool, 2, result(6)).unwrap();
    let results = spool.delivered(&batch(4..7)).unwrap().unwrap().results;
    assert_eq!(results, [4, 5, 6].map(|index| Ok(Box::new(record(index)))));
    assert!(state.given.is_empty());
}

/// The share whose first result was lost is not delivered with the second one in its place.
#[test]
fn a_result_counts_for_its_own_trial() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    spool.want(&batch(4..6)).unwrap();
    let taken = took(&spool, "2--n-1-9").unwrap();
    let mut state = State::default();
    state.given.insert(2, given(taken, "2--n-1-9"));
    state.hear(&spool, 2, Word::Results(vec![(5, Ok(Box::new(record(5))))])).unwrap();
    assert_eq!(spool.begun(4, "2--n-1-9").unwrap().unwrap().missing(), [batch(4..5).trials[0]]);
    assert_eq!(spool.delivered(&batch(4..6)).unwrap(), None);
}

/// The trap runs when the shell ends: by then the text is read once more.
#[test]
fn a_directory_of_a_node_is_no_command() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("ran");
    let script = allocation().script(Path::new("/usr/bin/sbcast"), Path::new("/usr/bin/srun"));
    let trap = script.lines().find(|line| line.contains("trap \"rm")).unwrap();
    let mine = folder.path().join("$(touch ran)");
    std::fs::create_dir(&mine).unwrap();
    let ran = Command::new("sh")
        .args(["-c", trap])
        .env("mine", &mine)
        .current_dir(folder.path())
        .status()
        .unwrap();
    assert!(ran.success() && !mine.exists(), "{trap}");
    assert!(!marker.exists(), "{trap}");
}

/// An allocation by a shell: its worker is a script that answers each share with a record.
#[test]
fn shares_go_out_and_records_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let answer = Mutex::new(Vec::new());
    crate::pipe::say(&answer, &Word::Results(vec![(4, Ok(Box::new(record(4))))])).unwrap();
    let answer: String = String::from_utf8(answer.into_inner().unwrap())
        .unwrap()
        .lines()
        .map(|line| format!("echo '0: {line}'\n"))
        .collect();
    let script = format!(
        "echo job 7\necho '0: =\"Beat\"'\necho '0: ={{\"Ready\":\"0--n-1-7\"}}'\nread line\n\
         case $line in '0 {{'*) ;; *) exit 1 ;; esac\n{answer}echo '0: =\"Gone\"'\n"
    );
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    spool.want(&share(4)).unwrap();
    let state = Mutex::new(State::default());
    let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| give(&spool, &state, input));
        hear(&spool, &state, output);
    });
    assert!(child.wait().unwrap().success());
    assert!(spool.delivered(&share(4)).unwrap().is_some());
    let state = state.into_inner().unwrap();
    assert_eq!(state.job.as_deref(), Some("7"));
    assert!(state.is_over && state.here.is_empty());
}
