use super::*;
use crate::fixture::context;
use crate::step::Acknowledged;
use seekwell_model::workloads::CallsParams;
use std::sync::Mutex;

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<u64>>);

impl Acknowledged for Heard {
    fn take(&self, number: u64) {
        self.0.lock().unwrap().push(number);
    }
}

fn sequence(text: &str) -> Vec<Call> {
    text.split("; ").map(|call| call.parse().unwrap()).collect()
}

#[test]
fn each_sequence_runs_in_its_own_directory_and_is_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let run = [
        "mkdir A; creat A/foo; write A/foo 0 4000; link A/foo bar; rename A/foo A/new; fsync A/new; fdatasync bar",
        "creat foo; write foo 4096 4096; truncate foo 6000; unlink foo; mkdir A; rmdir A; creat bar; fsync bar",
    ];
    let params = CallsParams { run: run.map(sequence).to_vec() };
    let heard = Heard::default();
    let context = StepContext { acknowledged: Some(&heard), ..context(folder.path()) };
    let mut all = steps(&params);
    let outcome = all[0].run(&context).unwrap();
    assert_eq!((outcome.ops, outcome.app_bytes_written), (15, 8096));
    assert_eq!(*heard.0.lock().unwrap(), [1, 2]);
    let at = |path: &str| folder.path().join(path);
    let written = fs::read(at("calls-1/A/new")).unwrap();
    assert_eq!(written.len(), 4000);
    assert_eq!(fs::read(at("calls-1/bar")).unwrap(), written);
    assert!(!at("calls-1/A/foo").exists() && !at("calls-2/A").exists());
    assert_eq!(fs::metadata(at("calls-2/bar")).unwrap().len(), 0);
    assert_eq!(all[0].run(&context).unwrap().ops, 15, "again, in other directories");
    assert!(at("calls-4/bar").exists());
    let error = steps(&params)[0].run(&context).unwrap_err();
    assert!(error.to_string().contains("calls-1"), "{error}");
}

#[test]
fn data_of_two_writes_share_no_sector_and_are_never_zero() {
    let all = [data(1, 4096), data(2, 4096)].concat();
    let mut sectors: Vec<&[u8]> = all.chunks(512).collect();
    assert!(sectors.iter().all(|sector| sector.iter().any(|byte| *byte != 0)));
    sectors.sort_unstable();
    sectors.dedup();
    assert_eq!(sectors.len(), 16);
    assert_eq!(data(3, 13).len(), 13);
}
