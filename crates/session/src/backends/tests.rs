use super::*;
use crate::machine::Machine;
use crate::options::{OnCluster, Wait, Workers};
use crate::resolved::LabText;
use seekwell_cluster::Say;
use seekwell_host::sysfs::System;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn session() -> Session {
    Session::new(Machine {
        system: System::rooted_at(Path::new("/nonexistent")),
        program: PathBuf::new(),
        state: PathBuf::new(),
        kernels: None,
        folders: Vec::new(),
        temporary: PathBuf::new(),
    })
}

fn message(options: &Options) -> String {
    choose(&session(), options).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn every_option_belongs_to_one_backend_and_the_others_refuse_it() {
    let all = Options {
        backend: "virtual".to_owned(),
        device: Some("ram:64MiB".to_owned()),
        journal_device: Some("ram:64MiB".to_owned()),
        model: Some("ram".to_owned()),
        on: vec!["ram".to_owned()],
        kernel: Some("0".to_owned()),
        bring: vec![PathBuf::from("/bin/true")],
        changes: vec!["ram:fixed.parallel=1".parse().unwrap()],
        jobs: Some(1),
        cpu: Some("1,1".parse().unwrap()),
        check: true,
        record: Some(PathBuf::from("traces")),
        cluster: Some(OnCluster {
            workers: Workers::Others,
            stop: Arc::default(),
            say: Say::default(),
        }),
        scratch: None,
        prices: vec![],
        more: None,
        wait: Some(Wait { stop: Arc::default(), say: |_| () }),
    };
    for option in all.given() {
        let takers = BACKENDS.iter().filter(|entry| takes(entry.name, option));
        // The nodes of a cluster run the trials of either.
        assert_eq!(takers.count(), 1 + usize::from(option == "nodes"), "{option}");
    }
    assert_eq!(
        all.given().count() + 1,
        BACKENDS.iter().map(|entry| entry.options.len()).sum::<usize>()
    );
    let jobs = Options { jobs: Some(2), ..Options::of("host") };
    assert_eq!(
        message(&jobs),
        "--jobs needs --place virtual, but the backend is host; remove the option or choose the other backend"
    );
    let device = Options { device: Some("ram:64MiB".to_owned()), ..Options::of("virtual") };
    assert!(message(&device).starts_with("--device needs --place host,"));
    assert_eq!(message(&Options::of("moon")), "unknown backend 'moon'; use host or virtual");
    assert_eq!(message(&Options::of("host")), "");
}

#[test]
fn a_change_that_no_modelled_device_takes_is_reported_before_any_kernel() {
    let with =
        |change: &str| Options { changes: vec![change.parse().unwrap()], ..Options::of("virtual") };
    let lab = "[lab]\nname = \"t\"\n[[device]]\nmodel = \"ram\"\n[[filesystem]]\ntype = \"ext4\"\n\
               [[workload]]\nkind = \"mail\"\n[judge]\nmetric = \"unpack.elapsed_durable\"\nrounds = 6\n";
    let message = |change: &str| {
        let resolved = session().resolve(&LabText::new("t.toml", lab), &with(change));
        resolved.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(message("no-such:a.b=1").contains("modelled device 'no-such' not found"));
    assert!(message("ram:a.b=1").starts_with("--set ram:a.b=1: "));
}

#[test]
fn the_catalogue_is_loaded_once() {
    let session = session();
    let first: *const _ = session.devices().unwrap();
    choose(&session, &Options::of("virtual")).unwrap();
    assert!(std::ptr::eq(first, session.devices().unwrap()));
}
