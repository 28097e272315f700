use super::*;
use crate::fixture;
use proptest::prelude::*;
use seekwell_model::units::Nanos;
use seekwell_model::workloads::CacheState;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, Ordering};

fn params(run: &str) -> CommandParams {
    CommandParams {
        step: "job".to_owned(),
        prepare: None,
        run: run.to_owned(),
        cache: CacheState::Warm,
        metrics: BTreeMap::new(),
        expect_status: 0,
        timeout: None,
        raw: false,
        privileged: false,
    }
}

fn context(directory: &Path) -> StepContext<'_> {
    StepContext { device: Path::new("/dev/some device"), seed: 1, ..fixture::context(directory) }
}

fn run(params: &CommandParams) -> Result<StepOutcome, WorkloadError> {
    let folder = tempfile::tempdir().unwrap();
    let mut steps = steps(params);
    let last = steps.last_mut().unwrap();
    last.run(&context(folder.path()))
}

fn error(params: &CommandParams) -> String {
    run(params).unwrap_err().to_string()
}

#[test]
fn a_command_reports_time_status_and_its_own_numbers() {
    let mut params = params("echo 'tps: 12.5 of 3'; echo 'left = -4e2' >&2; exit 3");
    params.expect_status = 3;
    params.metrics.insert("tps".to_owned(), r"^tps: ([0-9.]+)".to_owned());
    params.metrics.insert("left".to_owned(), r"^left = (\S+)$".to_owned());
    let outcome = run(&params).unwrap();
    let expected = BTreeMap::from([
        ("exit_status".to_owned(), 3.0),
        ("left".to_owned(), -400.0),
        ("tps".to_owned(), 12.5),
    ]);
    assert_eq!(outcome.metrics, expected);
    assert!(outcome.elapsed_ns > 0 && outcome.warnings.is_empty());
}

#[test]
fn cpu_time_is_that_of_the_command() {
    let outcome = run(&params("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")).unwrap();
    assert!(outcome.cpu_ns > 0 && outcome.cpu_ns <= 2 * outcome.elapsed_ns);
}

#[test]
fn an_unexpected_status_shows_the_last_lines() {
    let told = error(&params("for i in 1 2 3 4 5 6 7 8 9 10 11; do echo line $i; done; exit 7"));
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines[0],
        "command of step job ended with status 7, expected 0; the last it printed:"
    );
    assert_eq!((lines[1], lines[10], lines.len()), ("line 2", "line 11", 11));
    assert_eq!(
        error(&params("exit 1")),
        "command of step job ended with status 1, expected 0; it printed nothing"
    );
    assert_eq!(
        error(&params("kill -9 $$")),
        "command of step job was ended by signal 9; it printed nothing"
    );
}

#[test]
fn a_pattern_without_a_number_is_an_error_that_names_it() {
    let with = |pattern: &str| {
        let mut params = params("echo 'tps: many 7'");
        params.metrics.insert("tps".to_owned(), pattern.to_owned());
        error(&params)
    };
    assert_eq!(
        with(r"TPS=(\d+)"),
        r"pattern 'TPS=(\d+)' of job.tps matches nothing in the output; make the command print it, or correct the pattern"
    );
    assert_eq!(
        with(r"tps: (\w+)"),
        r"pattern 'tps: (\w+)' of job.tps matches 'many', which is not a number; let the first group match the number alone"
    );
    assert_eq!(
        with(r"tps: \w+"),
        r"pattern 'tps: \w+' of job.tps has no group; put the number in round brackets, for example 'took (\d+) s'"
    );
    assert!(with("tps: (").starts_with("pattern 'tps: (' of job.tps is not a regular expression"));
}

#[test]
fn a_wrong_pattern_is_found_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut params = params("touch ran");
    params.metrics.insert("m".to_owned(), "(".to_owned());
    assert!(steps(&params)[0].run(&context(folder.path())).is_err());
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn a_timeout_ends_the_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let mut params = params("sleep 300 & echo $! > child; echo started; sleep 300");
    params.timeout = Some(Nanos(200_000_000));
    let told = steps(&params)[0].run(&context(folder.path())).unwrap_err().to_string();
    assert_eq!(
        told,
        "command of step job was not done after 200 ms; the last it printed:\nstarted"
    );
    let child = std::fs::read_to_string(folder.path().join("child")).unwrap();
    assert!(is_gone(child.trim()), "process {child} still runs");
}

