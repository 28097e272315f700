use super::*;
use crate::Integrity;
use crate::fixture::{environment, plan, record, trial, verdict};
use seekwell_model::why::Cause;

fn causes() -> Why {
    let cause = Cause { laws: vec!["flush".to_owned()], amount: 0.5, counted: None };
    Why { better: "xfs/none".to_owned(), causes: vec![cause], ..Why::default() }
}

fn judged(path: &std::path::Path) -> RunFile {
    let mut file = RunFile::create(path, &plan(), &environment()).unwrap();
    file.append(&trial(0), &record(0)).unwrap();
    file.set_verdict(&verdict()).unwrap();
    assert_eq!(file.why().unwrap(), None);
    file.set_why(&causes()).unwrap();
    file
}

#[test]
fn causes_are_kept_with_the_verdict_until_a_trial_is_added() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.seekwell");
    drop(judged(&path));
    let file = RunFile::open(&path).unwrap();
    assert_eq!(file.why().unwrap(), Some(causes()));
    assert_eq!(file.verdict().unwrap(), Some(verdict()));
    assert_eq!(file.verify().unwrap(), Integrity::Intact { attempts: 1, verdict: true });
    drop(file);
    let mut file = RunFile::open_for_append(&path).unwrap();
    file.append(&trial(1), &record(1)).unwrap();
    assert_eq!(file.why().unwrap(), None);
    assert_eq!(file.verify().unwrap(), Integrity::Intact { attempts: 2, verdict: false });
}

#[test]
fn edited_causes_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let file = judged(&folder.path().join("run.seekwell"));
    let edit = "UPDATE meta SET value = replace(value, 'flush', 'seek') WHERE key = 'why'";
    assert_eq!(file.connection.execute(edit, []).unwrap(), 1);
    assert_eq!(file.why().unwrap(), None);
    let expected = "the causes are not those that were written for these trials".to_owned();
    assert_eq!(file.verify().unwrap(), Integrity::Changed(vec![expected]));
}
