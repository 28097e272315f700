use super::*;
use seekwell_model::lab::Effort;
use seekwell_spec::read_lab;
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::{Meta, Tree};
use seekwell_trace::{Event, FileEntry, FileId, Limits, TraceWriter};

fn tried(work: &str) -> Tried {
    Tried {
        trace: None,
        work: work.to_owned(),
        prepare: None,
        filesystems: vec!["ext4".to_owned(), "xfs".to_owned()],
        schedulers: vec!["none".to_owned(), "bfq".to_owned()],
        size: Bytes::mib(512),
        time: Nanos::seconds(120),
    }
}

#[test]
fn a_command_becomes_a_lab_with_whatever_it_quotes() {
    let command = "printf '%s\\n' \"a\tb\" > {dir}/x && sync {dir}/x";
    let lab = read_lab(&tried(command).lab_text("try", None), "try.toml").unwrap();
    assert_eq!(lab.name, "try");
    assert_eq!(lab.filesystems.len(), 2);
    assert_eq!(lab.judge.effort, Effort::Budget(Nanos::seconds(120)));
    assert_eq!(lab.judge.metric, "command.elapsed_durable");
    assert!(format!("{:?}", lab.workloads).contains(&format!("{command:?}")));
}

#[test]
fn a_command_brings_the_programs_that_guests_lack() {
    let find = |name: &str| (name != "nowhere").then(|| PathBuf::from("/usr/bin").join(name));
    let brought = |prepare: Option<&str>, work: &str| {
        let prepare = prepare.map(str::to_owned);
        let tried = Tried { prepare, ..tried(work) };
        let paths = tried.programs(find);
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(brought(None, "git -C {dir} gc"), "/usr/bin/git");
    assert_eq!(
        brought(
            Some("cp -r /src {dir}/src; git init {dir}"),
            "cd {dir} && LANG=C make -j2 | tee log"
        ),
        "/usr/bin/git /usr/bin/make /usr/bin/tee"
    );
    assert_eq!(brought(None, "dd if=/dev/zero of={dir}/a; nowhere; curl http://localhost"), "");
    assert_eq!(brought(None, "mail"), "");
}

#[test]
fn every_kind_becomes_a_lab_of_the_amount_that_fits() {
    for kind in &KINDS {
        let tried = tried(kind.name);
        tried.check(|_| false).unwrap();
        assert_eq!(tried.brief(), Some(kind.amounts[0]));
        let text = tried.lab_text("try", Some(1_000));
        assert!(text.contains("1000"), "{text}");
        let lab = read_lab(&text, "try.toml").unwrap();
        assert_eq!(lab.judge.metric, kind.metric);
        assert!(kind.metric.starts_with(tried.step()));
    }
}

/// A brief trial of so many milliseconds, so many of them in its only step.
fn brief(trial_ms: u64, step_ms: u64) -> Seen {
    let step_ns = step_ms * 1_000_000;
    Seen { trial_ns: trial_ms * 1_000_000, work_ns: step_ns, step_ns }
}

#[test]
fn the_amount_is_that_of_all_stacks_and_fits_the_device() {
    // 200 mails in 200 ms beside a second: as many as a second holds.
    assert_eq!(tried("mail").amount(&brief(1_200, 200)), Some(1_000));
    // 120 s for 4 stacks and 10 rounds have no room for that.
    assert_eq!(tried("mail").amount(&brief(9_000, 200)), Some(200));
    assert_eq!(tried("mail").amount(&brief(2, 1)), Some(16_384));
    let small = Tried { size: Bytes::mib(64), ..tried("mail") };
    assert_eq!(small.amount(&brief(2, 1)), Some(2048));
    assert_eq!(tried("true").amount(&brief(2, 1)), None);
}

#[test]
fn a_kind_without_an_amount_is_refused_and_a_word_may_be_a_command() {
    let error = tried("bonnie").check(|_| true).unwrap_err();
    assert_eq!(error.kind(), crate::Kind::Usage);
    assert!(error.to_string().contains("write mail, seek, stream or a command"), "{error}");
    tried("sync").check(|word| word == "sync").unwrap();
    tried("echo x > {dir}/y").check(|_| false).unwrap();
    let error = tried("mial").check(|_| false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "'mial' is neither a kind of work nor a program; write mail, seek, stream or a command"
    );
}

#[test]
fn a_path_is_that_of_a_program_or_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("notes"), "").unwrap();
    let told = |work: &str| {
        let told = tried(work).check(|_| false).unwrap_err().to_string();
        let (problem, hint) = told.split_once("; ").unwrap();
        assert_eq!(hint, "write mail, seek, stream, a command or a recording");
        problem.replace(&*folder.path().to_string_lossy(), "DIR")
    };
    assert_eq!(told(&at("none.trace")), "there is no 'DIR/none.trace'");
    assert_eq!(told(&at("")), "the folder 'DIR/' holds no recording");
    assert_eq!(told(&at("notes")), "'DIR/notes' is neither a recording nor a program");
    tried("/bin/sync").check(|_| false).unwrap();
    tried("/none/sync {dir}/x").check(|_| false).unwrap();
}

