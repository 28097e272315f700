//! psync and io_uring on a real file, a full device and a loop device that loses its backing.

#![allow(clippy::unwrap_used, reason = "a failing helper is a failing test")]

use rustix::fs::{Mode, OFlags};
use seekwell_engine::{
    AppendEnd, EngineChoice, GroupCommit, Job, JobError, JobResult, OperationKind, Span, run,
};
use seekwell_model::workloads::SyncMethod;
use seekwell_model::workloads::io::Pattern;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const MIB: u64 = 1 << 20;
const BOTH: [EngineChoice; 2] = [EngineChoice::Psync, EngineChoice::IoUring];

/// Whether this kernel lets io_uring be used; a test that cannot says so.
fn engine_works(engine: EngineChoice, test: &str) -> bool {
    if engine != EngineChoice::IoUring || io_uring::IoUring::new(1).is_ok() {
        return true;
    }
    seekwell_testing::skip(test, "io_uring is not to be had on this kernel");
    false
}

fn open(path: &Path, flags: OFlags) -> File {
    File::from(rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()).unwrap())
}

/// A file of `mib` MiB whose every 8 bytes are their own offset.
fn numbered_file(folder: &Path, mib: u64) -> PathBuf {
    let path = folder.join("target");
    let mut file = std::io::BufWriter::new(File::create(&path).unwrap());
    for offset in (0..mib * MIB).step_by(8) {
        file.write_all(&offset.to_le_bytes()).unwrap();
    }
    file.into_inner().unwrap().sync_all().unwrap();
    path
}

fn job<'a>(file: &'a File, length: u64, engine: EngineChoice) -> Job<'a> {
    let mut job = Job::new(file.as_fd(), Span { offset: 0, length }, 4096);
    job.engine = engine;
    job.depth = if engine == EngineChoice::IoUring { 16 } else { 1 };
    job.count = Some(500);
    job.seed = 11;
    job
}

fn check_counts(result: &JobResult, ops: u64) {
    assert_eq!(result.ops, ops);
    assert_eq!(result.read.count() + result.write.count(), ops);
    assert!(result.elapsed_ns > 0 && result.cpu_ns > 0);
}

#[test]
fn reads_and_writes_direct_and_through_the_cache() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = numbered_file(folder.path(), 4);
    for engine in BOTH {
        if !engine_works(engine, "reads_and_writes_direct_and_through_the_cache") {
            continue;
        }
        for direct in [false, true] {
            let flags = if direct { OFlags::RDWR | OFlags::DIRECT } else { OFlags::RDWR };
            let file = open(&path, flags);
            for (read_percent, threads) in [(100, 1), (0, 2), (50, 3)] {
                let mut job = job(&file, 4 * MIB, engine);
                job.direct = direct;
                job.read_percent = read_percent;
                job.threads = threads;
                check_counts(&run(&job).unwrap(), 500);
            }
        }
    }
}

#[test]
fn a_sequential_pass_writes_every_byte_with_data_that_does_not_repeat() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for engine in BOTH {
        if !engine_works(engine, "a_sequential_pass_writes_every_byte") {
            continue;
        }
        let path = numbered_file(folder.path(), 2);
        let file = open(&path, OFlags::RDWR);
        let mut job = job(&file, 2 * MIB, engine);
        job.direct = false;
        job.read_percent = 0;
        job.pattern = Pattern::Sequential;
        job.count = Some(2 * MIB / 4096);
        assert_eq!(run(&job).unwrap().bytes_written, 2 * MIB);
        let data = std::fs::read(&path).unwrap();
        let mut blocks: Vec<&[u8]> = data.chunks(4096).collect();
        for (index, block) in blocks.iter().enumerate() {
            let offset = index as u64 * 4096;
            assert_ne!(block[..8], offset.to_le_bytes(), "block {index} was not written");
        }
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len() as u64, 2 * MIB / 4096);
    }
}

