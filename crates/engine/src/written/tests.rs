use super::*;
use crate::{AppendEnd, DataShape, EngineChoice, Span, run};
use rustix::fs::{Mode, OFlags};
use seekwell_model::workloads::io::Pattern;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

const SPAN: u64 = 64 * 4096;

/// A file of zeros.
fn empty(folder: &Path) -> File {
    let path = folder.join("written");
    std::fs::write(&path, vec![0; SPAN as usize]).unwrap();
    File::from(rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).unwrap())
}

fn job(file: &File, block_bytes: u32) -> Job<'_> {
    let mut job = Job::new(file.as_fd(), Span { offset: 8192, length: SPAN - 8192 }, block_bytes);
    job.direct = false;
    job.read_percent = 30;
    job.threads = 3;
    job.count = Some(90);
    job.data.by_offset = true;
    job.seed = 77;
    job
}

/// Blocks of a file that are not zeros.
fn filled(data: &[u8], block_bytes: usize) -> BTreeSet<u64> {
    let blocks = (0..).zip(data.chunks(block_bytes));
    let filled = blocks.filter(|(_, block)| block.iter().any(|byte| *byte != 0));
    filled.map(|(index, _): (u64, _)| index * block_bytes as u64).collect()
}

fn assert_regenerated(job: &Job<'_>, path: &Path) {
    let result = run(job).unwrap();
    let written = Written::of(job, &result).unwrap();
    let offsets = written.chosen(100);
    let data = std::fs::read(path).unwrap();
    let block_bytes = job.block_bytes as usize;
    assert_eq!(offsets.iter().copied().collect::<BTreeSet<_>>(), filled(&data, block_bytes));
    let mut expected = written.data().unwrap();
    for offset in offsets {
        let found = &data[offset as usize..offset as usize + block_bytes];
        assert_eq!(expected.at(offset), found, "{block_bytes} B at {offset}");
    }
}

/// Random and sequential, more often than the file has blocks, from several threads and slots.
#[test]
fn all_writes_of_a_job_are_generated_again() {
    let shapes = [(0, 0), (50, 0), (0, 30), (40, 60)];
    for (zero_percent, repeated_percent) in shapes {
        for (pattern, block_bytes) in
            [(Pattern::Random, 4096), (Pattern::Sequential, 8192), (Pattern::Random, 512)]
        {
            let folder = tempfile::tempdir().unwrap();
            let file = empty(folder.path());
            let mut job = job(&file, block_bytes);
            job.pattern = pattern;
            job.data = DataShape { zero_percent, repeated_percent, by_offset: true };
            assert_regenerated(&job, &folder.path().join("written"));
        }
    }
}

#[test]
fn writes_of_a_deep_queue_are_generated_again() {
    if io_uring::IoUring::new(1).is_err() {
        return seekwell_testing::skip("writes_of_a_deep_queue", "this kernel refuses io_uring");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = empty(folder.path());
    let mut job = job(&file, 4096);
    job.engine = EngineChoice::IoUring;
    job.depth = 8;
    job.fsync_every = 7;
    assert_regenerated(&job, &folder.path().join("written"));
}

#[test]
fn appends_are_generated_again_up_to_the_end_that_they_reached() {
    let folder = tempfile::tempdir().unwrap();
    let file = empty(folder.path());
    let mut job = job(&file, 512);
    job.pattern = Pattern::Sequential;
    job.read_percent = 0;
    job.count = Some(100);
    job.append = Some(Arc::new(AppendEnd::new(job.span.offset)));
    assert_regenerated(&job, &folder.path().join("written"));
}

#[test]
fn data_at_another_offset_or_of_another_seed_differs() {
    let folder = tempfile::tempdir().unwrap();
    let file = empty(folder.path());
    let mut job = job(&file, 4096);
    job.data.repeated_percent = 0;
    let result = run(&job).unwrap();
    let of = |job: &Job<'_>| Written::of(job, &result).unwrap().data().unwrap();
    let mut one = of(&job);
    let at = |data: &mut WrittenData, offset: u64| data.at(offset).to_vec();
    // A block beyond the turn of the buffers too, whose data differs in its stamp alone.
    let far = 4096 * 256;
    let first = at(&mut one, 0);
    for offset in [4096, far, 2 * far, 1 << 40] {
        let other = at(&mut one, offset);
        assert_ne!(first, other, "{offset}");
    }
    assert_eq!(first, at(&mut one, 0));
    job.seed += 1;
    assert_ne!(first, at(&mut of(&job), 0));
}

#[test]
fn a_share_is_chosen_by_the_seed_and_never_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = empty(folder.path());
    let mut job = job(&file, 512);
    job.read_percent = 0;
    job.count = Some(4000);
    let result = run(&job).unwrap();
    let written = Written::of(&job, &result).unwrap();
    let all = written.chosen(100);
    let half = written.chosen(50);
    assert!(half.len() * 10 > all.len() * 3 && half.len() * 10 < all.len() * 7, "{}", half.len());
    assert!(half.iter().all(|offset| all.contains(offset)));
    assert_eq!(half, written.chosen(50));
    assert_eq!(written.chosen(0).len(), 1);
    job.data.by_offset = false;
    assert!(Written::of(&job, &result).is_none());
}
