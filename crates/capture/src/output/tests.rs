use super::*;
use crate::Target;
use seekwell_trace::calls::CallId;
use seekwell_trace::{Event, FileEntry, FileId};

/// Size of a finished trace whose writer had counted `most` bytes.
fn bytes_at_the_end(most: u64, limits: Limits) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let (path, meta) = (folder.path().join("trace"), Meta::new("test"));
    let mut writer = TraceWriter::create(&path, &meta, limits).unwrap();
    let write = CallId::named("pwrite64").unwrap();
    let mut nth = 0_u64;
    while writer.bytes() < most {
        nth += 1;
        // Numbers that do not compress.
        let number = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if nth.is_multiple_of(8) {
            let id = FileId(u32::try_from(nth / 8).unwrap());
            let path = Some(format!("/{number:x}"));
            let file = FileEntry { id, path, device: None, inode: None, mode: None, bytes: None };
            writer.file(file);
        }
        let (offset, length) = (Some(number >> 1), Some(number & 0xffff_ffff));
        writer.event(Event { offset, length, ..Event::new(nth * 1000, 1, 1, write) }).unwrap();
    }
    writer.finish(&meta).unwrap();
    let files = std::fs::read_dir(&path).unwrap().flatten();
    files.map(|file| file.metadata().unwrap().len()).sum()
}

#[test]
fn a_trace_of_a_small_limit_is_hardly_larger() {
    const MOST: u64 = 1 << 20;
    let target = Target::Process(1);
    let options = Options { max_bytes: Some(MOST), ..Options::new("/trace".into(), target) };
    let bytes = bytes_at_the_end(MOST, limits(&options));
    assert!((MOST..MOST / 5 * 6).contains(&bytes), "{bytes}");
    // Of a writer without a limit files and many rows are in memory.
    let usual = bytes_at_the_end(MOST, Limits::default());
    assert!(usual > MOST / 5 * 6, "{usual}");
}
