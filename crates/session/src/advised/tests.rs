use super::*;
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::{Meta, Tree};
use seekwell_trace::{Event, FileEntry, FileId, Limits, TraceWriter};
use std::path::Path;

/// A thread that writes and syncs a file ten times; each call takes this long, each pause that long, of
/// which it computes and sleeps as long as `own` says.
fn write_trace(folder: &Path, call_ns: u64, pause_ns: u64, own: Option<(u64, u64)>) {
    let mut meta = Meta::new("test");
    meta.initial = vec![Tree { root: "/srv".to_owned(), complete: true }];
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    writer.file(FileEntry {
        id: FileId(0),
        path: Some("/srv/log".to_owned()),
        device: None,
        inode: None,
        mode: Some(0o100_644),
        bytes: Some(0),
    });
    let mut now_ns = 0;
    let mut call = |name: &str, result: i64, length: Option<u64>| {
        let event = Event::new(now_ns, 7, 7, CallId::named(name).unwrap());
        now_ns += call_ns + pause_ns;
        let (duration_ns, result) = (Some(call_ns), Some(result));
        let (file, fd, offset) = (Some(FileId(0)), Some(3), length.map(|_| 0));
        let (cpu_ns, waited_ns) = (own.map(|(cpu_ns, _)| cpu_ns), own.map(|(_, waited)| waited));
        let event = Event { cpu_ns, waited_ns, ..event };
        Event { duration_ns, result, file, fd, offset, length, flags: Some(0o102), ..event }
    };
    writer.event(call("openat", 3, None)).unwrap();
    for _ in 0..10 {
        writer.event(call("pwrite64", 4096, Some(4096))).unwrap();
        writer.event(call("fsync", 0, None)).unwrap();
    }
    meta.duration_ns = Some(now_ns);
    writer.finish(&meta).unwrap();
}

fn advise(call_ns: u64, pause_ns: u64, time: Option<Nanos>) -> Advice {
    advise_with(call_ns, pause_ns, None, time)
}

fn advise_with(
    call_ns: u64,
    pause_ns: u64,
    own: Option<(u64, u64)>,
    time: Option<Nanos>,
) -> Advice {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    write_trace(&trace, call_ns, pause_ns, own);
    let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    let advised = Advised {
        trace: trace.clone(),
        only: None,
        filesystems: names(["ext4", "xfs"]),
        has_variants: true,
        is_virtual: false,
        schedulers: names(["none", "mq-deadline"]),
        time,
    };
    let mut advice = advised.advise().unwrap();
    let place = trace.to_string_lossy().into_owned();
    advice.lab = advice.lab.map(|lab| lab.replace(&place, "/TRACE"));
    advice
}

#[test]
fn a_load_that_syncs_gets_a_lab() {
    let advice = advise(10_000_000, 1_000_000, Some(Nanos(300_000_000_000)));
    assert_eq!(
        advice.sentences.join("\n"),
        include_str!("../../../../testdata/advise/syncs.txt").trim_end()
    );
    let lab = advice.lab.unwrap();
    assert_eq!(lab, include_str!("../../../../testdata/advise/syncs.toml"));
    assert!(advise(10_000_000, 1_000_000, None).lab.unwrap().ends_with("rounds = 10\n"));
}

#[test]
fn a_load_that_computes_is_told_that_nothing_helps() {
    let advice = advise(1_000_000, 99_000_000, None);
    assert_eq!(advice.lab, None);
    assert_eq!(
        advice.sentences.join("\n"),
        include_str!("../../../../testdata/advise/computes.txt").trim_end()
    );
}

/// A question without stacks.
fn about(trace: &Path) -> Advised {
    Advised {
        trace: trace.to_owned(),
        only: None,
        filesystems: Vec::new(),
        has_variants: true,
        is_virtual: false,
        schedulers: Vec::new(),
        time: None,
    }
}

#[test]
fn a_load_on_a_raw_device_is_sent_to_its_requests() {
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta { duration_ns: Some(1_000_000), ..Meta::new("test") };
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    let path = Some("/dev/sdb".to_owned());
    let (id, mode) = (FileId(0), Some(0o060_660));
    writer.file(FileEntry { id, path, device: None, inode: None, mode, bytes: None });
    let event = Event::new(0, 7, 7, CallId::named("pwrite64").unwrap());
    let (duration_ns, file, result) = (Some(900_000), Some(id), Some(4096));
    let (fd, offset, length) = (Some(3), Some(0), Some(4096));
    writer.event(Event { duration_ns, file, result, fd, offset, length, ..event }).unwrap();
    writer.finish(&meta).unwrap();
    let advice = about(folder.path()).advise().unwrap();
    assert_eq!((advice.lab, advice.stacks), (None, 0));
    assert_eq!(advice.sentences.len(), 4);
    assert!(advice.sentences[3].contains("kind = \"requests\" on a stack of type = \"raw\""));
}

#[test]
fn a_folder_without_a_trace_is_named() {
    let advised = about(Path::new("/nowhere"));
    assert_eq!(
        advised.advise().unwrap_err().to_string(),
        "/nowhere is not a trace: trace.json not found; give the folder that capture or import wrote"
    );
}

