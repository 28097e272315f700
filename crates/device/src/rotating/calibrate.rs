//! One measured time in place of what a data sheet leaves open about reads.
//!
//! The "average seek" of a data sheet leaves out settling and the drive's quiet mode. A 7200 rpm disk with 8.5 ms on its
//! sheet needs 17.5 ms for a random read, and its reads by depth and its writes show where the difference is: in a
//! constant for every read that moves the arm (Seagate ST2000DM006; ublk-disksim, docs/VALIDATION.md and qd.tsv). So
//! the difference to the measured mean at depth 1 becomes such a constant. A disk faster than its sheet gets a
//! shorter seek curve instead.

use super::layout::Layout;
use super::seek::SeekCurve;
use crate::clock::ns;
use crate::error::{DeviceError, refuse, within};

#[cfg(test)]
mod tests;

const KEY: &str = "rotating.measured_qd1_read_us";

/// Sectors of the reads that were measured: 4 KiB.
const SECTORS: u64 = 8;

/// Pairs of places over which seeks are averaged.
const PAIRS: u64 = 4096;

/// The seek curve and the settling of reads that make the mean of random reads `measured_us`; `outside_ns` is what
/// electronics and bus take of it.
pub(super) fn calibrate(
    measured_us: f64,
    outside_ns: u64,
    seek: SeekCurve,
    layout: &Layout,
    sectors: u64,
) -> Result<(SeekCurve, u64), DeviceError> {
    within(KEY, measured_us, 1.0, 1e6)?;
    let first_ns = seek.ns(1) as f64;
    let (mut near, mut far, mut beyond_ns, mut transfer_ns) = (0_u64, 0_u64, 0.0, 0_u64);
    for (from, to) in pairs(sectors.min(layout.sectors())) {
        let (from, to) = (layout.place(from), layout.place(to));
        match from.cylinder.abs_diff(to.cylinder) {
            0 => {}
            1 => near += 1,
            distance => {
                far += 1;
                beyond_ns += seek.ns(distance) as f64 - first_ns;
            }
        }
        transfer_ns += SECTORS * layout.turn_ns / u64::from(to.sectors_per_track);
    }
    let count = PAIRS as f64;
    let turning_ns = layout.turn_ns as f64 / 2.0 + transfer_ns as f64 / count;
    let fixed_ns = outside_ns as f64 + turning_ns + first_ns * (near + far) as f64 / count;
    let missing_ns = ns(measured_us) as f64 - fixed_ns - beyond_ns / count;
    if missing_ns >= 0.0 && far > 0 {
        return Ok((seek, (missing_ns * count / far as f64).round() as u64));
    }
    let scale = (ns(measured_us) as f64 - fixed_ns) / (beyond_ns / count);
    if !scale.is_finite() || scale <= 0.0 {
        let reason = format!(
            "cannot be: half a turn, the electronics and the shortest seek alone take {:.0} us",
            fixed_ns / 1e3,
        );
        return Err(refuse(KEY, measured_us, reason));
    }
    Ok((seek.stretched(scale), 0))
}

/// Pairs of sectors, evenly spread over the square: multiples of the two fractions of the plastic number, as 64-bit
/// fractions (Roberts: The unreasonable effectiveness of quasirandom sequences, 2018).
fn pairs(sectors: u64) -> impl Iterator<Item = (u64, u64)> {
    const FRACTIONS: [u64; 2] = [0xc13f_a9a9_02a6_328f, 0x91e1_0da5_c79e_7b1c];
    let places = sectors.saturating_sub(SECTORS).max(1);
    let place = move |step: u64, fraction: u64| {
        let part = step.wrapping_mul(fraction);
        ((u128::from(part) * u128::from(places)) >> 64) as u64
    };
    (1..=PAIRS).map(move |step| (place(step, FRACTIONS[0]), place(step, FRACTIONS[1])))
}
