use bytes::Bytes;
use parquet::file::metadata::ParquetMetaDataWriter;
use parquet::file::reader::{FileReader, SerializedFileReader};

use std::path::Path;

use crate::calls::CallId;
use crate::error::TraceError;
use crate::event::{Event, FileEntry, FileId};
use crate::meta::Meta;
use crate::read::Trace;
use crate::write::{Limits, TraceWriter};

/// The files and events of a trace.
fn everything(folder: &Path) -> Result<(Vec<FileEntry>, Vec<Event>), TraceError> {
    let trace = Trace::open(folder)?;
    let mut events = Vec::new();
    trace.events(|event| {
        events.push(event);
        Ok(())
    })?;
    Ok((trace.files()?, events))
}

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
    let read = || everything(folder.path());
    let (files, events) = read().unwrap();
    assert_eq!((files[1].path.as_deref(), events.len()), (Some("/srv/ab"), 3));
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

#[test]
fn a_footer_with_more_rows_than_any_group_is_refused_before_room_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder.path(), &meta, Limits::default()).unwrap();
    writer.event(Event::new(1, 1, 1, CallId::named("write").unwrap())).unwrap();
    writer.finish(&meta).unwrap();
    let path = folder.path().join("calls-000000.parquet");
    let whole = std::fs::read(&path).unwrap();
    let reader = SerializedFileReader::new(Bytes::from(whole.clone())).unwrap();
    let footer = u32::from_le_bytes(whole[whole.len() - 8..][..4].try_into().unwrap()) as usize;
    let with_rows = |rows: i64| {
        let groups = reader.metadata().row_groups().iter();
        let groups = groups.map(|group| group.clone().into_builder().set_num_rows(rows).build());
        let groups = groups.collect::<Result<Vec<_>, _>>().unwrap();
        let changed = reader.metadata().clone().into_builder().set_row_groups(groups).build();
        let mut bytes = whole[..whole.len() - 8 - footer].to_vec();
        ParquetMetaDataWriter::new(&mut bytes, &changed).finish().unwrap();
        std::fs::write(&path, bytes).unwrap();
        everything(folder.path())
    };
    assert_eq!(with_rows(1).unwrap().1.len(), 1);
    let error = with_rows(1 << 40).unwrap_err().to_string();
    assert!(
        error.contains("a group of 1099511627776 rows; traces have 16777216 at most"),
        "{error}"
    );
}
