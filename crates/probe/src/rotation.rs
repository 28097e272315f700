//! The time of a turn: the period after which the ends of repeated reads recur.

use std::f64::consts::TAU;

use super::head::{BLOCK, Head, median};
use super::tape::{Class, Draws as _, Judged, RANDOM_READS};
use super::{Interval, ProbeError, Result, Timed};

/// Places that are read again and again, in two halves: each half is more than most disks have segments, so that every
/// read reaches the medium. When the buffer serves reads all the same, more places are read, up to the most.
const PLACES: usize = 144;
const MOST_PLACES: usize = 16 * PLACES;

/// Part of the median of first reads below which a read comes from the buffer.
const HIT: f64 = 0.2;

/// Part of repeated reads that may come from the buffer, or seem to because the sector happened to be under the head.
const FEW_HITS: f64 = 0.1;

/// Times that each place is read in the search, and again after a pause for the exact value.
const ROUNDS: usize = 4;

/// Slowest and fastest rotation searched, in turns a second: 3,000 to 20,000 a minute.
const TURNS_PER_S: [f64; 2] = [50.0, 334.0];

/// Part of the largest coherence from which a frequency counts; a multiple of the rotation is as coherent as itself.
const ENOUGH: f64 = 0.9;

/// Coherence below which there is no rotation. A place read four times at random reaches 0.449 on average.
const LEAST: f64 = 0.75;

/// Mean time of a read anywhere below which nothing rotates: half of the half turn that a read waits on average on
/// the fastest disk searched.
const LEAST_MEAN_S: f64 = 0.25 / TURNS_PER_S[1];

/// Pauses, each between two rounds, that make the span long enough for a turn to be known to one part in 10^6.
const PAUSES_NS: [u64; 3] = [1_000_000_000, 6_000_000_000, 30_000_000_000];

const ANYWHERE: Class = Class::of(RANDOM_READS, Judged::Last);

/// Ends of reads by place, in seconds since the first; none of a sealed place.
type Ends = Vec<Vec<f64>>;

