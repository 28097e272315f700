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
            price: None,
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
            nfs: None,
            export: None,
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
fn the_directory_of_a_server_is_named_once() {
    let mut remote = stack("/dev/disk/by-id/ssd");
    remote.device.backing = Backing::Ram { size: Bytes::mib(64), sector: Bytes(512) };
    remote.filesystem.kind = "nfs".to_owned();
    remote.filesystem.export = Some(seekwell_model::stack::Export {
        from: "nas:/srv/bench".to_owned(),
        version: "4.2".to_owned(),
        rsize: None,
        wsize: None,
    });
    let mut effects = Effects::default();
    effects.add_stack(&remote).unwrap();
    effects.add_stack(&remote).unwrap();
    assert_eq!(
        effects.lines(),
        ["makes a directory in nas:/srv/bench, and removes that at the end"]
    );
}

#[test]
fn a_disk_is_named_only_by_stacks_that_write_it() {
    let zram = seekwell_model::layers::layer_kind("zram").unwrap();
    let in_memory = |kind: &str, layered: bool| {
        let mut stack = stack("/dev/disk/by-id/ssd");
        stack.filesystem.kind = kind.to_owned();
        stack.filesystem.mkfs = vec![];
        if layered {
            let layer = seekwell_model::layers::Layer::new(zram, None, None, &Values::default());
            stack.layers.parts.push(layer);
        }
        stack
    };
    let mut effects = Effects::default();
    effects.add_stack(&in_memory("tmpfs", false)).unwrap();
    effects.add_stack(&in_memory("ext4", true)).unwrap();
    assert_eq!(effects.disks, Vec::<PathBuf>::new());
    let lines = effects.lines();
    assert!(lines.iter().all(|line| !line.contains("by-id")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.ends_with("LAYER")), "{lines:#?}");
    effects.add_stack(&in_memory("ext4", false)).unwrap();
    assert_eq!(effects.disks, [PathBuf::from("/dev/disk/by-id/ssd")]);
}

fn machine(folder: &Path) -> Machine {
    Machine {
        system: seekwell_host::sysfs::System::host(),
        program: PathBuf::new(),
        state: folder.join("state"),
        kernels: None,
        folders: vec![],
        temporary: folder.to_owned(),
    }
}

#[test]
fn a_plan_that_writes_a_disk_has_to_be_seen_and_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let machine = machine(folder.path());
    let mut effects = Effects::default();
    let nodes = Disks::OnNodes;
    check_seen(&machine, effects.clone(), nodes).expect("it reaches no disk");
    note_seen(&machine, &effects, nodes).unwrap();
    assert!(!machine.planned().exists(), "nothing is noted of a plan that reaches no disk");
    effects.add_stack(&stack("/dev/disk/by-id/ssd")).unwrap();
    let unseen = check_seen(&machine, effects.clone(), nodes).unwrap_err();
    assert_eq!(unseen.kind(), crate::error::Kind::Refused);
    assert_eq!(
        unseen.to_string(),
        "this run writes /dev/disk/by-id/ssd whole, and no plan for this disk was shown in the \
         last 30 days; show it with seekwell plan"
    );
    note_seen(&machine, &effects, nodes).unwrap();
    check_seen(&machine, effects.clone(), nodes).unwrap();
    effects.add_stack(&stack("/dev/disk/by-id/other")).unwrap();
    assert!(check_seen(&machine, effects, nodes).is_err());
}

#[test]
fn a_plan_that_was_shown_for_one_disk_does_not_count_for_another_at_the_same_path() {
    use seekwell_host::{image, loop_device};
    let test = "a_plan_that_was_shown_for_one_disk_does_not_count_for_another";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to attach a loop device");
    }
    let folder = tempfile::tempdir().unwrap();
    let machine = machine(folder.path());
    let made = [1, 2].map(|seed| {
        let image = image::create_in_ram(&machine.system, Bytes::mib(4), seed, &mut |_| {});
        let image = image.unwrap();
        let device = loop_device::attach(&machine.system, image.file(), Bytes(512), None).unwrap();
        (image, device)
    });
    let link = folder.path().join("disk");
    let lead_to = |number: usize| {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(made[number].1.path(), &link).unwrap();
    };
    let mut effects = Effects::default();
    effects.add_stack(&stack(link.to_str().unwrap())).unwrap();
    lead_to(0);
    note_seen(&machine, &effects, Disks::Here).unwrap();
    check_seen(&machine, effects.clone(), Disks::Here).unwrap();
    lead_to(1);
    let unseen = check_seen(&machine, effects.clone(), Disks::Here).unwrap_err();
    assert!(matches!(unseen, SessionError::NotSeen { .. }), "{unseen}");
    lead_to(0);
    check_seen(&machine, effects, Disks::Here).unwrap();
}

#[test]
fn a_replay_next_to_the_recorded_folder_is_named() {
    let effects = Effects { replayed: vec!["/srv/orders".into()], ..Effects::default() };
    assert_eq!(
        effects.lines(),
        [
            "replays the recording in a new folder next to /srv/orders, where its filesystem is mounted here, \
          and removes that before the trials"
        ]
    );
}
