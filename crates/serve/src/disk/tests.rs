use super::*;
use seekwell_device::{build, load};
use seekwell_virtual::Keeping;

/// 100 us a read, 70 us a write, 20 us a flush, 10 us a sector on the link, two at a time of four that it takes.
fn disk() -> Disk {
    disk_with("")
}

/// The same with more lines in the table of what it presents.
fn disk_with(more: &str) -> Disk {
    let text = r#"
name = "fixed"
title = "fixed"
kind = "fixed"
[presented]
sectors = 4096
queue_depth = 4
max_request_kib = 4
[fixed]
read_latency_us = 100
write_latency_us = 70
flush_latency_us = 20
mb_per_s = 51.2
parallel = 4
[sources]
presented = "test"
fixed = "test"
"#;
    let text = text.replace("sectors = 4096", &format!("sectors = 4096\n{more}"));
    let model = build(&load(&text).unwrap(), 1);
    let keeping = Keeping { memory_bytes: 1 << 20, directory: std::env::temp_dir() };
    Disk::new(model, Content::new(4096, keeping))
}

/// Lets time pass to the next event until nothing is outstanding: number, microsecond and error of each answer.
fn all(disk: &mut Disk) -> Vec<(u64, u64, i32)> {
    let (mut answers, mut now_ns) = (Vec::new(), 0);
    while let Some(at_ns) = disk.next_event_ns() {
        now_ns = at_ns.max(now_ns);
        disk.advance(now_ns, &mut answers);
    }
    assert!(disk.pending.is_empty());
    let line = |answer: &Answer| (answer.unique, answer.due_ns.unwrap() / 1000, answer.error);
    answers.iter().map(line).collect()
}

#[test]
fn what_was_written_is_read_and_each_answer_has_the_models_time() {
    let mut disk = disk();
    let data = [7; 512];
    assert_eq!(disk.submit(0, 1, 1024, Ask::Write(&data)).unwrap(), None);
    assert_eq!(all(&mut disk), [(1, 80, 0)]);
    assert_eq!(disk.submit(100_000, 2, 512, Ask::Read(1536)).unwrap(), None);
    let mut answers = Vec::new();
    disk.advance(229_999, &mut answers);
    assert_eq!(answers, []);
    disk.advance(230_000, &mut answers);
    let expected = [[0; 512], data, [0; 512]].concat();
    let (due_ns, error, written) = (Some(230_000), 0, 0);
    assert_eq!(answers, [Answer { unique: 2, due_ns, error, data: expected, written }]);
    assert_eq!(disk.submit(300_000, 3, 0, Ask::Flush).unwrap(), None);
    assert_eq!(all(&mut disk), [(3, 320, 0)]);
}

#[test]
fn long_requests_become_several_and_what_finds_the_queue_full_waits() {
    let mut disk = disk();
    // Five parts of 4 KiB, one more than the queue takes: the link moves one after the other.
    assert_eq!(disk.submit(0, 1, 0, Ask::Read(5 * 4096)).unwrap(), None);
    assert_eq!(disk.submit(0, 2, 0, Ask::Read(512)).unwrap(), None);
    assert_eq!(all(&mut disk), [(1, 500, 0), (2, 510, 0)]);
}

#[test]
fn a_read_that_waits_sees_nothing_of_a_later_write() {
    let mut disk = disk();
    for unique in 1..=6 {
        disk.submit(0, unique, 0, Ask::Read(512)).unwrap();
    }
    disk.submit(0, 7, 0, Ask::Write(&[9; 512])).unwrap();
    let (mut answers, mut now_ns) = (Vec::new(), 0);
    while let Some(at_ns) = disk.next_event_ns() {
        now_ns = at_ns.max(now_ns);
        disk.advance(now_ns, &mut answers);
    }
    assert_eq!(
        answers.iter().map(|answer| answer.unique).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6, 7]
    );
    assert!(answers.iter().all(|answer| answer.data.iter().all(|byte| *byte == 0)));
}

#[test]
fn what_the_device_does_not_take_is_an_error_at_once() {
    let mut disk = disk();
    let mut refused = |offset, ask| disk.submit(0, 1, offset, ask).unwrap().unwrap().error;
    assert_eq!(refused(0, Ask::Discard(512)), UNSUPPORTED);
    assert_eq!(refused(0, Ask::Zero(512)), UNSUPPORTED);
    assert_eq!(refused(7, Ask::Read(512)), INVALID);
    assert_eq!(refused(0, Ask::Read(513)), INVALID);
    assert_eq!(refused(4096 * 512, Ask::Read(512)), IO);
    assert_eq!(refused(u64::MAX - 511, Ask::Read(512)), IO);
    assert!(disk.pending.is_empty());
}

#[test]
fn a_fake_has_the_data_of_its_true_sectors_again_and_again() {
    let mut disk = disk_with("wraps_at = 1000");
    let mut now_ns = 0;
    let mut ask = |offset: u64, ask: Ask<'_>| {
        assert_eq!(disk.submit(now_ns, 1, offset * 512, ask).unwrap(), None);
        let mut answers = Vec::new();
        while let Some(at_ns) = disk.next_event_ns() {
            now_ns = at_ns.max(now_ns);
            disk.advance(now_ns, &mut answers);
        }
        answers.remove(0).data
    };
    // Over the end: sectors 998 and 999, and 0 and 1.
    let data: Vec<u8> = [1, 2, 3, 4].into_iter().flat_map(|byte| [byte; 512]).collect();
    ask(998, Ask::Write(&data));
    assert!(ask(1998, Ask::Read(2048)) == data);
    assert!(ask(0, Ask::Read(1024)) == data[1024..]);
    ask(3999, Ask::Write(&[0; 1024]));
    let expected = [1_u8, 0, 0, 4].into_iter().flat_map(|byte| [byte; 512]);
    assert!(ask(998, Ask::Read(2048)) == expected.collect::<Vec<_>>());
}