/// Finds the time of a turn in nanoseconds.
pub(super) fn find(head: &mut Head<'_>) -> Result<Interval> {
    let Rounds { places, begun_ns, mut ends, mean_s } = rounds(head)?;
    let span_s = seconds(head.target.now_ns() - begun_ns);
    if mean_s < LEAST_MEAN_S {
        return Err(ProbeError::NoRotation);
    }
    let mut turns_per_s = search(&ends, span_s).ok_or(ProbeError::NoRotation)?;
    for pause_ns in PAUSES_NS {
        turns_per_s = sharpen(&ends, turns_per_s, seconds(head.target.now_ns() - begun_ns));
        head.wait(pause_ns);
        round(head, &places, begun_ns, &mut ends)?;
    }
    let span_s = seconds(head.target.now_ns() - begun_ns);
    let turns_per_s = sharpen(&ends, turns_per_s, span_s);
    let turn_ns = 1e9 / turns_per_s;
    head.noise_ns = noise_ns(&ends, turns_per_s);
    // The scatter of the angles over the span, three standard errors.
    let scatter = scatter_turns(&ends, turns_per_s);
    let count = ends.iter().map(Vec::len).sum::<usize>().max(1);
    let error = 3.0 * scatter / (span_s * turns_per_s) / (count as f64).sqrt() + 1e-9;
    Ok(Interval { value: turn_ns, low: turn_ns * (1.0 - error), high: turn_ns * (1.0 + error) })
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Places, of which some are sealed in every round, and when the reads of the others ended.
struct Rounds {
    places: Vec<(u64, bool)>,
    begun_ns: u64,
    ends: Ends,
    /// Mean time of a read in seconds.
    mean_s: f64,
}

/// Rounds of reads at so many places that the disk's buffer serves few of them.
fn rounds(head: &mut Head<'_>) -> Result<Rounds> {
    let mut count = PLACES;
    loop {
        let sealed = head.tape().draws(count);
        let places: Vec<(u64, bool)> =
            sealed.into_iter().map(|is_sealed| (head.anywhere(), is_sealed)).collect();
        let begun_ns = head.target.now_ns();
        let mut ends = vec![Vec::new(); count];
        let mut took = round(head, &places, begun_ns, &mut ends)?;
        took.sort_unstable();
        let typical_ns = took.get(took.len() / 2).copied().unwrap_or(0) as f64;
        let first = took.len();
        for _ in 1..ROUNDS {
            took.extend(round(head, &places, begun_ns, &mut ends)?);
        }
        let again = took.iter().skip(first);
        let hits = again.filter(|ns| (**ns as f64) < HIT * typical_ns).count();
        if (hits as f64) < FEW_HITS * (took.len() - first) as f64 {
            head.evicting = head.evicting.max(count / 2);
            let mean_s = seconds(took.iter().sum()) / took.len().max(1) as f64;
            return Ok(Rounds { places, begun_ns, ends, mean_s });
        }
        count *= 4;
        if count > MOST_PLACES {
            let reason = "the disk's buffer serves reads of 1,152 other places later; turn its read cache off, if it can be";
            return Err(ProbeError::Unclear { quantity: "the rotation", reason });
        }
    }
}

/// Reads all places in a random order; the time of each read that is not sealed, in nanoseconds.
fn round(
    head: &mut Head<'_>,
    places: &[(u64, bool)],
    begun_ns: u64,
    ends: &mut Ends,
) -> Result<Vec<u64>> {
    let mut took = Vec::with_capacity(places.len());
    let mut order: Vec<usize> = (0..places.len()).collect();
    for half in order.chunks_mut(places.len() / 2) {
        head.shuffle(half);
    }
    for index in order {
        let (Some((lba, is_sealed)), Some(list)) = (places.get(index), ends.get_mut(index)) else {
            continue;
        };
        let read = head.drawn(*is_sealed, ANYWHERE, |head| head.read(*lba, BLOCK))?;
        list.extend(read.map(|read| seconds(read.end_ns - begun_ns)));
        took.extend(read.map(Timed::took_ns));
    }
    Ok(took)
}

/// The angle after some turns, as a point of the unit circle.
fn angle(turns: f64) -> [f64; 2] {
    let (sine, cosine) = (TAU * turns.fract()).sin_cos();
    [cosine, sine]
}

/// Distance of the mean of points of the unit circle from its centre: 1 when all are the same.
fn agreement(angles: impl ExactSizeIterator<Item = [f64; 2]>) -> f64 {
    let count = angles.len() as f64;
    let [x, y] = angles.fold([0.0, 0.0], |[x, y], angle| [x + angle[0], y + angle[1]]);
    // No sum of so few points overflows, which hypot takes time to avoid.
    (x * x + y * y).sqrt() / count
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// Ends of reads of the places that have some.
fn seen(ends: &Ends) -> Vec<&Vec<f64>> {
    ends.iter().filter(|times| !times.is_empty()).collect()
}

/// Mean over the places of how well the ends of their reads agree at a frequency: 1 when each always ends at the same
/// angle.
fn coherence(ends: &Ends, turns_per_s: f64) -> f64 {
    let angles = |times: &&Vec<f64>| agreement(times.iter().map(|time| angle(time * turns_per_s)));
    mean(seen(ends).iter().map(angles))
}

/// The end of a read at a frequency that grows by equal steps: its angle, and by how much a step turns it.
struct Turned {
    at: [f64; 2],
    step: [f64; 2],
}

impl Turned {
    /// One step more, by a product of complex numbers instead of a sine: after 100,000 steps it is off by 10^-11.
    fn turn(&mut self) {
        let ([x, y], [cosine, sine]) = (self.at, self.step);
        self.at = [x * cosine - y * sine, x * sine + y * cosine];
    }
}

/// The lowest frequency with nearly the largest coherence.
fn search(ends: &Ends, span_s: f64) -> Option<f64> {
    let step = 1.0 / (10.0 * span_s);
    let [slowest, fastest] = TURNS_PER_S;
    let count = ((fastest - slowest) / step) as usize;
    let begun = |time: &f64| Turned { at: angle(time * slowest), step: angle(time * step) };
    let mut places: Vec<Vec<Turned>> =
        seen(ends).iter().map(|times| times.iter().map(begun).collect()).collect();
    let mut found = Vec::with_capacity(count);
    for index in 0..count {
        let angles = |place: &Vec<Turned>| agreement(place.iter().map(|end| end.at));
        found.push((slowest + index as f64 * step, mean(places.iter().map(angles))));
        places.iter_mut().flatten().for_each(Turned::turn);
    }
    let most = found.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    if most < LEAST {
        return None;
    }
    let first = found.iter().position(|(_, value)| *value >= ENOUGH * most)?;
    let near = found.iter().skip(first).take(20);
    near.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(frequency, _)| *frequency)
}

/// The frequency near `turns_per_s` with the largest coherence over `span_s`.
fn sharpen(ends: &Ends, turns_per_s: f64, span_s: f64) -> f64 {
    const STEPS: i32 = 10;
    let (mut middle, mut step) = (turns_per_s, 0.1 / span_s);
    while step > turns_per_s * 1e-11 {
        let around = (-STEPS..=STEPS).map(|index| middle + f64::from(index) * step / 5.0);
        let best = around
            .map(|frequency| (frequency, coherence(ends, frequency)))
            .max_by(|one, other| one.1.total_cmp(&other.1));
        middle = best.map_or(middle, |(frequency, _)| frequency);
        step /= 5.0;
    }
    middle
}

/// Typical distance of the end of a read from the middle one of its place, as a standard deviation in nanoseconds. Those few
/// that the buffer served, or that another program delayed, do not count.
fn noise_ns(ends: &Ends, turns_per_s: f64) -> f64 {
    const OF_NORMAL: f64 = 1.4826;
    let of_place = |times: &Vec<f64>| {
        let off = off_turns(times, turns_per_s);
        let middle = median(&off).unwrap_or(0.0);
        off.into_iter().map(|turn| (turn - middle).abs()).collect::<Vec<_>>()
    };
    let turns = median(&ends.iter().flat_map(of_place).collect::<Vec<_>>()).unwrap_or(0.0);
    turns * OF_NORMAL * 1e9 / turns_per_s
}

/// Standard deviation of the angles of each place around their mean, in turns.
fn scatter_turns(ends: &Ends, turns_per_s: f64) -> f64 {
    let of_place = |times: &Vec<f64>| {
        let off = off_turns(times, turns_per_s);
        let mean = off.iter().sum::<f64>() / off.len().max(1) as f64;
        off.iter().map(|turn| (turn - mean).powi(2)).sum::<f64>() / off.len() as f64
    };
    mean(seen(ends).into_iter().map(of_place)).sqrt()
}

/// Distances of the ends of reads at one place from the first of them, in parts of a turn.
fn off_turns(times: &[f64], turns_per_s: f64) -> Vec<f64> {
    let turns: Vec<f64> = times.iter().map(|time| time * turns_per_s).collect();
    let first = turns.first().copied().unwrap_or(0.0);
    turns.iter().map(|turn| turn - first - (turn - first).round()).collect()
}
