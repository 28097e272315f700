use super::*;
use crate::undo::added::remove;
use std::fs;

const CONTROL: Control = Control { class: "zram-control", prefix: "zram" };

/// A machine whose kernel has disks of these names, numbers and sizes, and adds `zram1` next.
fn machine(disks: &[(&str, u64, u64)]) -> (tempfile::TempDir, System) {
    let root = tempfile::tempdir().unwrap();
    let system = System::rooted_at(root.path());
    for (name, sequence, size) in disks {
        let folder = system.block(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("diskseq"), format!("{sequence}\n")).unwrap();
        fs::write(folder.join("size"), format!("{size}\n")).unwrap();
    }
    let class = folder(&system, CONTROL.class);
    fs::create_dir_all(&class).unwrap();
    fs::write(class.join("hot_add"), "1\n").unwrap();
    (root, system)
}

fn removed(system: &System) -> Option<String> {
    fs::read_to_string(remover(system, CONTROL.class)).ok()
}

#[test]
fn a_disk_is_on_the_list_by_its_own_number_and_is_removed() {
    let (_root, system) = machine(&[("sda", 11, 8), ("zram0", 10, 0), ("zram1", 12, 0)]);
    let mut undo = Undo::in_memory(&system);
    assert_eq!(add(&system, &CONTROL, &mut undo).unwrap(), 1);
    let known = |target: &Target| match target {
        Target::Added { device, sequence, is_known, .. } => {
            assert_eq!((device.as_str(), *sequence, *is_known), ("zram1", 12, true));
            true
        }
        _ => false,
    };
    let restored = undo.restore_where(known).unwrap();
    assert_eq!(restored.done, ["removed zram1"]);
    assert_eq!(removed(&system).unwrap(), "1");
}

#[test]
fn a_disk_without_a_number_is_given_back_at_once() {
    let (_root, system) = machine(&[("zram0", 10, 0)]);
    let error = add(&system, &CONTROL, &mut Undo::in_memory(&system)).unwrap_err();
    assert_eq!(error.to_string(), "this kernel does not number its disks (zram1)");
    assert_eq!(removed(&system).unwrap(), "1");
}

#[test]
fn another_disk_of_the_name_stays() {
    let (_root, system) = machine(&[("zram1", 12, 64)]);
    let remove = |entry| remove(&system, CONTROL.class, "zram1", entry).unwrap();
    assert_eq!(remove((11, true)), None);
    // Announced and not yet known: somebody else's has a size, and an older one is not later.
    assert_eq!(remove((11, false)), None);
    fs::write(system.block("zram1").join("size"), "0\n").unwrap();
    assert_eq!(remove((12, false)), None);
    assert_eq!(removed(&system), None);
    assert_eq!(remove((11, false)), Some("removed zram1".to_owned()));
    assert_eq!(removed(&system).unwrap(), "1");
}

#[test]
fn a_list_names_no_other_class_and_no_other_disk() {
    let (_root, system) = machine(&[]);
    for (class, device) in [
        ("block", "zram1"),
        ("zram-control", "sda1"),
        ("zram-control", "zram"),
        ("zram-control", "zram1/x"),
    ] {
        let target = Target::Added {
            class: class.to_owned(),
            device: device.to_owned(),
            sequence: 1,
            is_known: true,
        };
        let error = Undo::in_memory(&system).record(&target).unwrap_err().to_string();
        assert!(error.contains("is not a setting that seekwell changes"), "{error}");
    }
}