#[test]
fn fsyncs_are_made_and_counted_apart() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = numbered_file(folder.path(), 1);
    for engine in BOTH {
        if !engine_works(engine, "fsyncs_are_made_and_counted_apart") {
            continue;
        }
        let file = open(&path, OFlags::RDWR);
        let mut job = job(&file, MIB, engine);
        job.direct = false;
        job.read_percent = 0;
        job.count = Some(40);
        job.fsync_every = 10;
        let result = run(&job).unwrap();
        assert_eq!((result.write.count(), result.fsync.count(), result.ops), (40, 4, 40));
    }
}

#[test]
fn appends_of_several_threads_fill_the_file_without_gap_or_overlap() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for engine in BOTH {
        if !engine_works(engine, "appends_of_several_threads") {
            continue;
        }
        let path = folder.path().join("log");
        File::create(&path).unwrap();
        let file = open(&path, OFlags::RDWR);
        let mut job = job(&file, MIB, engine);
        job.direct = false;
        job.read_percent = 0;
        job.pattern = Pattern::Sequential;
        job.threads = 3;
        job.count = Some(250);
        job.fsync_every = 1;
        job.sync = Some(SyncMethod::Fsync);
        job.append = Some(Arc::new(AppendEnd::default()));
        let result = run(&job).unwrap();
        assert_eq!((result.write.count(), result.fsync.count()), (250, 250));
        assert_eq!(result.commit.count(), 250);
        let data = std::fs::read(&path).unwrap();
        assert_eq!(data.len(), 250 * 4096);
        let mut blocks: Vec<&[u8]> = data.chunks(4096).collect();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), 250);
    }
}

/// Waits for something that other threads bring about; a minute is long enough on any machine.
fn wait_until(reached: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !reached() {
        assert!(begun.elapsed().as_secs() < 60, "the threads of the group commit do not get there");
        std::thread::yield_now();
    }
}

#[test]
fn threads_of_a_group_commit_share_their_syncs() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = open(&numbered_file(folder.path(), 1), OFlags::RDWR);
    let group = Arc::new(GroupCommit::default());
    let mut job = job(&file, MIB, EngineChoice::Psync);
    job.direct = false;
    job.read_percent = 0;
    job.threads = 4;
    job.count = Some(200);
    job.fsync_every = 1;
    job.group_commit = Some(Arc::clone(&group));
    let result = std::thread::scope(|scope| {
        // A sync that lasts until each of the four has written and waits for the next one.
        let holding = scope.spawn(|| {
            group.wait(|| {
                wait_until(|| group.waiting() == 5);
                Ok(())
            })
        });
        wait_until(|| group.waiting() == 1);
        let result = run(&job).unwrap();
        holding.join().unwrap().unwrap();
        result
    });
    assert_eq!((result.write.count(), result.fsync.count()), (200, 200));
    assert_eq!(result.commit.count(), 200);
    let syncs = group.syncs() - 1;
    assert!(
        (50..=197).contains(&syncs),
        "{syncs} syncs for 200 writes, of which the first 4 share one"
    );
    job.engine = EngineChoice::IoUring;
    let told = run(&job).unwrap_err().to_string();
    assert_eq!(told, "group commit with io_uring; use psync and threads");
}

#[test]
fn writes_that_are_durable_by_themselves_have_no_sync() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = numbered_file(folder.path(), 1);
    for engine in BOTH {
        if !engine_works(engine, "writes_that_are_durable_by_themselves") {
            continue;
        }
        for (sync, flags) in [
            (SyncMethod::RwfDsync, OFlags::RDWR),
            (SyncMethod::ODsync, OFlags::RDWR | OFlags::DSYNC),
        ] {
            let file = open(&path, flags);
            let mut job = job(&file, MIB, engine);
            job.direct = false;
            job.read_percent = 0;
            job.count = Some(20);
            job.sync = Some(sync);
            let result = run(&job).unwrap();
            assert_eq!((result.commit.count(), result.fsync.count()), (20, 0));
        }
    }
    let file = open(&path, OFlags::RDWR);
    let mut job = job(&file, MIB, EngineChoice::Psync);
    (job.direct, job.sync) = (false, Some(SyncMethod::ODsync));
    assert!(matches!(run(&job), Err(JobError::Invalid { .. })));
}

