//! The seek curve: the shortest time in which a read of one cylinder can follow a read of another.
//!
//! The second block's angle is known, so the first read can be timed so that the block passes after any chosen time.
//! It is caught when the arm is there, or else one turn later: each read halves the interval of the shortest time.

use super::head::{BLOCK, Head, align};
use super::tape::{Class, Draws as _, Judged};
use super::tracks::Tracks;
use super::zones::FoundZone;
use super::{Interval, ProbeError, Result};

/// Reads of each distance: eleven halve a turn to less than 10 us, the rest makes up for those that the disk's buffer
/// served, and a third of them is sealed.
const ROUNDS: usize = 48;

/// The second read of a pair.
const AT_A_DISTANCE: Class = Class::of("reads at every distance", Judged::Last);

/// Width at which an interval is narrow enough.
const NARROW_NS: f64 = 15_000.0;

/// Each distance is so many times the one before.
const FACTOR: f64 = 1.45;

/// Places on a track from which the first read may come.
const STARTS: u64 = 28;

/// Least time between the end of the first read and the second, for the host, in nanoseconds.
const GUARD_NS: f64 = 10_000.0;

/// A seek.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeekPoint {
    /// Cylinders crossed.
    pub cylinders: u32,
    /// Time in nanoseconds, settling included.
    pub ns: Interval,
}

pub(super) struct Found {
    pub(super) media_ns: Interval,
    pub(super) head_switch_ns: Option<Interval>,
    pub(super) points: Vec<SeekPoint>,
    /// The time was over before all intervals were narrow.
    pub(super) is_cut: bool,
}

/// From a track to a block: what is measured, and its bounds so far.
struct Pair {
    cylinders: Option<u32>,
    from: u64,
    /// Sectors of the first track from which a read may come; 0 when only its first block may.
    spread: u64,
    to: u64,
    /// Time of a sector of the first and of the second track.
    sector_ns: [f64; 2],
    from_angle: Option<f64>,
    to_angle: Option<f64>,
    low: f64,
    high: f64,
    /// Lower bounds by single reads: one that the host delayed may be too high.
    lows: Vec<f64>,
    /// The interval is narrow, and on a noisy host it was confirmed.
    checked: bool,
}

/// Finds the cost of a read without a seek, of a change of head, and the seek curve.
pub(super) fn find(head: &mut Head<'_>, zones: &[FoundZone], tracks: &Tracks) -> Result<Found> {
    let mut pairs = pairs(head, zones, tracks)?;
    let is_cut = match measure(head, &mut pairs) {
        Err(ProbeError::Late(_)) => true,
        measured => measured.map(|()| false)?,
    };
    let reason = "every second read came from the disk's buffer";
    let unclear = match is_cut {
        true => ProbeError::Late(head.stage),
        false => ProbeError::Unclear { quantity: "the seek curve", reason },
    };
    let mut measured = pairs.iter().filter(|pair| pair.high.is_finite());
    let still = measured.next().filter(|pair| pair.cylinders == Some(0)).ok_or(unclear)?;
    let media_ns = interval(still.low, still.high);
    let passing_ns = |pair: &Pair| f64::from(BLOCK) * pair.sector_ns[1];
    let beyond = |pair: &Pair| {
        let longer_ns = passing_ns(pair) - passing_ns(still);
        interval(pair.low - longer_ns - media_ns.high, pair.high - longer_ns - media_ns.low)
    };
    let (mut head_switch_ns, mut points) = (None, Vec::new());
    for pair in measured {
        match pair.cylinders {
            None => head_switch_ns = Some(beyond(pair)),
            Some(cylinders) => points.push(SeekPoint { cylinders, ns: beyond(pair) }),
        }
    }
    Ok(Found { media_ns, head_switch_ns, points, is_cut })
}

/// Narrows the intervals of all pairs in turn, so that all are equally narrow when the time is over.
fn measure(head: &mut Head<'_>, pairs: &mut [Pair]) -> Result<()> {
    for _ in 0..ROUNDS {
        for pair in pairs.iter_mut().filter(|pair| !pair.checked) {
            match pair.cylinders.is_some_and(|cylinders| cylinders > 0) && head.tape().draw() {
                true => seal(head, pair)?,
                false => narrow(head, pair)?,
            }
        }
    }
    Ok(())
}

fn interval(low: f64, high: f64) -> Interval {
    let (low, high) = (low.max(0.0), high.max(0.0));
    Interval { value: f64::midpoint(low, high), low, high }
}

