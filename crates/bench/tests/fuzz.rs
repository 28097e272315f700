//! Every parser of foreign bytes on a corpus and seeded mutations of it: none panics, none is stuck.
//!
//! `make fuzz` gives each parser ten minutes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use seekwell_model::workloads::fio;
use seekwell_observe::counters::DeviceCounters;
use seekwell_observe::machine::{MemoryState, PressureTotals};
use seekwell_recordings::caused::{self, Wanted};
use seekwell_recordings::import::{self, Imported};
use seekwell_recordings::info::{Summary, text};
use seekwell_replicate::formula::parse as parse_formula;
use seekwell_report::extract;
use seekwell_spec::read_lab_bytes;
use seekwell_store::RunFile;
use seekwell_testing::fuzz::{fuzz, mutated};
use seekwell_trace::calls::CallId;
use seekwell_trace::{Trace, TraceError};
use seekwell_virtual::memory::{GuestMemory, OutOfRange};
use seekwell_virtual::ring::{LONGEST_CHAIN, Ring, RingLayout};
use seekwell_virtual::vhost;
use seekwell_workload::rrd::format::{Archive, Consolidation, Definition, Source, SourceKind};
use std::path::{Path, PathBuf};

/// The folder of the workspace.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Contents of the files of a folder and its folders with this ending.
fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let mut folders = vec![workspace().join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(std::fs::read(path).unwrap());
            }
        }
    }
    assert!(!found.is_empty(), "no file {ending}");
    found
}

fn slices(corpus: &[Vec<u8>]) -> Vec<&[u8]> {
    corpus.iter().map(Vec::as_slice).collect()
}

#[test]
fn labs() {
    let corpus = [files("labs", ".toml"), files("testdata/labs", ".toml")].concat();
    fuzz("lab", &slices(&corpus), 2_000, |bytes| {
        if let Err(mistake) = read_lab_bytes(bytes, "lab.toml") {
            assert!(!mistake.message.is_empty() && !mistake.remedy.is_empty());
        }
    });
}

#[test]
fn devices() {
    let corpus = files("devices", ".toml");
    fuzz("device", &slices(&corpus), 1_000, |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            let _ = seekwell_device::load(text);
        }
    });
}

const JOB: &[u8] =
    b"; mail\n[global]\nioengine=libaio\ndirect=1\nsize=1g\nrw=randrw\nrwmixread=70\n\
bssplit=4k/60:64k/40\nprioclass=1\n[a]\nstonewall\nnumjobs=4\nrate=1m,2m\n[b]\nrw=write\nfsync=1\n";

#[test]
fn fio_jobs() {
    fuzz("fio job", &[JOB], 5_000, |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            let _ = fio::parse(text);
        }
    });
}

#[test]
fn run_files() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("a.seekwell"), folder.path().join("b.seekwell"));
    let run = "benches/runs/replicate/000-seek@cf-duracell-300x.flash.open_units=1.seekwell";
    let today = std::fs::read(workspace().join(run)).unwrap();
    let mut number = 0;
    fuzz("run file", &[&today], 200, |bytes| {
        std::fs::write(&path, bytes).unwrap();
        if let Ok(file) = RunFile::open(&path) {
            let _ = (file.plan(), file.environment(), file.verdict(), file.verify());
            let _ = file.records();
        }
        number += 1;
        if number % 16 == 0 {
            let _ = std::fs::remove_file(&target);
            let _ = RunFile::repair(&path, &target);
        }
    });
}

#[test]
fn pages() {
    let page = format!(
        "<p>A run</p>\n<script type=\"application/x-seekwell-run-letters\" id=\"run\">{}</script>\n",
        r#">Ch!!!!!!!8%!hny|Gy@sVr|Vt@bW$yGG:Oy2]=y/!d?KP9L[ElF7G1;nYNA']VT;ZqRgGk09Q=R+cY4!!!!"#
    );
    assert!(extract(&page).unwrap().starts_with(b"SQLite format 3\0"));
    fuzz("page", &[page.as_bytes()], 3_000, |bytes| {
        let _ = extract(&String::from_utf8_lossy(bytes));
    });
}

#[test]
fn round_robin_files() {
    let source = Source {
        name: "load".to_owned(),
        kind: SourceKind::Gauge,
        heartbeat_s: 600,
        min: 0.0,
        max: f64::NAN,
    };
    let archive = Archive { function: Consolidation::Average, rows: 10, steps: 1, unknown: 0.5 };
    let sources = vec![source.clone(), Source { kind: SourceKind::Counter, ..source }];
    let definition = Definition { step_s: 300, sources, archives: vec![archive] };
    let file = definition.new_file(1_700_000_000);
    fuzz("RRD", &[&file], 10_000, |bytes| {
        let read = Definition::read(bytes, bytes.len() as u64);
        assert!(read.is_err() || bytes.starts_with(b"RRD\0"));
    });
}

