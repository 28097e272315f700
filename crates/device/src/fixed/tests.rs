use crate::model::{Completion, Lba, Model, Operation, Request};
use crate::{build, load};

fn device(parallel: u32) -> Box<dyn Model> {
    let text = format!(
        r#"
name = "fixed"
title = "fixed"
kind = "fixed"
[presented]
sectors = 4096
queue_depth = 8
max_request_kib = 32
[fixed]
read_latency_us = 100
write_latency_us = 70
flush_latency_us = 20
mb_per_s = 51.2
parallel = {parallel}
[sources]
presented = "test"
fixed = "test"
"#
    );
    build(&load(&text).unwrap(), 1)
}

fn request(id: u64, operation: Operation, lba: u64, sectors: u32) -> Request {
    Request { id, operation, lba: Lba(lba), sectors, fua: false }
}

fn done(model: &mut dyn Model, at_ns: u64) -> Vec<(u64, u64)> {
    let mut completions: Vec<Completion> = Vec::new();
    model.advance(at_ns, &mut completions);
    completions.iter().map(|completion| (completion.id, completion.at_ns / 1000)).collect()
}

#[test]
fn latencies_pass_side_by_side_and_data_one_after_the_other() {
    let mut model = device(2);
    // 512 bytes take 10 us on the link.
    for id in 1..=3 {
        model.submit(0, request(id, Operation::Read, id * 8, 4)).unwrap();
    }
    assert_eq!(model.next_event_ns(), Some(140_000));
    assert_eq!(done(&mut *model, 1_000_000), [(1, 140), (2, 180), (3, 240)]);
}

#[test]
fn writes_and_flushes_have_their_own_latencies() {
    let mut model = device(1);
    model.submit(0, request(1, Operation::Write, 0, 2)).unwrap();
    model.submit(0, request(2, Operation::Flush, 0, 0)).unwrap();
    assert_eq!(done(&mut *model, 1_000_000), [(1, 90), (2, 90)]);
}

#[test]
fn a_cut_loses_what_is_not_done_and_nothing_else() {
    let mut model = device(8);
    model.submit(0, request(1, Operation::Write, 0, 2)).unwrap();
    model.submit(0, request(2, Operation::Write, 8, 2)).unwrap();
    let lost = model.power_cut(100_000);
    assert_eq!(lost.lost.iter().map(|lost| lost.id).collect::<Vec<_>>(), [2]);
    assert_eq!(model.next_event_ns(), None);
    model.submit(200_000, request(3, Operation::Read, 0, 2)).unwrap();
    assert_eq!(done(&mut *model, 1_000_000), [(3, 320)]);
}
