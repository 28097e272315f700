use super::*;
use crate::calls::CallId;
use crate::event::{Event, FileEntry, FileId, InitialEntry, ProcessEntry};
use crate::info::Summary;
use crate::meta::Meta;
use crate::write::{Limits, TraceWriter};

/// A trace with two segments of calls.
fn made(folder: &Path) -> Trace {
    let meta = Meta::new("test");
    let limits = Limits { bytes: 1, rows: 2, ..Limits::default() };
    let mut writer = TraceWriter::create(folder, &meta, limits).unwrap();
    let path = Some("/srv/a".to_owned());
    let (device, inode, mode, bytes) = (Some(1), Some(2), Some(0o100_644), Some(4));
    writer.file(FileEntry { id: FileId(0), path, device, inode, mode, bytes });
    let name = Some("db".to_owned());
    writer.process(ProcessEntry { process: 7, parent: None, start_ns: 0, name });
    writer
        .initial(InitialEntry {
            path: "/srv/a".to_owned(),
            device: None,
            inode: None,
            mode: 0o100_644,
            owner: None,
            group: None,
            bytes: 4,
            allocated_bytes: 4096,
            content: None,
            birth_ms: None,
            target: None,
            attributes: Vec::new(),
            data: Vec::new(),
        })
        .unwrap();
    for nth in 0..4 {
        let event = Event::new(nth * 10, 7, 7, CallId::named("pread64").unwrap());
        let (file, duration_ns) = (Some(FileId(0)), Some(5));
        let offset = Some(nth * 4096);
        writer.event(Event { file, duration_ns, offset, result: Some(4096), ..event }).unwrap();
    }
    writer.finish(&Meta { duration_ns: Some(100), ..meta }).unwrap();
    Trace::open(folder).unwrap()
}

#[test]
fn a_packed_trace_reads_as_its_folder_does() {
    let folder = tempfile::tempdir().unwrap();
    let trace = made(&folder.path().join("t"));
    let file = folder.path().join("t.trace");
    let bytes = pack(&trace, &file).unwrap();
    assert_eq!(bytes, std::fs::metadata(&file).unwrap().len());
    let packed = Trace::open(&file).unwrap();
    assert_eq!(packed.bytes().unwrap(), bytes);
    assert_eq!(packed.meta(), trace.meta());
    assert_eq!(packed.files().unwrap(), trace.files().unwrap());
    assert_eq!(packed.processes().unwrap(), trace.processes().unwrap());
    let events = |trace: &Trace| {
        let mut all = Vec::new();
        trace
            .events(|event| {
                all.push(event);
                Ok(())
            })
            .unwrap();
        all
    };
    assert_eq!(events(&packed).len(), 4);
    assert_eq!(events(&packed), events(&trace));
    let json = |trace: &Trace| serde_json::to_string(&Summary::of(trace).unwrap()).unwrap();
    assert_eq!(json(&packed), json(&trace));
    // A pack of a pack is the same file.
    let again = folder.path().join("again");
    pack(&packed, &again).unwrap();
    assert_eq!(std::fs::read(again).unwrap(), std::fs::read(file).unwrap());
}

#[test]
fn only_its_owner_reads_a_pack_and_none_is_written_over() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let trace = made(&folder.path().join("t"));
    let file = folder.path().join("t.trace");
    std::fs::write(&file, "mine").unwrap();
    let error = pack(&trace, &file).unwrap_err().to_string();
    assert!(
        error.ends_with("exists and is not empty; choose another name or remove it"),
        "{error}"
    );
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    std::fs::remove_file(&file).unwrap();
    pack(&trace, &file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn archives_of_others_and_cut_ones_are_no_traces() {
    let folder = tempfile::tempdir().unwrap();
    let trace = made(&folder.path().join("t"));
    let file = folder.path().join("t.trace");
    pack(&trace, &file).unwrap();
    let whole = std::fs::read(&file).unwrap();
    let opened = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        Trace::open(&file)
    };
    assert!(opened(b"").is_err());
    assert!(opened(b"PAR1 and more").is_err());
    assert!(opened(&whole[..600]).is_err());
    let parts = trace.parts().unwrap();
    let mut named = std::collections::BTreeSet::new();
    for length in (1..whole.len()).step_by(97).chain([whole.len() - 1, whole.len() - 512]) {
        let error = opened(&whole[..length]).map(drop).unwrap_err();
        if let TraceError::CutShort { member, .. } = &error {
            named.insert(member.clone());
            let said = format!("the pack ends inside of {member}; copy it again");
            assert!(error.to_string().contains(&said), "{error}");
        }
    }
    for (name, _) in &parts {
        assert!(named.contains(name), "{name} is not in {named:?}");
    }
    assert!(opened(&whole).is_ok());
}
