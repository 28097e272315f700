use super::*;
use crate::Integrity;
use crate::fixture::{environment, plan, record, trial, verdict};
use seekwell_model::plan::Prolonged;

fn longer() -> Plan {
    let prolonged = Prolonged { rounds: 9, judged_rounds: 6, judged_trials: 12, method: 1 };
    Plan { prolonged: Some(prolonged), ..plan() }
}

#[test]
fn a_longer_plan_is_sealed_with_the_attempts_that_were_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.seekwell");
    let mut file = RunFile::create(&path, &plan(), &environment()).unwrap();
    file.append(&trial(0), &record(0)).unwrap();
    file.set_verdict(&verdict()).unwrap();
    file.replace_plan(&longer()).unwrap();
    assert_eq!(file.plan().unwrap(), longer());
    assert_eq!(file.verdict().unwrap(), None);
    assert_eq!(file.verify().unwrap(), Integrity::Intact { attempts: 1, verdict: false });
    file.append(&trial(1), &record(1)).unwrap();
    file.set_verdict(&verdict()).unwrap();
    drop(file);
    let file = RunFile::open(&path).unwrap();
    assert_eq!(file.records().unwrap(), [(trial(0), record(0)), (trial(1), record(1))]);
    assert_eq!(file.verify().unwrap(), Integrity::Intact { attempts: 2, verdict: true });
}

#[test]
fn a_file_that_was_edited_gets_no_longer_plan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.seekwell");
    let mut file = RunFile::create(&path, &plan(), &environment()).unwrap();
    file.append(&trial(0), &record(0)).unwrap();
    let edit = "UPDATE attempt SET elapsed_ns = elapsed_ns + 1";
    file.connection.execute(edit, []).unwrap();
    let told = file.replace_plan(&longer()).unwrap_err().to_string();
    assert!(told.contains("was changed after it was written"), "{told}");
    assert_eq!(file.plan().unwrap(), plan());
}
