use super::spectrum::{Collected, Urn, count_gap, gap};
use super::*;
use crate::calls::CallId;
use crate::event::{Event, FileEntry, FileId, InitialEntry, ProcessEntry};
use crate::info::Summary;
use crate::meta::{Meta, Tree};
use crate::read::Trace;
use crate::write::{Limits, TraceWriter};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus as Random;
use std::path::Path;

const SECRET: &str = "secret";

struct Recorder {
    writer: TraceWriter,
    now_ns: u64,
    thread: u32,
}

impl Recorder {
    fn call(&mut self, name: &str, file: u32, change: impl FnOnce(&mut Event)) {
        let call = CallId::named(name).unwrap();
        let mut event = Event {
            duration_ns: Some(2_000),
            file: Some(FileId(file)),
            result: Some(0),
            cpu_ns: Some(5_000),
            waited_ns: Some(3_000),
            ..Event::new(self.now_ns, self.thread, self.thread, call)
        };
        change(&mut event);
        self.now_ns += 10_000;
        self.writer.event(event).unwrap();
    }
}

fn file(id: u32, name: &str, mode: u32) -> FileEntry {
    FileEntry {
        id: FileId(id),
        path: Some(format!("/{SECRET}/{name}")),
        device: None,
        inode: None,
        mode: Some(mode),
        bytes: Some(20_000),
    }
}

/// Two threads: one reads files from before in 8 KiB and finds one name missing for each, one writes
/// new files in order, syncs them, and removes every second one.
fn recorded(folder: &Path) -> Summary {
    let meta = Meta {
        duration_ns: Some(10_000_000),
        initial: vec![Tree { root: format!("/{SECRET}"), complete: true }],
        ..Meta::new("test")
    };
    let writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    let mut recorder = Recorder { writer, now_ns: 0, thread: 7 };
    for (process, name) in [(7, "secretreader"), (8, "secretwriter")] {
        let name = Some(name.to_owned());
        recorder.writer.process(ProcessEntry { process, parent: None, start_ns: 0, name });
    }
    initial(&mut recorder.writer);
    for nth in 0..50 {
        recorder.writer.file(file(nth, &format!("secret{nth}"), 0o100_600));
        recorder.writer.file(FileEntry { mode: None, ..file(1000 + nth, &format!("m{nth}"), 0) });
        recorder.call("newfstatat", 1000 + nth, |event| event.result = Some(-2));
        recorder.call("openat", nth, |event| {
            (event.fd, event.flags, event.result) = (Some(3), Some(0), Some(3))
        });
        for (part, moved) in [8192, 8192, 3616, 0].into_iter().enumerate() {
            recorder.call("read", nth, |event| {
                (event.fd, event.length, event.result) = (Some(3), Some(8192), Some(moved));
                event.offset = Some((part as u64 * 8192).min(20_000));
            });
        }
        recorder.call("close", nth, |event| event.fd = Some(3));
    }
    (recorder.thread, recorder.now_ns) = (8, 5_000_000);
    for nth in 100..150 {
        recorder.writer.file(file(nth, &format!("secret{nth}"), 0o100_600));
        recorder.call("openat", nth, |event| {
            (event.fd, event.flags, event.result) = (Some(4), Some(0o101), Some(4));
        });
        for part in 0..4 {
            recorder.call("pwrite64", nth, |event| {
                (event.fd, event.length, event.result) = (Some(4), Some(4096), Some(4096));
                event.offset = Some(part * 4096);
            });
        }
        recorder.call("fsync", nth, |event| event.fd = Some(4));
        recorder.call("close", nth, |event| event.fd = Some(4));
        if nth % 2 == 0 {
            recorder.call("unlink", nth, |_| ());
        }
    }
    recorder.writer.finish(&meta).unwrap();
    Summary::of(&Trace::open(folder).unwrap()).unwrap()
}