/// Import of a file into a folder.
type Import = fn(&Path, &Path) -> Result<Imported, TraceError>;

/// Imports each input; an import that succeeds has to be a trace with as many events as it says.
fn fuzz_import(name: &str, corpus: &[&[u8]], few: u64, import: Import) {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("input"), folder.path().join("trace"));
    fuzz(name, corpus, few, |bytes| {
        std::fs::write(&input, bytes).unwrap();
        let _ = std::fs::remove_dir_all(&output);
        let Ok(imported) = import(&input, &output) else { return };
        let trace = Trace::open(&output).unwrap();
        let mut events = 0;
        trace
            .events(|_| {
                events += 1;
                Ok(())
            })
            .unwrap();
        trace
            .requests(|_| {
                events += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(events, imported.events);
        let summary = Summary::of(&trace).unwrap();
        assert!(summary.sentences().iter().all(|sentence| !sentence.is_empty()));
        told(&trace);
    });
}

/// What the commands say of a trace, or why they cannot.
fn told(trace: &Trace) {
    let _ = Summary::of(trace).map(|summary| text(&summary));
    let calls = ["write", "fsync"].map(|name| CallId::named(name).unwrap()).to_vec();
    let wanted = Wanted { calls, longest: 5, ..Wanted::default() };
    let _ = caused::caused(trace, &wanted).map(|found| caused::text(&found));
}

#[test]
fn records_of_strace() {
    let log = b"7 1690000000.000001 openat(AT_FDCWD</srv>, \"a\", O_RDWR|O_CREAT, 0666) = 3</srv/a> <0.000050>\n\
        7 1690000000.000100 write(3</srv/a>, \"x\\n\"..., 4096) = 4096 <0.000011>\n\
        7 1690000000.000200 fsync(3</srv/a> <unfinished ...>\n\
        8 1690000000.000250 clone3({flags=CLONE_VM|CLONE_THREAD, stack=0x7f}, 88) = 9\n\
        7 1690000000.000900 <... fsync resumed>) = -1 EIO (Input/output error) <0.000700>\n\
        7 1690000000.001000 close(3) = 0 <0.000004>\n7 1690000000.002000 +++ exited with 0 +++\n";
    fuzz_import("strace", &[log], 300, import::strace);
}

#[test]
fn records_of_blktrace() {
    let mut binary = Vec::new();
    for (time, action, sector, bytes) in
        [(1_u64, 1_u32 << 26, 0_u64, 0_u32), (5, 2 << 16 | 7, 64, 4096), (9, 2 << 16 | 8, 64, 4096)]
    {
        binary.extend([0x07, 0x74, 0x61, 0x65, 1, 0, 0, 0]);
        binary.extend(time.to_le_bytes());
        binary.extend(sector.to_le_bytes());
        for word in [bytes, action, 77, 8 << 20, 0_u32] {
            binary.extend(word.to_le_bytes());
        }
        binary.extend([0, 0, 3, 0, b'd', b'd', 0]);
    }
    fuzz_import("blktrace", &[&binary], 300, import::blktrace);
    let text = b"  8,16   1        1     5.000000000  1234  Q  WS 2048 + 8 [sqlite]\n\
        8,16   1        3     5.000002000  1234  D  FWFSM 2048 + 8 [sqlite]\n\
        8,16   1        4     5.000052000     0  C  FWFSM 2048 + 8 [0]\n\
        8,16   1        5     5.000060000  1234  D  FN [sqlite]\n259,3   31 19   5.1 9 Q R 8 + 8 [a]\n\
        CPU0 (sdb):\n Reads Queued: 1\n\
        You have 37 ( 0.1%) dropped events\n";
    fuzz_import("blkparse", &[text], 300, import::blkparse);
}

/// One file of the folder is mutated at a time: the description, or a segment.
#[test]
fn folders_of_traces() {
    let folder = tempfile::tempdir().unwrap();
    let (strace, trace) = (folder.path().join("a.strace"), folder.path().join("a.trace"));
    let log = b"7 1690000000.000001 openat(AT_FDCWD</srv>, \"a\", O_RDWR|O_CREAT, 0666) = 3</srv/a> <0.000050>\n\
        7 1690000000.000100 write(3</srv/a>, \"x\\n\"..., 4096) = 4096 <0.000011>\n";
    std::fs::write(&strace, log).unwrap();
    import::strace(&strace, &trace).unwrap();
    let entries = std::fs::read_dir(&trace).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 3, "{paths:?}");
    let whole: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let mut turn = 0;
    fuzz("trace folder", &slices(&whole), 300, |bytes| {
        let place = turn % paths.len();
        turn += 1;
        std::fs::write(&paths[place], bytes).unwrap();
        if let Ok(trace) = Trace::open(&trace) {
            told(&trace);
        }
        std::fs::write(&paths[place], &whole[place]).unwrap();
    });
}