#[test]
fn a_mistake_names_the_option_that_it_came_from() {
    let told = |tried: Tried| {
        let text = tried.lab_text("try", None);
        by_option(&text, &read_lab(&text, "try.toml").unwrap_err())
    };
    let work = || tried("true");
    let mistakes = [
        told(Tried { filesystems: vec!["etx4".to_owned()], ..work() }),
        told(Tried { schedulers: vec!["b f q".to_owned()], ..work() }),
        told(Tried { size: Bytes(512), ..work() }),
    ];
    let expected = [
        "--fs: unknown filesystem \"etx4\"; write \"ext4\"",
        "--sched: unknown scheduler \"b f q\"; write one of \"none\", \"mq-deadline\", \"kyber\", \
         \"bfq\", \"adios\"",
        "--size: the device takes a size from 1MiB to 1024TiB, not \"512B\"; write \"1MiB\" or more",
    ];
    assert_eq!(mistakes, expected);
}

/// A recording of one write below /srv, which was walked.
fn recording(folder: &Path) -> PathBuf {
    let at = folder.join("load.trace");
    let mut meta = Meta::new("test");
    meta.initial = vec![Tree { root: "/srv".to_owned(), complete: true }];
    let mut writer = TraceWriter::create(&at, &meta, Limits::default()).unwrap();
    writer.file(FileEntry {
        id: FileId(0),
        path: Some("/srv/log".to_owned()),
        device: None,
        inode: None,
        mode: Some(0o100_644),
        bytes: Some(0),
    });
    let event = |at_ns: u64, name: &str, result: i64| Event {
        duration_ns: Some(10),
        result: Some(result),
        file: Some(FileId(0)),
        fd: Some(3),
        flags: Some(0o102),
        ..Event::new(at_ns, 7, 7, CallId::named(name).unwrap())
    };
    writer.event(event(0, "openat", 3)).unwrap();
    let (offset, length) = (Some(0), Some(4096));
    writer.event(Event { offset, length, ..event(50, "pwrite64", 4096) }).unwrap();
    writer.finish(&meta).unwrap();
    at
}

#[test]
fn a_recording_becomes_a_lab_that_replays_what_was_walked() {
    let folder = tempfile::tempdir().unwrap();
    let trace = recording(folder.path());
    let found = tried(&trace.to_string_lossy()).found().unwrap();
    found.check(|_| false).unwrap();
    assert_eq!((found.brief(), found.step()), (None, "replay"));
    let text = found.lab_text("try", None);
    let workload = format!("kind = \"replay\"\ntrace = {:?}\nonly = \"/srv\"\n", found.work);
    assert!(text.contains(&workload), "{text}");
    assert_eq!(read_lab(&text, "try.toml").unwrap().judge.metric, "replay.elapsed_durable");
    // A program in a file, and a word that is no file, stay what they are.
    let program = folder.path().join("program");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    for work in [program.to_string_lossy().into_owned(), "mail".to_owned()] {
        assert_eq!(tried(&work).found().unwrap().trace, None);
    }
}
