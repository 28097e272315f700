use super::*;
use seekwell_model::field::{Value, Values};
use seekwell_model::stack::{Journal, Memory, Scheduler};

fn command(fields: &[(&'static str, Value)]) -> WorkloadParams {
    let kind = workload_kind("command").unwrap();
    let mut values = Values::default();
    fields.iter().for_each(|(name, value)| values.set(name, value.clone()));
    kind.params(&values).unwrap()
}

fn stack(path: &str) -> Stack {
    Stack {
        label: path.to_owned(),
        device: seekwell_model::stack::Device {
            name: "ssd".into(),
            backing: Backing::Disk { path: path.into() },
            base: "ssd".into(),
            settings: Default::default(),
        },
        layers: Default::default(),
        journal: Journal::internal(),
        filesystem: seekwell_model::stack::Filesystem {
            name: "ext4".into(),
            kind: "ext4".into(),
            mkfs: vec!["-m".into(), "7".into()],
            mount: vec![],
            discard: false,
            overlay: None,
        },
        scheduler: Scheduler::plain("none"),
        memory: Memory::quarter(),
    }
}

#[test]
fn a_disk_and_every_command_are_named_once() {
    let mut effects = Effects::default();
    effects.add_stack(&stack("/dev/disk/by-id/ssd")).unwrap();
    effects.add_stack(&stack("/dev/disk/by-id/ssd")).unwrap();
    effects.add_workload(
        "mine",
        &command(&[
            ("run", Value::Text("./measure {dir}".into())),
            ("prepare", Value::Text("./fill {dir}".into())),
            ("privileged", Value::Bool(true)),
        ]),
    );
    let lines = effects.lines();
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert_eq!(lines[0], "writes /dev/disk/by-id/ssd whole: everything on it is lost");
    assert!(lines[1].starts_with("runs mkfs: mkfs.ext4 "), "{}", lines[1]);
    assert!(lines[1].contains("-m 7") && lines[1].contains("/dev/disk/by-id/ssd"), "{}", lines[1]);
    let rights = "(privileged: all rights of root and all of /dev)";
    assert_eq!(lines[2], format!("runs mine {rights}: ./fill {{dir}}"));
    assert_eq!(lines[3], format!("runs mine {rights}: ./measure {{dir}}"));
}

#[test]
fn a_plan_that_writes_a_disk_has_to_be_seen_and_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine {
        system: seekwell_host::sysfs::System::host(),
        program: PathBuf::new(),
        state: folder.path().join("state"),
        kernels: None,
        folders: vec![],
        temporary: folder.path().to_owned(),
    };
    let mut effects = Effects::default();
    assert!(were_seen(&machine, &effects).unwrap(), "it reaches no disk");
    effects.add_stack(&stack("/dev/disk/by-id/ssd")).unwrap();
    assert!(!were_seen(&machine, &effects).unwrap());
    note_seen(&machine, &effects).unwrap();
    assert!(were_seen(&machine, &effects).unwrap());
    effects.add_stack(&stack("/dev/disk/by-id/other")).unwrap();
    assert!(!were_seen(&machine, &effects).unwrap());
}
