use super::*;

#[test]
fn a_worker_gets_the_options_of_the_run() {
    let options = Options {
        kernel: Some("85".to_owned()),
        bring: vec![PathBuf::from("/bin/true")],
        changes: vec![Change::new("ram", "fixed.parallel", 2.0)],
        cpu: Some("120,30".parse().unwrap()),
        check: true,
        jobs: Some(7),
        ..Options::of("virtual")
    };
    let text = serde_json::to_string(&Settings::of(&options)).unwrap();
    let Settings::Virtual(read) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
    let worker = read.options().unwrap();
    assert_eq!((worker.kernel, worker.bring), (options.kernel, options.bring));
    assert_eq!((worker.changes, worker.check), (options.changes, true));
    assert_eq!(worker.cpu.unwrap().to_string(), options.cpu.unwrap().to_string());
    assert_eq!(worker.jobs, Some(0), "a lane that is not pinned");
    assert!(worker.cluster.is_none(), "a worker submits no workers");
}

#[test]
fn settings_of_another_version_are_refused_in_words() {
    let settings = OfGuests {
        kernel: None,
        bring: vec![],
        changes: vec!["nonsense".to_owned()],
        cpu: None,
        check: false,
        own_cpu: false,
    };
    let message = settings.options().unwrap_err().to_string();
    assert_eq!(
        message,
        "the run's settings for its workers cannot be read: write DEVICE:KEY=NUMBER, for example \
         sata-2tb-5400:rotating.rpm=5900; use the same seekwell on every node"
    );
}

#[test]
fn trials_that_depend_on_their_node_go_there_by_rounds() {
    let options = Options { scratch: Some("/scratch".into()), ..Options::of("host") };
    let settings = Settings::of(&options);
    assert_eq!(settings.unit(), Unit::Round);
    assert_eq!(
        serde_json::to_string(&settings).unwrap(),
        r#"{"place":"host","scratch":"/scratch"}"#
    );
    assert_eq!(Settings::of(&Options::of("virtual")).unit(), Unit::Trial);
}

#[test]
fn the_shared_folder_stands_next_to_the_run_file() {
    assert_eq!(folder(Path::new("/home/a/x.seekwell")), Path::new("/home/a/x.seekwell.nodes"));
}
