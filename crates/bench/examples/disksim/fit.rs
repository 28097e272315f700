//! Fitting by coordinate descent: deterministic, and reads nothing but the requests it is given.

use std::collections::BTreeMap;

use seekwell_device::accuracy::demerit;
use seekwell_device::load;

use crate::fitted::{Buffer, Electronics, Fit, device_text};
use crate::trace::{Drive, Traced, replay};

/// First steps of the descent.
const STEPS: [(&str, f64); 7] = [
    ("mb_per_s", 0.05),
    ("read_hit_us", 20.0),
    ("read_sequential_us", 20.0),
    ("read_miss_us", 150.0),
    ("write_us", 20.0),
    ("write_sequential_us", 20.0),
    ("seek_scale", 0.02),
];

/// Start of the descent, from the times of writes and of forward reads.
fn start(trace: &[Traced], kinds: &[Kind]) -> Electronics {
    let times = |writes: bool, sectors: u32, places: &[u32], percent: usize| {
        let chosen = trace.iter().zip(kinds).filter(|(traced, kind)| {
            kind.0 == writes && traced.sectors == sectors && places.contains(&kind.2)
        });
        let mut times: Vec<u64> = chosen.map(|(traced, _)| traced.response_ns).collect();
        times.sort_unstable();
        times.get(times.len() * percent / 100).map_or(0.0, |ns| *ns as f64 / 1e3)
    };
    let anywhere = [0, 1, 2, 3, 4, 5, 6, 7];
    let (short, long) = (times(true, 4, &anywhere, 50), times(true, 12, &anywhere, 50));
    let sector_us = ((long - short) / 8.0).max(1.0);
    let less_transfer = |us: f64| (us - 4.0 * sector_us).max(0.0);
    Electronics {
        values: vec![
            ("mb_per_s", 512.0 / sector_us),
            ("read_hit_us", less_transfer(times(false, 4, &[2], 25))),
            ("read_sequential_us", less_transfer(times(false, 4, &[0], 25))),
            ("read_miss_us", 300.0),
            ("write_us", less_transfer(times(true, 4, &[6, 7], 50))),
            ("write_sequential_us", less_transfer(times(true, 4, &[0, 1], 50))),
            ("seek_scale", 1.0),
        ],
    }
}

/// Operation and length of a request, its position relative to the request before, and the operation of that one.
type Kind = (bool, u32, u32);

/// The parameters that make the cost on `trace` smallest: every behaviour of the buffer with a short descent of the
/// numbers, then a long one for the best.
pub fn fit(drive: &Drive, trace: &[Traced]) -> Result<Fit, String> {
    let kinds = kinds(trace);
    let judge = |fit: &Fit| cost(drive, trace, &kinds, fit);
    let mut best: Option<(f64, Fit)> = None;
    for buffer in behaviours() {
        let found = descend(Fit { electronics: start(trace, &kinds), buffer }, 5, &judge)?;
        if best.as_ref().is_none_or(|(least, _)| found.0 < *least) {
            best = Some(found);
        }
    }
    let (_, best) = best.ok_or("no behaviour to try")?;
    descend(best, 40, &judge).map(|(_, fit)| fit)
}

fn behaviours() -> Vec<Buffer> {
    let bit = |number: u32, place: u32| number >> place & 1 == 1;
    let buffer = |number| Buffer {
        reads_ahead: !bit(number, 0),
        only_sequential: bit(number, 1),
        keeps_delivered: bit(number, 2),
        serves_written: bit(number, 3),
        write_clears: bit(number, 4),
    };
    (0..32).map(buffer).filter(|buffer| buffer.reads_ahead || !buffer.only_sequential).collect()
}

fn descend(
    mut best: Fit,
    rounds: u32,
    judge: &impl Fn(&Fit) -> Result<f64, String>,
) -> Result<(f64, Fit), String> {
    let mut least = judge(&best)?;
    let mut steps: Vec<f64> = STEPS.iter().map(|(_, step)| *step).collect();
    for _ in 0..rounds {
        for (index, step) in steps.iter_mut().enumerate() {
            let here = best.electronics.values[index].1;
            let from = least;
            for value in [here - *step, here + *step] {
                let mut other = best.clone();
                other.electronics.values[index].1 = value.max(0.01);
                let cost = judge(&other)?;
                if cost < least {
                    (least, best) = (cost, other);
                }
            }
            *step *= if least < from { 1.5 } else { 0.6 };
        }
    }
    Ok((least, best))
}

/// Classifies each request by operation, length and its position relative to the request before.
fn kinds(trace: &[Traced]) -> Vec<Kind> {
    let mut before: Option<&Traced> = None;
    let mut kinds = Vec::with_capacity(trace.len());
    for traced in trace {
        let end = before.map_or(0, |before| before.lba + u64::from(before.sectors));
        let place = match traced.lba {
            lba if lba == end => 0,
            lba if lba > end && lba - end < 300 => 1,
            lba if lba <= end && end - lba < 300 => 2,
            _ => 3,
        };
        let after_write = before.is_some_and(|before| before.operation.writes());
        let length = traced.sectors.min(16);
        kinds.push((traced.operation.writes(), length, place * 2 + u32::from(after_write)));
        before = Some(traced);
    }
    kinds
}

/// The demerit of each kind of request, together: the distribution of all would let one kind make up for another.
fn cost(drive: &Drive, trace: &[Traced], kinds: &[Kind], fit: &Fit) -> Result<f64, String> {
    let file = load(&device_text("fit", drive, fit)).map_err(|error| error.to_string())?;
    let modelled = replay(&file, trace)?;
    let mut by_kind: BTreeMap<_, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
    for ((kind, traced), modelled) in kinds.iter().zip(trace).zip(modelled) {
        let (real, model) = by_kind.entry(kind).or_default();
        real.push(traced.response_ns);
        model.push(modelled);
    }
    let squares = by_kind.values().filter_map(|(real, model)| {
        demerit(real, model).map(|found| found.rms * found.rms * real.len() as f64)
    });
    Ok((squares.sum::<f64>() / trace.len() as f64).sqrt())
}
