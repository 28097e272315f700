use seekwell_model::agent::{AgentMessage, FoundDatabase, FoundFile};

use super::*;

fn failed(stage: &str) -> Record {
    let (stage, reason) = (stage.to_owned(), "refused".to_owned());
    Record { status: Status::Failed { stage, reason }, ..Record::blank() }
}

fn warned(codes: &[WarningCode]) -> Record {
    let mut record = Record { status: Status::Ok, ..Record::blank() };
    for code in codes {
        record.add_warning(Warning::new(*code, "text"));
    }
    record
}

#[test]
fn the_worst_that_a_survey_found_is_the_outcome_of_a_cut() {
    let damage = [WarningCode::FsckDamage];
    let lost = || Loss { bytes: 1, first: Some("lost".to_owned()), ..Loss::default() };
    let longer = || Loss { torn: 1, first: Some("longer".to_owned()), ..Loss::default() };
    let reordered = || Loss { reordered: 1, ..Loss::default() };
    let cases = [
        (warned(&[]), Loss::default(), Some(AfterCut::Whole)),
        (warned(&[]), reordered(), Some(AfterCut::Whole)),
        (warned(&[]), longer(), Some(AfterCut::LostSynced)),
        (warned(&damage), Loss::default(), Some(AfterCut::Damaged)),
        (warned(&damage), lost(), Some(AfterCut::LostSynced)),
        (failed("mount"), Loss::default(), Some(AfterCut::Unmountable)),
        (failed("survey"), Loss::default(), Some(AfterCut::Unmountable)),
        (failed("umount"), Loss::default(), Some(AfterCut::Unmountable)),
        (failed("setup"), Loss::default(), Some(AfterCut::Unmountable)),
        (failed("teardown"), Loss::default(), None),
    ];
    for (record, loss, expected) in cases {
        assert_eq!(judge(&record, &loss).0, expected, "{:?}", record.status);
    }
}

#[test]
fn the_states_of_a_guest_are_told_apart_by_its_records() {
    let file = |path: &str| FoundFile { path: path.to_owned(), bytes: None, sectors: vec![] };
    let messages = [
        AgentMessage::Step { name: "mount".to_owned() },
        AgentMessage::Found(file("/mnt/a")),
        AgentMessage::Record(Box::new(warned(&[]))),
        AgentMessage::Found(file("/mnt/b")),
        AgentMessage::Database(FoundDatabase { rows: 3, damage: None }),
        AgentMessage::Record(Box::new(failed("umount"))),
    ];
    let mut bytes = Vec::new();
    for message in &messages {
        bytes.extend(serde_json::to_vec(message).unwrap());
        bytes.push(b'\n');
    }
    let mut heard = Transcript::default();
    bytes.chunks(7).for_each(|part| heard.take(part, &mut |_| {}));
    let found: Vec<(usize, Option<u64>, bool)> = heard
        .states
        .iter()
        .map(|state| {
            let rows = state.database.as_ref().map(|database| database.rows);
            let is_ok = state.record.as_ref().is_some_and(|record| record.status == Status::Ok);
            (state.files.len(), rows, is_ok)
        })
        .collect();
    assert_eq!(found, [(1, None, true), (1, Some(3), false)]);
}
