use crate::event::{Event, FileEntry, FileId};
use crate::info::Summary;
use crate::meta::Meta;
use crate::read::Trace;
use crate::write::{Limits, TraceWriter};
use crate::{calls::CallId, info};

/// The fuzz target found a length of text beyond its page, and a column of negative size.
#[test]
fn no_wrong_byte_of_a_segment_is_more_than_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    for (id, path) in [(0, "/srv/a"), (1, "/srv/ab"), (2, "/tmp/c")] {
        let (device, inode, mode, bytes) = (None, Some(7), Some(0o100_644), None);
        writer.file(FileEntry {
            id: FileId(id),
            path: Some(path.to_owned()),
            device,
            inode,
            mode,
            bytes,
        });
        let call = CallId::named("write").unwrap();
        writer
            .event(Event { file: Some(FileId(id)), ..Event::new(id.into(), 1, 1, call) })
            .unwrap();
    }
    writer.finish(&meta).unwrap();
    let read = || Trace::open(folder.path()).and_then(|trace| Summary::of(&trace));
    assert!(info::text(&read().unwrap()).contains("/srv/ab"));
    let mut refused = 0;
    for table in ["files", "calls"] {
        let path = folder.path().join(format!("{table}-000000.parquet"));
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            for wrong in [whole[at] ^ 1, 0, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = wrong;
                std::fs::write(&path, bytes).unwrap();
                refused += u32::from(read().is_err());
            }
        }
        std::fs::write(&path, whole).unwrap();
    }
    assert!(refused > 1000, "{refused}");
    assert!(read().is_ok());
}
