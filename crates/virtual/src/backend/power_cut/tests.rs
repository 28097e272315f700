use super::*;
use seekwell_model::record::Record;

fn failed(stage: &str) -> Record {
    let (stage, reason) = (stage.to_owned(), "refused".to_owned());
    Record { status: Status::Failed { stage, reason }, ..Record::blank() }
}

fn warned(codes: &[WarningCode]) -> Record {
    let mut record = Record { status: Status::Ok, ..Record::blank() };
    for code in codes {
        record.add_warning(Warning::new(*code, "told"));
    }
    record
}

#[test]
fn the_worst_that_a_survey_found_is_the_outcome_of_a_cut() {
    let both = [WarningCode::FsckDamage, WarningCode::SyncedDataLost];
    let cases = [
        (warned(&[]), Some(AfterCut::Whole)),
        (warned(&both[..1]), Some(AfterCut::Damaged)),
        (warned(&both), Some(AfterCut::LostSynced)),
        (failed("mount"), Some(AfterCut::Unmountable)),
        (failed("survey"), Some(AfterCut::Unmountable)),
        (failed("umount"), Some(AfterCut::Unmountable)),
        (failed("setup"), None),
        (failed("teardown"), None),
    ];
    for (record, expected) in cases {
        assert_eq!(judge(&record).0, expected, "{:?}", record.status);
    }
}

#[test]
fn a_line_that_was_not_said_to_its_end_is_no_promise() {
    let lines = [
        AgentMessage::Step { name: "endure".to_owned() },
        AgentMessage::Synced { what: "ready".to_owned() },
        AgentMessage::Synced { what: "log 12".to_owned() },
    ];
    let mut output: Vec<u8> = Vec::new();
    for line in &lines {
        output.extend(serde_json::to_vec(line).unwrap());
        output.push(b'\n');
    }
    assert_eq!(promises(&output), ["ready", "log 12"]);
    output.pop();
    assert_eq!(promises(&output), ["ready"]);
    assert!(promises(b"").is_empty());
}