/// An untar: a few small files are read and mapped, then an archive in pieces of 10 KiB, each of which
/// becomes a new file. Of the archive it reads a second piece for each tenth.
fn untar(folder: &Path) -> Summary {
    let meta = Meta { duration_ns: Some(100_000_000), ..Meta::new("test") };
    let writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    let mut recorder = Recorder { writer, now_ns: 0, thread: 7 };
    let open = |flags: u64, fd: i32| {
        move |event: &mut Event| {
            (event.fd, event.flags, event.result) = (Some(fd), Some(flags), Some(fd.into()));
        }
    };
    let moves = |fd: i32, offset: u64, length: u64| {
        move |event: &mut Event| {
            (event.fd, event.offset, event.length) = (Some(fd), Some(offset), Some(length));
            event.result = Some(length.cast_signed());
        }
    };
    for nth in 0..8 {
        recorder.writer.file(file(nth, &format!("library{nth}"), 0o100_644));
        recorder.call("openat", nth, open(0, 3));
        recorder.call("read", nth, moves(3, 0, 832));
        recorder.call("fstat", nth, |event| event.fd = Some(3));
        recorder.call("mmap", nth, |event| (event.fd, event.length) = (Some(3), Some(8192)));
        recorder.call("close", nth, |event| event.fd = Some(3));
    }
    recorder.writer.file(file(10, "archive", 0o100_644));
    recorder.call("openat", 10, open(0, 3));
    recorder.call("fstat", 10, |event| event.fd = Some(3));
    let mut at = 0;
    for nth in 0..2000 {
        recorder.writer.file(file(100 + nth, &format!("new{nth}"), 0o100_644));
        for _ in 0..=u32::from(nth % 10 == 0) {
            recorder.call("read", 10, moves(3, at, 10_240));
            at += 10_240;
        }
        recorder.call("openat", 100 + nth, open(0o301, 4));
        recorder.call("write", 100 + nth, moves(4, 0, 10_240));
        recorder.call("close", 100 + nth, |event| event.fd = Some(4));
    }
    recorder.call("close", 10, |event| event.fd = Some(3));
    recorder.writer.finish(&meta).unwrap();
    Summary::of(&Trace::open(folder).unwrap()).unwrap()
}

#[test]
fn a_made_untar_reads_as_much_as_the_recorded_one() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = untar(&folder.path().join("recorded"));
    let described = describe(&Trace::open(&folder.path().join("recorded")).unwrap()).unwrap();
    // Three calls on each of the small files and 2,201 on the archive.
    let opens = described.programs[0].states.iter().find(|state| state.uses.counts() == [8, 1]);
    assert_eq!(
        serde_json::to_string(&opens.unwrap().uses).unwrap(),
        "[[3,3,3,8],[2201,2201,2201,1]]"
    );
    for seed in 1..17 {
        let output = folder.path().join(format!("made{seed}"));
        generate(&described, &output, seed).unwrap();
        let made = Summary::of(&Trace::open(&output).unwrap()).unwrap();
        assert_eq!(made.calls, recorded.calls);
        for (made, recorded) in [(&made.reads, &recorded.reads), (&made.writes, &recorded.writes)] {
            // Nine of the calls stand at other places of the chain.
            let far = made.bytes.abs_diff(recorded.bytes) as f64 / recorded.bytes as f64;
            assert!(far < 0.02, "seed {seed}: {} and {} bytes", made.bytes, recorded.bytes);
        }
    }
}

fn initial(writer: &mut TraceWriter) {
    for nth in 0..51_u32 {
        let is_root = nth == 50;
        let path = if is_root { format!("/{SECRET}") } else { format!("/{SECRET}/secret{nth}") };
        writer
            .initial(InitialEntry {
                path,
                device: None,
                inode: Some(nth.into()),
                mode: if is_root { 0o040_755 } else { 0o100_600 },
                owner: None,
                group: None,
                bytes: 20_000,
                allocated_bytes: 20_480,
                content: None,
                birth_ms: None,
                target: None,
                attributes: Vec::new(),
                data: Vec::new(),
            })
            .unwrap();
    }
}

fn made(described: &Description, folder: &Path) -> Summary {
    generate(described, folder, 1).unwrap();
    Summary::of(&Trace::open(folder).unwrap()).unwrap()
}

#[test]
fn a_made_load_has_the_statistics_of_the_recorded_one_and_none_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = recorded(&folder.path().join("recorded"));
    let described = describe(&Trace::open(&folder.path().join("recorded")).unwrap()).unwrap();
    let text = serde_json::to_string(&described).unwrap();
    assert!(!text.contains(SECRET), "{text}");
    let read: Description = serde_json::from_str(&text).unwrap();
    assert_eq!(read, described);
    let made = made(&described, &folder.path().join("made"));
    assert_eq!((made.calls, made.threads, made.processes), (725, 2, 2));
    let figures = distance(&recorded, &made);
    // The median read is the larger or the smaller of two equal halves.
    let far = |figure: &&Figure| {
        !figure.name.starts_with("size of reads, p50")
            && figure.distance.is_none_or(|far| far > 0.15)
    };
    let far: Vec<_> = figures.iter().filter(far).collect();
    assert!(far.is_empty(), "{far:#?}");
    let trace = Trace::open(&folder.path().join("made")).unwrap();
    let files = trace.files().unwrap();
    assert!(files.iter().all(|file| file.path.as_ref().unwrap().starts_with("/load/")));
    let names = trace.processes().unwrap();
    assert_eq!(names[0].name.as_deref(), Some("program1"));
}

