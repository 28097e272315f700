use super::*;
use seekwell_model::workloads::WorkloadParams;

fn asked(filesystem: &str, mount: &[&str]) -> AskedCuts {
    AskedCuts {
        filesystem: filesystem.to_owned(),
        mount: mount.iter().map(|option| (*option).to_owned()).collect(),
        mkfs: vec!["-O".to_owned(), "fast_commit".to_owned()],
        model: "ide-40gb-2005".to_owned(),
        operations: 1,
        most: 10,
        seed: 7,
        jobs: None,
        kernel: None,
        until_lost: false,
        stop: Arc::default(),
    }
}

#[test]
fn the_lab_of_a_case_has_its_stack_and_its_calls() {
    let asked = asked("ext4", &["nobarrier", "commit=1"]);
    let sequences = calls(&Space::new(1).draw(3, 1));
    let cut = SequenceCut { after: AfterCut::LostSynced, text: "A/foo is missing".to_owned() };
    let case = asked.case(&sequences, &cut, true);
    let lab = seekwell_spec::read_lab_bytes(case.lab.as_bytes(), "cuts.toml").unwrap().lab;
    assert_eq!(lab.filesystems[0].mount, asked.mount);
    assert_eq!(lab.filesystems[0].mkfs, asked.mkfs);
    let WorkloadParams::Calls(made) = &lab.workloads[0].parts[0] else { panic!("{lab:?}") };
    assert_eq!(made.run, sequences);
    assert_eq!(case.calls, sequence_text(&sequences[2]));
    assert_eq!(case.text, "synced data is lost: A/foo is missing");
    assert!(case.program.contains("ext4 -O fast_commit nobarrier commit=1, synced data is lost"));
}
