use super::*;
use crate::export::claim::ExportCard;
use crate::fixture::Machine;
use crate::undo;
use seekwell_model::units::Bytes;
use std::fs;
use std::net::IpAddr;

const FROM: &str = "nas:/srv/bench";

fn export() -> Export {
    Export { from: FROM.to_owned(), version: "4.2".to_owned(), rsize: None, wsize: None }
}

/// A machine that knows this process, for an undo list.
fn machine() -> Machine {
    let machine = Machine::new();
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    machine.write(&format!("proc/{}/stat", std::process::id()), stat.trim_end());
    machine
}

#[test]
fn a_directory_is_noted_before_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let reached = || Reached::of_folder(folder.path(), FROM);
    ExportCard::seen(reached()).unwrap().confirm("bench").unwrap();
    let machine = machine();
    let list = machine.path("run/one.undo");
    let mut undo = Undo::create(&machine.system(), &list, "run-1").unwrap();
    let made = TrialDirectory::within(&mut undo, &export(), &reached()).unwrap();
    assert!(undo.has(&Target::TrialDirectory(made.place.clone())));
    assert!(folder.path().join(&made.place.name).is_dir());
    // As another process reads it.
    let again = Undo::open(&machine.system(), &list).unwrap();
    assert!(again.has(&Target::TrialDirectory(made.place)));
}

#[test]
fn a_lab_without_a_claim_makes_and_notes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let machine = machine();
    let list = machine.path("run/one.undo");
    let mut undo = Undo::create(&machine.system(), &list, "run-1").unwrap();
    let made =
        TrialDirectory::within(&mut undo, &export(), &Reached::of_folder(folder.path(), FROM));
    assert!(matches!(made, Err(Error::Refused(_))), "{made:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(!fs::read_to_string(&list).unwrap().contains("seekwell-trial-"));
    assert_eq!(undo::restore(&machine.system(), &list).unwrap().problems, [""; 0]);
}

#[test]
fn options_of_the_mount_are_those_of_the_lab_and_keep_caches_apart() {
    let export = Export { version: "3".to_owned(), rsize: Some(Bytes::kib(64)), ..export() };
    let place = Place {
        from: FROM.to_owned(),
        address: IpAddr::from([10, 0, 0, 7]),
        version: "3".to_owned(),
        claim: String::new(),
        name: String::new(),
    };
    let directory = TrialDirectory { export, place };
    assert_eq!(
        directory.described(&["noatime".to_owned()]).unwrap(),
        "mount -t nfs -o vers=3,proto=tcp,addr=10.0.0.7,nosharecache,nolock,mountproto=tcp,mountaddr=10.0.0.7,mountvers=3,hard,rsize=65536,noatime nas:/srv/bench"
    );
}
