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

/// A volume with a limit of 1,000 KiB requests a second, or as the rest of its table says.
fn volume(limit: &str) -> String {
    format!(
        "name = \"volume\"\ntitle = \"t\"\nkind = \"fixed\"\n[presented]\nsectors = 4096\nqueue_depth = 8\n\
         max_request_kib = 32\n[fixed]\nread_latency_us = 100\nwrite_latency_us = 70\nmb_per_s = 51.2\n\
         parallel = 8\n[fixed.limit]\nper_second = 1000\nunit_kib = 1\n{limit}\n[sources]\npresented = \"t\"\n\
         fixed = \"t\"\n"
    )
}

#[test]
fn a_limit_of_bytes_makes_the_next_request_wait_and_not_the_one_that_uses_it() {
    // 8 KiB take 160 us on the link, and 2 ms of the limit of 4.096 MB a second.
    let limit = |more: &str| {
        let text = volume(&format!("mb_per_s = 4.096\n{more}"));
        let text = text
            .replace("per_second = 1000", "per_second = 1e6")
            .replace("unit_kib = 1", "unit_kib = 8");
        build(&load(&text).unwrap(), 1)
    };
    let mut model = limit("");
    for id in 1..=3 {
        model.submit(0, request(id, Operation::Read, id * 16, 16)).unwrap();
    }
    assert_eq!(done(&mut *model, 1 << 30), [(1, 260), (2, 2260), (3, 4260)]);
    // Long after, nothing is left to pay, and nothing is saved up without a bucket.
    for id in 4..=5 {
        model.submit(1 << 30, request(id, Operation::Write, id * 16, 16)).unwrap();
    }
    let late = (1 << 30) / 1000;
    assert_eq!(done(&mut *model, 1 << 31), [(4, late + 230), (5, late + 2230)]);
    // A bucket of 16 KiB: two more requests pass at once, a microsecond of their number apart, and then the link is next.
    let mut model = limit("credit_mib = 0.015625");
    for id in 1..=4 {
        model.submit(0, request(id, Operation::Read, id * 16, 16)).unwrap();
    }
    assert_eq!(done(&mut *model, 1 << 30), [(1, 260), (2, 420), (3, 580), (4, 2260)]);
    let nothing = load(&volume("mb_per_s = 0")).unwrap_err();
    assert_eq!(nothing.key(), Some("fixed.limit.mb_per_s"));
}

#[test]
fn a_limit_lets_credits_pass_fast_and_the_rest_at_its_rate() {
    // One and two credits beyond the first request, 0.1 ms apart, then a request each millisecond.
    let mut model = build(&load(&volume("burst_per_second = 10_000\ncredits = 2")).unwrap(), 1);
    for id in 1..=5 {
        model.submit(0, request(id, Operation::Read, id * 8, 2)).unwrap();
    }
    assert_eq!(done(&mut *model, 3_000_000), [(1, 120), (2, 220), (3, 320), (4, 1120), (5, 2120)]);
    // After 4 ms all but one credit have come back; a flush needs none, and 4 KiB count as four requests.
    model.submit(4_000_000, request(6, Operation::Flush, 0, 0)).unwrap();
    model.submit(4_000_000, request(7, Operation::Read, 0, 8)).unwrap();
    model.submit(4_000_000, request(8, Operation::Read, 0, 2)).unwrap();
    assert_eq!(done(&mut *model, 1 << 30), [(6, 4000), (7, 4180), (8, 7120)]);

    let mut steady = build(&load(&volume("")).unwrap(), 1);
    for id in 1..=3 {
        steady.submit(0, request(id, Operation::Read, id * 8, 2)).unwrap();
    }
    assert_eq!(done(&mut *steady, 1 << 30), [(1, 120), (2, 1120), (3, 2120)]);
    let slow = load(&volume("burst_per_second = 500")).unwrap_err();
    assert_eq!(slow.key(), Some("fixed.limit.burst_per_second"));
}