/// No seek, a change of head, and seeks of growing distance.
fn pairs(head: &mut Head<'_>, zones: &[FoundZone], tracks: &Tracks) -> Result<Vec<Pair>> {
    let reason = "the zone is not there";
    let zone =
        zones.get(tracks.zone).ok_or(ProbeError::Unclear { quantity: "the seek curve", reason })?;
    let map = Map::new(zones, tracks.heads.unwrap_or(1));
    let per_track = zone.sectors_per_track.value as u64;
    let per_cylinder = per_track * u64::from(tracks.heads.unwrap_or(1));
    let near_ns = head.turn_ns / per_track as f64;
    // Room below the end of the zone, each pair in cylinders of its own.
    let room = (zone.end_lba - tracks.cylinder_start) / per_cylinder;
    let start = |nth: u64| tracks.cylinder_start + (nth * 7 % (room / 3).max(1)) * per_cylinder;
    let pair = |cylinders, from, spread, to, to_ns| Pair {
        cylinders,
        from,
        spread,
        to,
        sector_ns: [near_ns, to_ns],
        from_angle: None,
        to_angle: None,
        low: 0.0,
        high: f64::INFINITY,
        lows: Vec::new(),
        checked: false,
    };
    let block = u64::from(BLOCK);
    let spread = per_track - 4 * block;
    // The second read is of the first sectors of the track: a disk that reads ahead leaves the track behind its last.
    let mut pairs = vec![pair(Some(0), start(0) + 2 * block, spread, start(0), near_ns)];
    if tracks.heads.is_some_and(|heads| heads > 1) {
        pairs.push(pair(None, start(1), spread, start(1) + per_track + per_track / 2, near_ns));
    }
    let mut last = 0;
    for nth in 2.. {
        let distance = (f64::from(last) * FACTOR).ceil().max(f64::from(last) + 1.0) as u32;
        if f64::from(distance) > map.cylinders * 0.98 {
            break;
        }
        last = distance;
        let from = start(nth);
        pairs.push(if u64::from(distance) < room / 2 {
            let to = from + u64::from(distance) * per_cylinder + per_track / 2;
            pair(Some(distance), from, spread, to, near_ns)
        } else {
            // So far away a track more or less does not count.
            let first = (map.cylinders - f64::from(distance)) / 2.0;
            let (from, (to, to_per_track)) = (map.at(first).0, map.at(first + f64::from(distance)));
            let to_ns = head.turn_ns / to_per_track;
            pair(Some(distance), from, 0, on_one_track(head, to, to_ns)?, to_ns)
        });
    }
    Ok(pairs)
}

/// A block near `lba` that begins and ends on one track: a change of track inside it, or shortly before it, would
/// show as a skew between the ends of two blocks.
fn on_one_track(head: &mut Head<'_>, lba: u64, sector_ns: f64) -> Result<u64> {
    const APART: u64 = 4 * BLOCK as u64;
    let mut to = lba;
    for _ in 0..4 {
        let [after, before] = [head.angle(to)?, head.angle(to.saturating_sub(APART))?];
        let off = (after - before - APART as f64 * sector_ns).rem_euclid(head.turn_ns);
        let slack_ns = head.slack_ns(sector_ns);
        if off < slack_ns || off > head.turn_ns - slack_ns {
            break;
        }
        to += 2 * APART;
    }
    Ok(to)
}

/// Cylinders and addresses.
struct Map {
    zones: Vec<MapZone>,
    cylinders: f64,
    heads: f64,
}

/// A zone of the map.
struct MapZone {
    first_cylinder: f64,
    first_lba: u64,
    sectors_per_track: f64,
}

impl Map {
    fn new(zones: &[FoundZone], heads: u32) -> Self {
        let heads = f64::from(heads);
        let mut cylinders = 0.0;
        let zone = |zone: &FoundZone| {
            let sectors_per_track = zone.sectors_per_track.value;
            let first_cylinder = cylinders;
            cylinders += (zone.end_lba - zone.first_lba) as f64 / (sectors_per_track * heads);
            MapZone { first_cylinder, first_lba: zone.first_lba, sectors_per_track }
        };
        let zones = zones.iter().map(zone).collect();
        Self { zones, cylinders, heads }
    }

    /// An address of a cylinder, and the sectors of its tracks.
    fn at(&self, cylinder: f64) -> (u64, f64) {
        let zone = self.zones.iter().rfind(|zone| zone.first_cylinder <= cylinder);
        zone.map_or((0, f64::INFINITY), |zone| {
            let per_cylinder = zone.sectors_per_track * self.heads;
            let beyond = ((cylinder - zone.first_cylinder) * per_cylinder) as u64;
            (zone.first_lba + beyond, zone.sectors_per_track)
        })
    }
}