/// Returns true when a process has ended, also when it has not been waited for.
fn is_gone(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .map_or(true, |stat| stat.rsplit(") ").next().unwrap().starts_with('Z'))
}

#[test]
fn a_command_deaf_to_the_first_signal_is_killed() {
    let mut params = params("trap '' TERM; while :; do sleep 0.05; done");
    params.timeout = Some(Nanos(100_000_000));
    assert!(error(&params).contains("was not done after 100 ms"));
}

#[test]
fn processes_left_behind_are_ended_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let left = params("sleep 300 & echo $! > child");
    let outcome = steps(&left)[0].run(&context(folder.path())).unwrap();
    let codes: Vec<&str> = outcome.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes, ["left-processes"]);
    let child = std::fs::read_to_string(folder.path().join("child")).unwrap();
    assert!(is_gone(child.trim()), "process {child} still runs");
}

#[test]
fn a_stop_ends_the_command_without_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let context = StepContext { stop: Some(Arc::clone(&stop)), ..context(folder.path()) };
    let outcome = std::thread::scope(|scope| {
        let running = scope.spawn(|| steps(&params("sleep 300"))[0].run(&context));
        std::thread::sleep(Duration::from_millis(50));
        stop.store(true, Ordering::Relaxed);
        running.join().unwrap().unwrap()
    });
    assert!(outcome.stopped);
    assert!(!outcome.metrics.contains_key("exit_status"));
}

#[test]
fn long_output_is_cut_in_the_middle_and_both_ends_are_searched() {
    let mut params = params("echo first=1; yes | head -c 3000000; echo last=2");
    params.metrics.insert("a".to_owned(), r"first=(\d)".to_owned());
    params.metrics.insert("b".to_owned(), r"last=(\d)".to_owned());
    let outcome = run(&params).unwrap();
    assert_eq!((outcome.metrics["a"], outcome.metrics["b"]), (1.0, 2.0));
    assert_eq!(outcome.warnings[0].code, "output-cut");
    let cut = 3_000_000 + 8 + 7 - OUTPUT_BYTES;
    assert!(outcome.warnings[0].text.starts_with(&format!("{cut} bytes")));
}

#[test]
fn the_directory_is_put_in_and_is_where_the_command_runs() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("it's a $(dir) \"here\"");
    std::fs::create_dir(&folder).unwrap();
    let params = params("test \"$(pwd)\" = {dir} && echo {dev} && touch {dir}/made");
    steps(&params)[0].run(&context(&folder)).unwrap();
    assert!(folder.join("made").exists());
}

#[test]
fn prepare_runs_first_and_is_not_measured() {
    let folder = tempfile::tempdir().unwrap();
    let mut params = params("test -e {dir}/ready");
    params.prepare = Some("touch {dir}/ready".to_owned());
    params.metrics.insert("never".to_owned(), "(x)".to_owned());
    let mut steps = steps(&params);
    assert_eq!(steps.len(), 2);
    let prepared = steps[0].run(&context(folder.path())).unwrap();
    assert!(prepared.metrics.is_empty());
    assert!(folder.path().join("ready").exists());
}

#[test]
fn a_placeholder_without_a_value_is_an_error() {
    let context = StepContext { directory: None, ..context(Path::new("/")) };
    let told = steps(&params("ls {dir}"))[0].run(&context).unwrap_err().to_string();
    assert_eq!(
        told,
        "command of step job names {dir}, which this stack does not have; it printed nothing"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn the_shell_reads_a_quoted_path_as_it_is(name in "[^\u{0}/]{1,20}") {
        let quoted = quote(Path::new(&name));
        let line = [b"printf %s ".as_slice(), &quoted].concat();
        let limits = Limits { timeout: None, stop: None };
        let finished = child::run(OsStr::from_bytes(&line), Path::new("/"), limits, None).unwrap();
        prop_assert_eq!(finished.output.text(), name);
    }
}