#[test]
fn blocks_of_512_bytes_and_odd_sizes_through_the_cache() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = numbered_file(folder.path(), 1);
    for engine in BOTH {
        if !engine_works(engine, "blocks_of_512_bytes_and_odd_sizes") {
            continue;
        }
        for block_bytes in [1, 512, 1000, 65_536] {
            let file = open(&path, OFlags::RDWR);
            let mut job = job(&file, MIB, engine);
            job.direct = false;
            job.block_bytes = block_bytes;
            job.read_percent = 50;
            job.count = Some(64);
            check_counts(&run(&job).unwrap(), 64);
        }
    }
}

#[test]
fn a_file_that_ends_early_is_a_short_read() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = numbered_file(folder.path(), 1);
    for engine in BOTH {
        if !engine_works(engine, "a_file_that_ends_early_is_a_short_read") {
            continue;
        }
        let file = open(&path, OFlags::RDONLY);
        // 100 bytes behind the end of the third block.
        let end = 3 * 4096 + 100;
        File::options().write(true).open(&path).unwrap().set_len(end).unwrap();
        let mut job = job(&file, MIB, engine);
        job.direct = false;
        job.depth = 1;
        job.pattern = Pattern::Sequential;
        match run(&job) {
            Err(JobError::Short { operation, transferred, completed }) => {
                assert_eq!(operation.kind, OperationKind::Read);
                assert_eq!((operation.offset, operation.length), (3 * 4096, 4096));
                assert_eq!((transferred, completed), (100, 3));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_full_device_and_a_read_only_target_are_told_apart() {
    let full = open(Path::new("/dev/full"), OFlags::RDWR);
    let mut writes = job(&full, MIB, EngineChoice::Psync);
    writes.direct = false;
    writes.read_percent = 0;
    let told = run(&writes).unwrap_err().to_string();
    assert!(told.contains("failed after 0 operations: No space left on device"), "{told}");
    assert!(told.ends_with("it is full: use less data or a larger device"), "{told}");

    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = numbered_file(folder.path(), 1);
    for engine in BOTH {
        if !engine_works(engine, "a_full_device_and_a_read_only_target_are_told_apart") {
            continue;
        }
        let file = open(&path, OFlags::RDONLY);
        let mut writes = job(&file, MIB, engine);
        writes.direct = false;
        writes.read_percent = 0;
        let told = run(&writes).unwrap_err().to_string();
        assert!(told.ends_with("the target is read-only or was opened for reading"), "{told}");
    }
}

#[test]
fn an_open_loop_issues_no_operation_before_it_is_due() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = numbered_file(folder.path(), 1);
    for engine in BOTH {
        if !engine_works(engine, "an_open_loop_issues_no_operation_before_it_is_due") {
            continue;
        }
        let file = open(&path, OFlags::RDONLY);
        let mut job = job(&file, MIB, engine);
        job.direct = false;
        job.rate = Some(2_000);
        job.count = Some(100);
        job.keep_samples = 100;
        let result = run(&job).unwrap();
        check_counts(&result, 100);
        let first_ns = result.started_ns;
        let due: Vec<u64> =
            result.samples.iter().map(|sample| sample.begun_ns - first_ns).collect();
        assert_eq!(due, (0..100).map(|index| index * 500_000).collect::<Vec<u64>>());
        assert!(result.elapsed_ns >= 99 * 500_000);
        // Completion never lies before the time due, or the latency would have wrapped or be 0.
        assert!(result.samples.iter().all(|sample| sample.latency_ns > 0));
        let rate = result.rate.unwrap();
        assert_eq!((rate.requested, rate.owed), (2_000, 0));
    }
}

#[test]
fn a_stop_ends_every_thread() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = numbered_file(folder.path(), 1);
    for engine in BOTH {
        if !engine_works(engine, "a_stop_ends_every_thread") {
            continue;
        }
        let file = open(&path, OFlags::RDONLY);
        let stop = Arc::new(AtomicBool::new(false));
        let mut job = job(&file, MIB, engine);
        job.direct = false;
        job.count = None;
        job.threads = 2;
        job.stop = Some(Arc::clone(&stop));
        let result = std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&job));
            std::thread::sleep(std::time::Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
            running.join().unwrap().unwrap()
        });
        assert!(result.stopped && result.ops > 0);
    }
}