#[test]
fn recorded_computing_and_sleeping_is_told_apart() {
    let told =
        |call_ns, own| advise_with(call_ns, 99_000_000, Some(own), None).sentences[0].clone();
    assert_eq!(
        told(1_000_000, (90_000_000, 9_000_000)),
        "Nothing you change below the program will help: its threads compute 90 % of their time."
    );
    assert_eq!(
        told(100_000, (9_000_000, 90_000_000)),
        "Nothing you change below the program will help: its threads sleep or wait for pipes, sockets, \
         terminals and locks 91 % of their time."
    );
    assert_eq!(
        told(1_000_000, (39_000_000, 0)),
        "Nothing you change below the program will help: its threads compute 41 % of their time and wait 58 % for \
         a CPU."
    );
    // A service that sleeps is in calls on files while it works.
    assert!(told(1_000_000, (9_000_000, 90_000_000)).starts_with("It spends 10 % of "));
    let helped = advise_with(1_000_000, 1_000_000, Some((750_000, 250_000)), None);
    assert_eq!(
        helped.sentences[3],
        "Between calls its threads compute 38 % of their time and sleep 12 %: no stack changes that part."
    );
    assert!(helped.lab.is_some());
}

#[test]
fn stacks_are_left_out_until_six_rounds_fit_the_time() {
    // Six replays of 2.1 s and what is around them take 24.8 s for each stack, a quarter of it for the check.
    let advised = |time: Option<u64>| {
        let time = time.map(|seconds| Nanos(seconds * 1_000_000_000));
        advise(95_000_000, 5_000_000, time)
    };
    let of = |advice: &Advice| {
        let is_about_left_out = |one: &&String| one.starts_with("Left out ");
        let left_out = advice.sentences.iter().find(is_about_left_out).cloned();
        (advice.stacks, left_out.unwrap_or_default())
    };
    assert_eq!(of(&advised(None)), (6, String::new()));
    assert_eq!(of(&advised(Some(600))), (6, String::new()));
    let tight = advised(Some(100));
    assert_eq!(
        of(&tight),
        (4, "Left out to fit 6 rounds into 100s: ext4-data-journal.".to_owned())
    );
    assert_eq!(tight.too_short(Nanos(100_000_000_000)), None);
    let lab = tight.lab.unwrap();
    assert!(!lab.contains("data=journal") && lab.contains("mq-deadline"), "{lab}");
    let tighter = "Left out to fit 6 rounds into 1min: ext4-data-journal, scheduler mq-deadline.";
    assert_eq!(of(&advised(Some(60))), (2, tighter.to_owned()));
    // Not even two fit: no other time is asked for.
    let short = advised(Some(30));
    assert_eq!(short.stacks, 2);
    assert_eq!(
        short.too_short(Nanos(30_000_000_000)).as_deref(),
        Some(
            "30.0 s is too short for this load: where storage is no faster than the recorded one, 6 rounds on 2 stacks \
             take some 33.5 s. Replay a shorter part of it (seekwell trace filter)."
        )
    );
}

#[test]
fn a_lab_has_at_most_twelve_stacks() {
    let names = ["ext4", "xfs", "btrfs"];
    let schedulers = ["none", "mq-deadline"].map(str::to_owned);
    let of = |most: usize| {
        let variants = [
            ("ext4", Some(DATA_JOURNAL)),
            ("ext4", Some(NO_ACCESS_TIMES)),
            ("xfs", Some(NO_ACCESS_TIMES)),
            ("btrfs", Some(NO_ACCESS_TIMES)),
        ];
        let all = names.map(|kind| (kind, None)).into_iter().chain(variants);
        let mut filesystems: Vec<_> =
            all.map(|(kind, variant)| Drafted { kind, variant }).collect();
        let mut schedulers = &schedulers[..];
        let gone = cut(&mut filesystems, &mut schedulers, most);
        (filesystems.len(), schedulers.len(), gone.join(" "))
    };
    assert_eq!(of(FINAL_AT_ONCE), (6, 2, "btrfs-noatime".to_owned()));
    let variants = "btrfs-noatime xfs-noatime ext4-noatime ext4-data-journal";
    assert_eq!(of(6), (3, 2, variants.to_owned()));
    assert_eq!(of(2), (2, 1, format!("{variants} scheduler mq-deadline btrfs")));
}

/// The trace of another user names a file outside of it, which this process may read: what parses traces may not.
#[test]
fn advice_is_read_without_the_right_to_read_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let [trace, outside] = ["trace", "outside"].map(|name| folder.path().join(name));
    write_trace(&trace, 1_000_000, 0, None);
    let segment = trace.join("calls-000000.parquet");
    std::fs::rename(&segment, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &segment).unwrap();
    let reach = Reach::default();
    if read_confined(&reach, || std::fs::read("/etc/passwd").is_ok()) {
        return seekwell_testing::skip("advice_is_read", "needs a kernel with Landlock");
    }
    let schedulers = vec!["none".to_owned()];
    let advised = Advised {
        trace: trace.clone(),
        only: None,
        filesystems: vec!["ext4".to_owned()],
        has_variants: false,
        is_virtual: false,
        schedulers,
        time: None,
    };
    assert!(matches!(advised.advise(), Err(SessionError::Advice(_))));
    let tried = crate::traces::check(&lab_of(&trace));
    assert!(matches!(tried, Err(SessionError::Trace { .. })), "{tried:?}");
}

/// A lab that replays a trace.
fn lab_of(trace: &Path) -> seekwell_model::lab::Lab {
    let text = format!(
        "[lab]\nname = \"t\"\n[[filesystem]]\ntype = \"ext4\"\n[[workload]]\nkind = \"replay\"\ntrace = {:?}\n",
        trace.display().to_string()
    );
    seekwell_spec::read_lab_bytes(text.as_bytes(), "lab.toml").unwrap().lab
}