#[test]
fn the_same_seed_makes_the_same_load_and_another_one_does_not() {
    let folder = tempfile::tempdir().unwrap();
    recorded(&folder.path().join("recorded"));
    let described = describe(&Trace::open(&folder.path().join("recorded")).unwrap()).unwrap();
    let events = |name: &str, seed: u64| {
        let output = folder.path().join(name);
        generate(&described, &output, seed).unwrap();
        let mut events = Vec::new();
        let each = |event: Event| {
            events.push(event);
            Ok(())
        };
        Trace::open(&output).unwrap().events(each).unwrap();
        events
    };
    let one = events("one", 1);
    assert_eq!(one, events("same", 1));
    assert_ne!(one, events("other", 2));
}

#[test]
fn reads_get_what_is_there_and_removed_files_are_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    recorded(&folder.path().join("recorded"));
    let described = describe(&Trace::open(&folder.path().join("recorded")).unwrap()).unwrap();
    let output = folder.path().join("made");
    generate(&described, &output, 3).unwrap();
    let trace = Trace::open(&output).unwrap();
    let mut sizes = std::collections::HashMap::new();
    let files = trace.files().unwrap();
    let id = |path: &str| files.iter().find(|file| file.path.as_deref() == Some(path));
    trace
        .initial(|entry| {
            if let Some(file) = id(&entry.path) {
                sizes.insert(file.id, entry.bytes);
            }
            Ok(())
        })
        .unwrap();
    let mut removed = std::collections::HashSet::new();
    let each = |event: Event| {
        let file = event.file.unwrap();
        let moved = event.moved_bytes().unwrap_or(0);
        match event.call.call().name {
            "openat" => assert!(!removed.contains(&file)),
            "unlink" => assert!(removed.insert(file)),
            "read" => {
                let left = sizes[&file].saturating_sub(event.offset.unwrap());
                assert_eq!(moved, left.min(event.length.unwrap()), "{event:?}");
            }
            _ => {}
        }
        Ok(())
    };
    trace.events(each).unwrap();
    assert!(!removed.is_empty());
}

#[test]
fn a_newer_description_and_other_text_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.json");
    std::fs::write(&path, r#"{"load":"2.0","duration_ns":1,"programs":[],"tree":{"files":0,"directories":0,"depths":[],"sizes":[],"same_directory":0,"other_directory":0}}"#).unwrap();
    let error = Description::read(&path).unwrap_err().to_string();
    assert!(error.contains("has trace format 2.0, this program reads up to 1.2"), "{error}");
    std::fs::write(&path, "{}").unwrap();
    assert!(Description::read(&path).is_err());
}

#[test]
fn an_unknown_call_of_a_description_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    recorded(&folder.path().join("recorded"));
    let mut described = describe(&Trace::open(&folder.path().join("recorded")).unwrap()).unwrap();
    described.programs[0].states.iter_mut().for_each(|state| state.call = "frobnicate".to_owned());
    let output = folder.path().join("made");
    let error = generate(&described, &output, 1).unwrap_err().to_string();
    assert!(error.contains("does not know the call frobnicate"), "{error}");
    assert!(!output.exists());
}

#[test]
fn distributions_are_kept_in_32_parts_and_single_values_exactly() {
    let mut random = Random::seed_from_u64(1);
    let mut one = Collected::default();
    (0..9).for_each(|_| one.add(4096));
    assert_eq!(one.spectrum().draw(&mut random), Some(4096));
    let mut many = Collected::default();
    (0..100_000_u64).for_each(|value| many.add(value * value));
    let spectrum = many.spectrum();
    let text = serde_json::to_string(&spectrum).unwrap();
    assert_eq!(text.matches("],[").count(), 31);
    let below: Vec<u64> = (0..1000).filter_map(|_| spectrum.draw(&mut random)).collect();
    let half = below.iter().filter(|value| **value < 50_000 * 50_000).count();
    assert!((400..600).contains(&half), "{half}");
    let mut gaps = Vec::new();
    count_gap(&mut gaps, 5);
    assert_eq!(gaps, [0, 0, 1]);
    assert!((4..8).contains(&gap(&mut random, 2)));
    let mut urn = Urn::new(vec![1, 0, 3]);
    let mut drawn: Vec<_> = (0..8).map(|_| urn.draw(&mut random).unwrap()).collect();
    drawn[..4].sort_unstable();
    drawn[4..].sort_unstable();
    assert_eq!(drawn, [0, 2, 2, 2, 0, 2, 2, 2]);
    assert_eq!(Urn::default().draw(&mut random), None);
}