/// A loop device over a file; detached when dropped.
struct Loop {
    device: PathBuf,
    backing: PathBuf,
}

impl Loop {
    fn attach(backing: &Path) -> Self {
        let attached = Command::new(seekwell_testing::tool("losetup").unwrap())
            .args(["--find", "--show", "--direct-io=on"])
            .arg(backing)
            .output()
            .unwrap();
        assert!(attached.status.success(), "{attached:?}");
        let device = PathBuf::from(String::from_utf8(attached.stdout).unwrap().trim());
        Self { device, backing: backing.to_owned() }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let detach = Command::new(seekwell_testing::tool("losetup").unwrap())
            .arg("--detach")
            .arg(&self.device)
            .status()
            .unwrap();
        assert!(detach.success(), "{} of {}", self.device.display(), self.backing.display());
    }
}

fn has_loop(test: &str) -> bool {
    if !seekwell_testing::root() {
        seekwell_testing::skip(test, "needs root to attach a loop device");
        return false;
    }
    if seekwell_testing::tool("losetup").is_none() || !Path::new("/dev/loop-control").exists() {
        seekwell_testing::skip(test, "no losetup or no loop devices (package mount)");
        return false;
    }
    true
}

#[test]
fn a_device_that_loses_its_backing_answers_with_an_error() {
    let test = "a_device_that_loses_its_backing_answers_with_an_error";
    if !has_loop(test) {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = numbered_file(folder.path(), 8);
    let attached = Loop::attach(&path);
    for engine in BOTH {
        if !engine_works(engine, test) {
            continue;
        }
        let device = open(&attached.device, OFlags::RDONLY | OFlags::DIRECT);
        let mut reads = job(&device, 8 * MIB, engine);
        reads.pattern = Pattern::Sequential;
        reads.depth = 1;
        reads.count = Some(8 * MIB / 4096);
        check_counts(&run(&reads).unwrap(), 8 * MIB / 4096);

        let half = 4 * MIB;
        let backing = File::options().write(true).open(&path).unwrap();
        backing.set_len(half).unwrap();
        let error = run(&reads).unwrap_err();
        match &error {
            JobError::Operation { operation, completed, source } => {
                assert_eq!(operation.kind, OperationKind::Read);
                assert_eq!((operation.offset, operation.length), (half, 4096));
                assert_eq!(*completed, half / 4096);
                assert_eq!(source.raw_os_error(), Some(libc::EIO));
            }
            other => panic!("{other:?}"),
        }
        let told = error.to_string();
        assert!(
            told.starts_with("read of 4096 bytes at offset 4194304 failed after 1024"),
            "{told}"
        );
        backing.set_len(8 * MIB).unwrap();
    }
}

#[test]
fn a_loop_device_takes_512_byte_direct_operations() {
    if !has_loop("a_loop_device_takes_512_byte_direct_operations") {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = numbered_file(folder.path(), 2);
    let attached = Loop::attach(&path);
    let device = open(&attached.device, OFlags::RDWR | OFlags::DIRECT);
    for engine in BOTH {
        if !engine_works(engine, "a_loop_device_takes_512_byte_direct_operations") {
            continue;
        }
        let mut job = job(&device, 2 * MIB, engine);
        job.block_bytes = 512;
        job.read_percent = 50;
        check_counts(&run(&job).unwrap(), 500);
    }
    // Sector 0 is intact or was written as a whole.
    let mut sector = [0; 512];
    open(&attached.device, OFlags::RDONLY).read_exact_at(&mut sector, 0).unwrap();
}
