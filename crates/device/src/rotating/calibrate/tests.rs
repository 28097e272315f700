use crate::model::Operation;
use crate::rotating::tests::{request, text, wait_for};
use crate::{build, load};

const UNBUFFERED: &str = "read_segments = 0\nsegment_kib = 1\nread_ahead_kib = 0\nwrite_back = false\nwrite_kib = 64\n\
                          destage_run_kib = 64";

fn measured(us: u32) -> String {
    text(UNBUFFERED, 1).replace("rpm = 7200", &format!("rpm = 7200\nmeasured_qd1_read_us = {us}"))
}

/// Mean of 20,000 random reads of 4 KiB in microseconds.
fn mean_us(file: &str) -> f64 {
    let mut model = build(&load(file).unwrap(), 3);
    let (mut state, mut now) = (0x9e37_79b9_7f4a_7c15_u64, 0);
    for id in 1..=20_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let lba = ((u128::from(state) * 2499) >> 64) as u64 * 8;
        model.submit(now, request(id, Operation::Read, lba, 8)).unwrap();
        now = wait_for(&mut *model, 1)[0].at_ns;
    }
    now as f64 / 20_000.0 / 1e3
}

#[test]
fn the_mean_of_random_reads_becomes_the_measured_one() {
    let plain = mean_us(&text(UNBUFFERED, 1));
    assert!((8000.0..9500.0).contains(&plain), "{plain}");
    for us in [7500, 8500, 9500, 12_000, 17_500] {
        let found = mean_us(&measured(us));
        assert!((found / f64::from(us) - 1.0).abs() < 0.015, "{found:.0}, not {us}");
    }
}

#[test]
fn a_time_that_rotation_alone_takes_is_refused() {
    let error = load(&measured(4000)).unwrap_err();
    assert_eq!(error.key(), Some("rotating.measured_qd1_read_us"));
    assert!(error.to_string().contains("half a turn, the electronics and the shortest seek alone"));
}
