use super::{Load, Places, Stream, Trial, stream};
use crate::model::Operation;
use crate::{build, load};

/// 100 us for a read, 1 us for each sector of 512 bytes; four at a time.
fn trial() -> Trial {
    let text = r#"
name = "fixed"
title = "fixed"
kind = "fixed"
[presented]
sectors = 65536
queue_depth = 4
max_request_kib = 128
[fixed]
read_latency_us = 100
write_latency_us = 50
mb_per_s = 512
parallel = 4
[sources]
presented = "test"
fixed = "test"
"#;
    Trial::new(build(&load(text).unwrap(), 1))
}

fn reads(depth: u32, count: u32) -> Load {
    Load { operation: Operation::Read, bytes: 4096, depth, count }
}

const ANYWHERE: Places = Places::Random { sectors: 65536 };

#[test]
fn one_at_a_time_gives_the_device_s_own_latency() {
    let mut trial = trial();
    let found = trial.run(reads(1, 100), ANYWHERE).unwrap();
    assert_eq!(found.mean_ms(), 0.108);
    assert!((found.per_second() - 1e6 / 108.0).abs() < 1e-6);
    assert!((found.mb_per_s() - 4096.0 / 108.0).abs() < 1e-9);
    // A second load goes on where the first ended.
    assert_eq!(trial.run(reads(1, 10), ANYWHERE).unwrap().mean_ms(), 0.108);
}

#[test]
fn more_at_a_time_overlap() {
    let found = trial().run(reads(4, 400), ANYWHERE).unwrap();
    assert!((30_000.0..38_000.0).contains(&found.per_second()), "{}", found.per_second());
}

#[test]
fn what_does_not_fit_gives_nothing() {
    assert_eq!(trial().run(Load { bytes: 1 << 20, ..reads(1, 1) }, ANYWHERE), None);
    assert_eq!(trial().run(reads(1, 1), Places::Random { sectors: 4 }), None);
    let narrow = Places::InTurn { count: 2, apart: 16 };
    assert_eq!(trial().run(reads(1, 5), narrow), None);
    assert!(trial().run(reads(1, 4), narrow).is_some());
}

#[test]
fn streams_are_counted_after_their_start() {
    // 128 KiB take 100 us and 256.
    let load =
        |bytes| Stream { operation: Operation::Read, lba: 0, bytes, size: 128 << 10, depth: 1 };
    let rate = stream(&mut *trial().model, load(4 << 20)).unwrap();
    assert!((rate - 131_072.0 / 356.0).abs() < 1e-6, "{rate}");
    assert_eq!(stream(&mut *trial().model, load(1 << 40)), None);
}
