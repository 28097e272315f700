use super::{CHUNK, Place};
use crate::error::ReplayError;

const MIB: u64 = 1 << 20;

fn place(reach: u64, device: u64, sector: u32, stretch: bool) -> Place {
    Place::new(reach, MIB, device, sector, stretch).unwrap()
}

#[test]
fn offsets_stay_on_a_device_that_holds_them_all() {
    let same = place(10 * MIB, 100 * MIB, 512, false);
    assert!(!same.moves());
    assert_eq!(same.of(7 * MIB + 512, 4096), (7 * MIB + 512, 4096));
}

#[test]
fn a_smaller_device_has_each_mib_at_its_relative_position() {
    let half = place(100 * MIB, 50 * MIB, 512, false);
    assert!(half.moves());
    assert_eq!(half.of(0, 512), (0, 512));
    assert_eq!(half.of(40 * MIB + 8192, 512), (20 * MIB + 8192, 512));
    // Neighbours stay neighbours within a MiB.
    assert_eq!(half.of(40 * MIB + 8704, 512), (20 * MIB + 8704, 512));
    // Two recorded MiB share one.
    assert_eq!(half.of(41 * MIB, 512), (20 * MIB, 512));
}

#[test]
fn a_larger_device_is_used_to_its_end_only_when_stretched() {
    let wide = place(10 * MIB, 100 * MIB, 512, true);
    assert_eq!(wide.of(5 * MIB + 1024, 512), (50 * MIB + 1024, 512));
}

#[test]
fn ends_are_rounded_outwards_to_sectors_and_stay_on_the_device() {
    let coarse = place(8 * MIB, 8 * MIB, 4096, false);
    assert_eq!(coarse.of(512, 512), (0, 4096));
    assert_eq!(coarse.of(3584, 1024), (0, 8192));
    assert_eq!(coarse.of(8 * MIB - 512, 512), (8 * MIB - 4096, 4096));
    let odd = place(9 * MIB, 8 * MIB + 4096, 4096, false);
    let (offset, length) = odd.of(9 * MIB - 512, MIB);
    assert!(offset + length <= 8 * MIB + 4096);
    assert_eq!(length, MIB + 4096);
}

#[test]
fn every_place_is_on_the_device_whatever_the_trace_says() {
    for device in [2 * MIB, 3 * MIB + 512, 1 << 40] {
        for reach in [0, 512, 5 * MIB, u64::MAX] {
            let place = place(reach, device, 512, true);
            for offset in [0, 511, CHUNK, reach / 2, reach.saturating_sub(512)] {
                let (at, length) = place.of(offset, 4096);
                assert!(at + length <= device, "{device} {reach} {offset}");
            }
        }
    }
}

#[test]
fn a_device_without_room_for_the_longest_request_is_refused() {
    let refused = Place::new(10 * MIB, 4 * MIB, 2 * MIB, 512, false).unwrap_err();
    assert!(
        matches!(refused, ReplayError::SmallDevice { device_bytes, .. } if device_bytes == 2 * MIB)
    );
}