#[test]
fn counters_of_the_kernel() {
    let stat = b"  1234  5  678901 234  5678 90 1234567 890  1 2345 6789 0 0 0 0 12 34\n";
    let memory = b"MemTotal: 16384 kB\nDirty: 12 kB\ncpu  1 2 3 4 5 6 7 8 9 10\n";
    fuzz("diskstats", &[stat, memory], 20_000, |bytes| {
        let _ = DeviceCounters::parse(bytes);
        let _ = MemoryState::parse(bytes);
        let _ = PressureTotals::parse_total(bytes);
    });
}

/// Memory of a guest from address 0.
struct Memory(Vec<u8>);

impl GuestMemory for Memory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), OutOfRange> {
        let wrong = OutOfRange::new(address, into.len());
        let from = usize::try_from(address).map_err(|_| wrong)?;
        let end = from.checked_add(into.len()).ok_or(wrong)?;
        into.copy_from_slice(self.0.get(from..end).ok_or(wrong)?);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), OutOfRange> {
        let wrong = OutOfRange::new(address, from.len());
        let begin = usize::try_from(address).map_err(|_| wrong)?;
        let end = begin.checked_add(from.len()).ok_or(wrong)?;
        self.0.get_mut(begin..end).ok_or(wrong)?.copy_from_slice(from);
        Ok(())
    }
}

#[test]
fn rings_of_a_guest() {
    // Eight descriptors that form two chains, then the ring that names both.
    let mut memory = vec![0_u8; 0x400];
    for index in 0..8_u64 {
        let at = index as usize * 16;
        memory[at..at + 8].copy_from_slice(&(0x200 + index * 16).to_le_bytes());
        memory[at + 8..at + 12].copy_from_slice(&16_u32.to_le_bytes());
        let flags = u16::from(index % 4 != 3) | if index % 4 > 1 { 2 } else { 0 };
        memory[at + 12..at + 14].copy_from_slice(&flags.to_le_bytes());
        memory[at + 14..at + 16].copy_from_slice(&(index as u16 + 1).to_le_bytes());
    }
    memory[0x102] = 2;
    memory[0x106] = 4;
    let layout = RingLayout { size: 8, descriptors: 0, available: 0x100, used: 0x180 };
    fuzz("ring", &[&memory], 5_000, |bytes| {
        let mut memory = Memory(bytes.to_vec());
        let mut ring = Ring::new(layout, 0).unwrap();
        let mut segments = Vec::new();
        for _ in 0..100 {
            let Ok(Some(head)) = ring.next_head(&memory) else { break };
            let _ = ring.chain(&memory, head, &mut segments);
            assert!(segments.len() <= LONGEST_CHAIN);
            if ring.push_used(&mut memory, head, 0).is_err() {
                break;
            }
        }
    });
}

#[test]
fn messages_of_a_guest() {
    let message: Vec<u8> = [9_u32, 1, 40].iter().flat_map(|word| word.to_le_bytes()).collect();
    let message = [message, vec![0; 40]].concat();
    fuzz("vhost", &[&message], 20_000, |bytes| {
        let Some((head, payload)) = bytes.split_first_chunk() else { return };
        let header = vhost::Header::decode(head);
        if vhost::check(&header).is_ok() {
            let _ = vhost::parse(&header, payload);
        }
    });
}

#[test]
fn claims_and_formulas() {
    let claims = files("labs/replicate", "claims.toml");
    fuzz("claims", &slices(&claims), 300, |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            let _ = seekwell_replicate::claims::read("claims.toml", text);
        }
    });
    let formula = b"median(a.b) / (max(c, 1e3) - 2) * -x ^ 2 >= 1.5 and not (y < 3)";
    fuzz("formula", &[formula], 10_000, |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            let _ = parse_formula(text);
        }
    });
}

#[test]
fn nesting_ends_in_an_error() {
    for (open, close) in [("[", "]"), ("{a=", "}"), ("(", ")"), ("-", ""), ("not ", "")] {
        let deep = open.repeat(100_000) + "1" + &close.repeat(100_000);
        assert!(read_lab_bytes(format!("a = {deep}").as_bytes(), "lab.toml").is_err());
        assert!(seekwell_device::load(&format!("a = {deep}")).is_err());
        assert!(parse_formula(&deep).is_err(), "{open}");
    }
    assert!(!mutated(&[b"a"], 1).is_empty() || !mutated(&[b"a"], 2).is_empty());
}
