use crate::model::{Completion, Lba, Model, Operation, Request};
use crate::{build, load};

/// A disk of 64 MiB with bands of 1 MiB and a log of 2 MiB.
fn shingled(more: &str) -> Box<dyn Model> {
    let text = format!(
        r#"
name = "smr"
title = "smr"
kind = "rotating"
[presented]
sectors = 131072
queue_depth = 8
max_request_kib = 256
[[bus]]
name = "bus"
command_us = 10
mb_per_s = 200
[rotating]
rpm = 6000
heads = 2
head_switch_us = 500
write_settle_us = 200
[rotating.layout]
zones = [[600, 128]]
[rotating.seek]
a_us = 1000
b_us = 3000
c_us = 3000
[rotating.overhead]
read_hit_us = 50
read_miss_us = 150
write_us = 60
flush_us = 20
[rotating.buffer]
read_segments = 3
segment_kib = 512
read_ahead_kib = 256
write_back = true
write_kib = 512
destage_run_kib = 128
{more}
[sources]
presented = "test"
bus = "test"
rotating = "test"
"#
    );
    build(&load(&text).unwrap(), 1)
}

const SHINGLED: &str = "[rotating.shingled]\nband_mib = 1\ncache_mib = 2\nidle_ms = 100";

struct Host {
    model: Box<dyn Model>,
    now_ns: u64,
    id: u64,
}

impl Host {
    fn new(more: &str) -> Self {
        Self { model: shingled(more), now_ns: 0, id: 0 }
    }

    fn run(&mut self, operation: Operation, lba: u64, sectors: u32) -> u64 {
        self.id += 1;
        let request = Request { id: self.id, operation, lba: Lba(lba), sectors, fua: false };
        let begun_ns = self.now_ns;
        self.model.submit(begun_ns, request).unwrap();
        let mut done: Vec<Completion> = Vec::new();
        while done.is_empty() {
            self.now_ns = self.model.next_event_ns().unwrap();
            self.model.advance(self.now_ns, &mut done);
        }
        self.now_ns - begun_ns
    }

    /// Mean of scattered writes of a block in milliseconds, a flush at the end included.
    fn scattered_ms(&mut self, from: u64, count: u64) -> f64 {
        let begun_ns = self.now_ns;
        for nth in from..from + count {
            self.run(Operation::Write, nth * 7919 % 16_000 * 8 + 8, 8);
        }
        self.run(Operation::Flush, 0, 0);
        (self.now_ns - begun_ns) as f64 / 1e6 / count as f64
    }
}

#[test]
fn scattered_writes_are_fast_until_the_log_is_full_and_again_after_a_rest() {
    let mut plain = Host::new("");
    let mut smr = Host::new(SHINGLED);
    let usual = plain.scattered_ms(0, 300);
    let fast = smr.scattered_ms(0, 300);
    // The log holds 512 blocks; then every further write waits for a band.
    smr.scattered_ms(300, 300);
    let slow = smr.scattered_ms(600, 100);
    smr.now_ns += 60_000_000_000;
    let rested = smr.scattered_ms(700, 300);
    assert!(fast < usual / 2.0, "{fast} {usual}");
    assert!(slow > 3.0 * usual, "{slow} {usual}");
    assert!(rested < usual / 2.0, "{rested} {usual}");
}

#[test]
fn writes_in_a_row_go_to_their_bands_at_the_rate_of_a_plain_disk() {
    let row = |more: &str| {
        let mut host = Host::new(more);
        for nth in 0..200 {
            host.run(Operation::Write, nth * 512, 512);
        }
        host.run(Operation::Flush, 0, 0);
        host.now_ns as f64
    };
    let ratio = row(SHINGLED) / row("");
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
}

#[test]
fn data_in_the_log_is_read_there_and_after_cleaning_at_its_place() {
    let mut host = Host::new(SHINGLED);
    host.run(Operation::Write, 60_008, 8);
    host.run(Operation::Flush, 0, 0);
    let before = host.model.evidence().rotating.unwrap();
    // One read of both: most of it is in the band, a block is in the log.
    host.run(Operation::Read, 60_000, 24);
    let seeks = host.model.evidence().rotating.unwrap().seeks - before.seeks;
    assert!(seeks >= 2, "{seeks}");
    host.now_ns += 10_000_000_000;
    host.model.advance(host.now_ns, &mut Vec::new());
    let cleaned = host.model.evidence().rotating.unwrap();
    host.run(Operation::Read, 60_000, 24);
    let seeks = host.model.evidence().rotating.unwrap().seeks - cleaned.seeks;
    assert!(seeks <= 1, "{seeks}");
}

#[test]
fn a_cut_loses_the_host_s_addresses_and_nothing_that_was_flushed() {
    let mut host = Host::new(SHINGLED);
    host.run(Operation::Write, 8008, 8);
    host.run(Operation::Flush, 0, 0);
    host.run(Operation::Write, 9008, 8);
    let lost = host.model.power_cut(host.now_ns + 1000);
    let ranges: Vec<(u64, u64)> = lost.lost.iter().map(|l| (l.id, l.range.lba.0)).collect();
    assert_eq!(ranges, [(3, 9008)]);
}