/// A pair of reads that no fit sees, at any angle: a block of the second track, whatever it is, after one of the first.
fn seal(head: &mut Head<'_>, pair: &Pair) -> Result<()> {
    let per_track = (head.turn_ns / pair.sector_ns[1]) as u64;
    let from = pair.from + align(head.below(pair.spread.max(1)));
    let to = pair.to.saturating_sub(per_track / 2) + align(head.below(per_track));
    head.medium(from, BLOCK)?;
    head.drawn(true, AT_A_DISTANCE, |head| head.read(to, BLOCK))?;
    Ok(())
}

/// One read of a pair, timed for the middle of its interval. When it is narrow on a noisy host, one timed below it, which
/// must miss the block: if it catches it, a delay had raised the lower bound, and the search continues.
fn narrow(head: &mut Head<'_>, pair: &mut Pair) -> Result<()> {
    let narrow_ns = NARROW_NS.max(2.0 * head.noise_ns);
    let is_narrow = |pair: &Pair| pair.high - pair.low <= narrow_ns;
    let is_check = is_narrow(pair);
    let middle = f64::midpoint(pair.low, pair.high);
    let told = catch(head, pair, if is_check { pair.low - narrow_ns } else { middle })?;
    pair.checked = told && is_narrow(pair) && (is_check || !head.is_noisy());
    Ok(())
}

/// One read of a pair, timed so that the block passes `after_ns` later. Returns true when it told something.
fn catch(head: &mut Head<'_>, pair: &mut Pair, after_ns: f64) -> Result<bool> {
    let aim = pair
        .to_angle
        .filter(|_| pair.high.is_finite())
        .map(|angle| (angle - after_ns).rem_euclid(head.turn_ns));
    let offset = match (aim, pair.from_angle) {
        (Some(aim), Some(angle)) if pair.spread > 0 => start_for(head, pair, angle, aim),
        _ => 0,
    };
    let end_ns = head.medium(pair.from + offset, BLOCK)?.end_ns;
    pair.from_angle = Some(head.phase(end_ns) - offset as f64 * pair.sector_ns[0]);
    if let Some(aim) = aim {
        let now_ns = head.target.now_ns();
        let wait_ns = (aim - head.phase(now_ns)).rem_euclid(head.turn_ns);
        head.target.wait_until(now_ns + wait_ns.round() as u64);
    }
    let to = pair.to;
    let read = head.drawn(false, AT_A_DISTANCE, |head| head.read(to, BLOCK))?;
    let Some(found) = read else { return Ok(false) };
    if found.took_ns() < head.hit_below_ns {
        head.evict()?;
        return Ok(false);
    }
    let late_ns = late(head, pair, head.phase(found.end_ns));
    let took_ns = found.took_ns() as f64 - late_ns;
    pair.high = pair.high.min(took_ns);
    pair.lows.push(took_ns - head.turn_ns);
    let high = pair.high;
    pair.lows.retain(|low| *low < high);
    pair.low = pair.lows.iter().copied().fold(0.0, f64::max);
    Ok(true)
}

/// Time by which a read of the second block ended after the block had passed: the earliest end of all tells when that is.
fn late(head: &Head<'_>, pair: &mut Pair, angle: f64) -> f64 {
    // Without noise the last angle is as good as the first.
    let before = pair.to_angle.filter(|_| head.is_noisy()).unwrap_or(angle);
    let late_ns = (angle - before).rem_euclid(head.turn_ns);
    // Half a turn and more is earlier.
    if late_ns < head.turn_ns / 2.0 {
        pair.to_angle = Some(before);
        return late_ns;
    }
    pair.to_angle = Some(angle);
    0.0
}

/// Sectors into the first track at which a read ends just before the angle `aim`, so that the disk has no time to
/// read ahead far.
fn start_for(head: &Head<'_>, pair: &Pair, angle: f64, aim: f64) -> u64 {
    let left_ns = |offset: &u64| {
        let ends = angle + *offset as f64 * pair.sector_ns[0] + GUARD_NS;
        (aim - ends).rem_euclid(head.turn_ns)
    };
    let offsets = (0..STARTS).map(|nth| pair.spread / STARTS * nth / BLOCK as u64 * BLOCK as u64);
    offsets.min_by(|one, other| left_ns(one).total_cmp(&left_ns(other))).unwrap_or(0)
}
