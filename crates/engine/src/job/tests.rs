use super::*;
use std::fs::File;
use std::os::fd::AsFd;

fn problem(change: impl FnOnce(&mut Job<'_>)) -> String {
    let file = File::open("/dev/null").unwrap();
    let mut job = Job::new(file.as_fd(), Span { offset: 0, length: 1 << 20 }, 4096);
    job.direct = false;
    job.count = Some(1);
    assert!(job.check().is_ok());
    change(&mut job);
    job.check().unwrap_err().to_string()
}

#[test]
fn what_cannot_be_run_is_said_with_what_to_change() {
    assert_eq!(
        problem(|job| job.depth = 4),
        "depth 4 with psync, which has no queue; use io_uring, or threads instead of depth"
    );
    assert_eq!(problem(|job| job.count = None), "nothing ends the job; set a count or a time");
    assert_eq!(
        problem(|job| job.span.length = 4095),
        "the target has 4095 bytes, less than one operation of 4096 bytes; \
         use a larger target, a smaller size or fewer threads"
    );
    assert_eq!(
        problem(|job| {
            job.pattern = Pattern::Sequential;
            job.threads = 257;
        }),
        "the target has 1048576 bytes, less than the 1052672 of one operation of \
         4096 bytes per thread; use a larger target, a smaller size or fewer threads"
    );
    assert_eq!(
        problem(|job| job.direct = true),
        "the job wants direct I/O and the target was opened without O_DIRECT; open the target \
         accordingly"
    );
    assert_eq!(
        problem(|job| {
            job.direct = true;
            job.block_bytes = 1000;
        }),
        "direct I/O of 1000 B from offset 0; use multiples of the device's logical sector, 512 B \
         or 4 KiB"
    );
    assert_eq!(
        problem(|job| {
            job.engine = EngineChoice::IoUring;
            job.depth = 4096;
            job.block_bytes = 1 << 20;
        }),
        "depth 4096 of 1048576 B needs 4096 MiB of memory per thread; keep it below 1 GiB with a \
         smaller depth or size"
    );
    assert_eq!(
        problem(|job| job.span = Span { offset: i64::MAX as u64, length: 4096 }),
        "4096 bytes from offset 9223372036854775807 end beyond 2^63; use a smaller part of the \
         target"
    );
    assert!(problem(|job| job.threads = 0).contains("start at 1"));
    assert!(problem(|job| job.read_percent = 101).contains("end at 100 %"));
}
