//! The findings as a device file: each value with its source, what could not be told apart with its range.

use std::fmt::Write as _;

use super::tape::{MOST_WINDOW, RANDOM, RANDOM_READS, SYNCED};
use super::{Accuracy, Findings, Interval, Stage, WriteCache, Writes, report};
use seekwell_device::file::{DeviceFile, load};
use seekwell_device::model::Geometry;

/// Name of the file that is only built to compare with.
pub(super) const UNNAMED: Label = Label { name: "probed", title: "probed", source: "probed" };

/// Sectors of a block.
const BLOCK: f64 = 8.0;

/// Names of a device file.
#[derive(Clone, Copy, Debug)]
pub struct Label<'a> {
    /// Its name, as [`seekwell_device::file::is_name`] takes it.
    pub name: &'a str,
    /// Its title, for people.
    pub title: &'a str,
    /// The source of its numbers, for people.
    pub source: &'a str,
}

/// The text of a device file.
///
/// The measured rates of `accuracy` become published figures, so that `device show` compares them with the model.
#[must_use]
pub fn device_file(label: Label, findings: &Findings, accuracy: Option<&Accuracy>) -> String {
    let text = text(label, findings, accuracy);
    match load(&text) {
        // Skews that do not cover the change of track are a fact about this disk, not a slip.
        Err(error) if error.key().is_some_and(|key| key.contains("skew")) => {
            text.replace("[rotating.layout]\n", "[rotating.layout]\nloses_turns = true\n")
        }
        _ => text,
    }
}

/// The device of the findings.
pub(super) fn built(findings: &Findings) -> Option<DeviceFile> {
    load(&device_file(UNNAMED, findings, None)).ok()
}

/// The same with a number of waiting reads to sort.
pub(super) fn with_window(findings: &Findings, window: u32) -> Option<DeviceFile> {
    built(&Findings { window: Some([window, window]), ..findings.clone() })
}

fn text(label: Label, findings: &Findings, accuracy: Option<&Accuracy>) -> String {
    let source = label.source;
    let how = if findings.writes.is_some() { "read and wrote" } else { "only read" };
    let unreached = report::of_unreached(&findings.unreached).into_iter();
    let remarks: String = unreached.map(|(name, value)| format!("# {name}: {value}.\n")).collect();
    let mut text = head(label, "rotating", how, &remarks, accuracy);
    presented(&mut text, &findings.geometry);
    text.push('\n');
    bus(&mut text, findings);
    mechanics(&mut text, findings);
    electronics(&mut text, findings);
    published(&mut text, findings, accuracy, source);
    text.push_str(&accuracy.map(Accuracy::tables).unwrap_or_default());
    sources(&mut text, findings, source);
    text
}

/// The beginning of a file: comments, name and kind.
pub(super) fn head(
    Label { name, title, .. }: Label,
    kind: &str,
    how: &str,
    remarks: &str,
    accuracy: Option<&Accuracy>,
) -> String {
    let comments = accuracy.map(Accuracy::comments).unwrap_or_default();
    let (name, title) = (quoted(name), quoted(title));
    format!(
        "# Made by a probe that {how}. Values marked as assumed were not measured.\n{remarks}{comments}\
         name = {name}\ntitle = {title}\nkind = \"{kind}\"\n\n"
    )
}

/// Adds a published figure.
pub(super) fn figure(text: &mut String, figure: &str, more: &str, value: f64, source: &str) {
    let source = quoted(source);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "[[published]]\nfigure = \"{figure}\"\n{more}value = {value:.3}\nsource = {source}\n"
    );
}

/// The table of what the kernel presents.
pub(super) fn presented(text: &mut String, found: &Geometry) {
    let _ = writeln!(
        text,
        "[presented]\nsectors = {}\nlogical_block = {}\nphysical_block = {}\nqueue_depth = {}\nmax_request_kib = {}",
        found.sectors_512,
        found.logical_block,
        found.physical_block,
        found.queue_depth,
        (found.max_request_bytes / 1024).clamp(4, 65536),
    );
}

/// Limits that the device presents for requests without data.
pub(super) fn limits(text: &mut String, found: &Geometry) {
    const MOST_KIB: u32 = 4_194_304;
    for (key, sectors) in [
        ("max_discard_kib", found.max_discard_sectors),
        ("max_write_zeroes_kib", found.max_write_zeroes_sectors),
    ] {
        if let Some(sectors) = sectors {
            let _ = writeln!(text, "{key} = {}", (sectors / 2).clamp(4, MOST_KIB));
        }
    }
    text.push('\n');
}

fn bus(text: &mut String, findings: &Findings) {
    // Without hits in the buffer the bus cannot be told from the medium; then it is no limit.
    let mb_per_s = findings.buffer.mb_per_s.map_or(6000.0, |rate| rate.value);
    let _ =
        writeln!(text, "[[bus]]\nname = \"probed\"\ncommand_us = 0\nmb_per_s = {mb_per_s:.1}\n");
}

fn mechanics(text: &mut String, findings: &Findings) {
    let heads = findings.tracks.heads.unwrap_or(1);
    let _ =
        writeln!(text, "[rotating]\nrpm = {:.7}\nheads = {heads}", 60e9 / findings.turn_ns.value);
    let track_skew_us = skew_us(findings, findings.tracks.track_skew_sectors);
    // A change of head hides in the skew of its track; without heads to count there is none.
    let switch_us = findings.head_switch_ns.map_or(0.0, |found| found.low / 1e3);
    let settle_us = settle_us(findings);
    let _ = writeln!(
        text,
        "head_switch_us = {:.1}\nwrite_settle_us = {:.1}\nwrite_track_settle_us = 0",
        switch_us.min(track_skew_us),
        settle_us.max(0.0)
    );
    if settle_us < 0.0 {
        let _ = writeln!(text, "read_settle_us = {:.1}", -settle_us);
    }
    if let Some([low, high]) = window(findings) {
        let _ = writeln!(text, "reorder_window = {}", u32::midpoint(low, high));
    }
    let _ = writeln!(text, "\n[rotating.layout]\nzones = [{}]", zones(findings, heads).join(", "));
    let _ = writeln!(text, "track_skew_us = {track_skew_us:.2}");
    let cylinder_skew_us = skew_us(findings, findings.tracks.cylinder_skew_sectors);
    let _ = writeln!(text, "cylinder_skew_us = {cylinder_skew_us:.2}\n");
    // Seeks were measured by reads, with their settling; where writes settle faster, it is a number of its own.
    let reads_us = (-settle_us).max(0.0);
    let mut points: Vec<(u32, f64)> = Vec::new();
    let mut shortest_us = 0.0;
    for point in findings.seeks.iter().filter(|point| point.cylinders > 0) {
        let taken_us = if point.cylinders > 1 { reads_us } else { 0.0 };
        shortest_us = f64::max(shortest_us, point.ns.value / 1e3 - taken_us);
        points.push((point.cylinders, shortest_us));
    }
    let points: Vec<String> = points.iter().map(|(c, us)| format!("[{c}, {us:.1}]")).collect();
    let _ = writeln!(text, "[rotating.seek]\ntable = [{}]\n", points.join(", "));
}

/// Waiting reads that are sorted: as found, or any number that fits into the queue when the time was over before.
fn window(findings: &Findings) -> Option<[u32; 2]> {
    let any = [1, findings.geometry.queue_depth.clamp(1, MOST_WINDOW)];
    findings.window.or_else(|| findings.unreached.contains(&Stage::Depth).then_some(any))
}

/// Settling before a write beyond that of a read; negative where reads settle longer.
fn settle_us(findings: &Findings) -> f64 {
    findings.writes.as_ref().map_or(0.0, |writes| writes.settle_ns.value / 1e3)
}

/// A skew as a time that makes it the same number of sectors again: times are rounded up to whole sectors.
fn skew_us(findings: &Findings, sectors: Interval) -> f64 {
    let per_track =
        findings.zones.get(findings.tracks.zone).map(|zone| zone.sectors_per_track.value);
    let sector_us = findings.turn_ns.value / 1e3 / per_track.unwrap_or(f64::INFINITY);
    (sectors.value - 0.5).max(0.0) * sector_us
}

/// Pairs of cylinders and sectors per track. The last zone holds whatever the others leave.
fn zones(findings: &Findings, heads: u32) -> Vec<String> {
    let mut left = findings.geometry.sectors_512;
    let last = findings.zones.len().saturating_sub(1);
    let pair = |(index, zone): (usize, &super::FoundZone)| {
        let per_track = zone.sectors_per_track.value as u64;
        let per_cylinder = per_track * u64::from(heads);
        let sectors = if index == last { left } else { zone.end_lba - zone.first_lba };
        let cylinders = match index == last {
            true => sectors.div_ceil(per_cylinder),
            false => (sectors as f64 / per_cylinder as f64).round() as u64,
        }
        .max(1);
        left = left.saturating_sub(cylinders * per_cylinder);
        format!("[{cylinders}, {per_track}]")
    };
    findings.zones.iter().enumerate().map(pair).collect()
}

/// Cost of a read that needs the arm, less what the model adds for the sectors themselves.
fn read_miss_us(findings: &Findings) -> f64 {
    let zone = findings.zones.get(findings.tracks.zone);
    let per_track = zone.map_or(f64::INFINITY, |zone| zone.sectors_per_track.value);
    let passing_ns = BLOCK * findings.turn_ns.value / per_track;
    let bus_ns = findings.buffer.mb_per_s.map_or(0.0, |rate| BLOCK * 512e3 / rate.value);
    ((findings.media_ns.value - passing_ns - bus_ns) / 1e3).max(0.0)
}

fn electronics(text: &mut String, findings: &Findings) {
    let buffer = &findings.buffer;
    let miss_us = read_miss_us(findings);
    let hit_us = buffer.hit_ns.map_or(miss_us, |hit| hit.value / 1e3);
    let cache = findings.writes.as_ref().and_then(|writes| writes.cache.as_ref());
    let flush_us = cache.map_or(100.0, |cache| cache.empty_flush_ns.value / 1e3);
    let write_us = write_us(findings).unwrap_or(hit_us);
    let _ = writeln!(
        text,
        "[rotating.overhead]\nread_hit_us = {hit_us:.2}\nread_miss_us = {miss_us:.2}\nwrite_us = {write_us:.2}\nflush_us = {flush_us:.2}\n"
    );
    let ahead_kib = (buffer.read_ahead_sectors.value / 2.0).round() as u64;
    let _ = writeln!(
        text,
        "[rotating.buffer]\nread_segments = {}\nsegment_kib = {}\nread_ahead_kib = {ahead_kib}",
        buffer.segments.value,
        ((buffer.segment_sectors.value / 2.0).round() as u64).max(ahead_kib).max(64),
    );
    let _ = writeln!(
        text,
        "read_ahead_after = {}\nkeeps_delivered = {}\nresumes_read_ahead = {}\nwrite_back = {}\ndestage_run_kib = {:.0}",
        buffer.read_ahead_after.unwrap_or(0),
        buffer.keeps_delivered,
        buffer.resumes_read_ahead,
        findings.writes.as_ref().map_or(findings.geometry.write_cache, |w| w.cache.is_some()),
        cache.and_then(|cache| cache.run_sectors).map_or(256.0, |run| run.value / 2.0),
    );
    let _ = writeln!(text, "age_limit_ms = {AGE_LIMIT_MS}");
    match cache {
        Some(cache) => write_cache(text, cache),
        None => {
            let _ = writeln!(text, "write_kib = 2048\ndestage_window = {DESTAGE_WINDOW}\n");
        }
    }
}

/// Numbers that no experiment tells: the model's own.
const AGE_LIMIT_MS: u32 = 5000;
const DESTAGE_WINDOW: u32 = 4;

/// Cost of a write that the cache takes, without its way over the bus; `None` when none was seen.
fn write_us(findings: &Findings) -> Option<f64> {
    let writes = findings.writes.as_ref().filter(|writes| writes.cache.is_some())?;
    let bus_ns = findings.buffer.mb_per_s.map_or(0.0, |rate| BLOCK * 512e3 / rate.value);
    Some(((writes.write_ns.value - bus_ns) / 1e3).max(0.0))
}

fn write_cache(text: &mut String, cache: &WriteCache) {
    let [low, high] = cache.window;
    let _ = writeln!(
        text,
        "write_kib = {:.0}\ndestage_window = {}\ndestage_delay_us = {:.0}\nserves_written = {}\nwrite_clears = {}",
        cache.sectors.value / 2.0,
        u32::midpoint(low, high),
        cache.delay_ns.value / 1e3,
        cache.serves_written,
        cache.clears_read_ahead.unwrap_or(false),
    );
    if let Some(runs) = cache.runs {
        let _ = writeln!(text, "write_segments = {}", runs.max(1));
    }
    text.push('\n');
}

/// Measured rates and flushes as published figures.
fn published(text: &mut String, findings: &Findings, accuracy: Option<&Accuracy>, source: &str) {
    let mut row = |name: &str, more: String, value: f64, from: &str| {
        figure(text, name, &more, value, &format!("{source}: {from}"));
    };
    for class in accuracy.iter().flat_map(|accuracy| &accuracy.classes) {
        let depth = format!("depth = {}\n", class.depth);
        let deepest = findings.geometry.queue_depth;
        match class.name {
            RANDOM_READS => row("random-reads", depth, class.per_second, "withheld reads"),
            RANDOM if class.depth <= deepest => {
                row("random-writes", depth, class.per_second, "withheld writes");
            }
            SYNCED => row("synced-writes", String::new(), class.per_second, "withheld writes"),
            _ => {}
        }
    }
    let cache = findings.writes.as_ref().and_then(|writes| writes.cache.as_ref());
    for point in cache.iter().flat_map(|cache| &cache.flushes) {
        let more = format!("dirty = {}\ncalibrates = true\n", point.dirty);
        let from = format!("mean of {} flushes", point.times);
        row("flush", more, point.mean_ns / 1e6, &from);
    }
}

fn sources(text: &mut String, findings: &Findings, source: &str) {
    let between = |found: Interval, unit: f64, digits: usize| {
        let (low, high) = (found.low / unit, found.high / unit);
        format!("{source}: {low:.digits$} to {high:.digits$}")
    };
    let by = |how: &str| format!("{source}: {how}");
    let writes = findings.writes.as_ref();
    text.push_str("[sources]\n");
    let mut add = |key: &str, source: &str| {
        let _ = writeln!(text, "\"{key}\" = {}", quoted(source));
    };
    add("presented", &by("as the kernel presents it"));
    let how = "rate between reads of two lengths that the buffer served; cost of a command counted under rotating.overhead";
    add("bus", &by(how));
    add("rotating.rpm", &format!("{} ns a turn", between(findings.turn_ns, 1.0, 1)));
    add("rotating.heads", &by("tracks between the larger skews"));
    let how = "shortest time to the next track of a cylinder, at most its skew";
    add("rotating.head_switch_us", &by(how));
    add("rotating.write_settle_us", &source_of_settling(writes, source));
    if settle_us(findings) < 0.0 {
        let how = "as rotating.write_settle_us: reads settle longer than writes";
        add("rotating.read_settle_us", how);
    }
    let how = "assumed: within the skews, so that sequential writes lose no turn";
    add("rotating.write_track_settle_us", how);
    if window(findings).is_some() {
        let how = by("rate of random reads at depth, compared with the model's");
        let late = || "assumed: not measured, because the time was over".to_owned();
        add("rotating.reorder_window", &findings.window.map_or_else(late, |_| how));
    }
    add("rotating.layout", &by("angles of blocks; skews of the largest zone, taken for all"));
    let how = "shortest time from cylinder to cylinder, less that of a read without a seek";
    add("rotating.seek", &by(how));
    let (read, write) = (between(findings.media_ns, 1e3, 1), cost_of_writes(writes));
    let how = format!("{read} us for a read of the track under the head; {write}");
    add("rotating.overhead", &how);
    add("rotating.buffer", &by(&format!("read-ahead, segments; {}", source_of_cache(writes))));
    ranges(text, findings);
}

const ASSUMED: &str = "assumed: not probed, because a probe that only reads cannot tell";

fn cost_of_writes(writes: Option<&Writes>) -> String {
    let us = |found: Interval| format!("{:.1} to {:.1} us", found.low / 1e3, found.high / 1e3);
    match writes.map(|writes| (writes, &writes.cache)) {
        None => format!("writes and flushes {ASSUMED}"),
        Some((_, None)) => "writes assumed as reads that the buffer serves".to_owned(),
        Some((writes, Some(cache))) => format!(
            "{} for a write with its way over the bus; {} for a flush of the empty cache",
            us(writes.write_ns),
            us(cache.empty_flush_ns)
        ),
    }
}

fn source_of_settling(writes: Option<&Writes>, source: &str) -> String {
    let Some(Writes { settle_ns: Interval { low, high, .. }, .. }) = writes else {
        return ASSUMED.to_owned();
    };
    let (low, high) = (low / 1e3, high / 1e3);
    format!(
        "{source}: {low:.0} to {high:.0} us beyond that of reads, as writes that are each flushed take longer than without"
    )
}

fn source_of_cache(writes: Option<&Writes>) -> String {
    let Some(writes) = writes else { return format!("writes {ASSUMED}") };
    let Some(cache) = &writes.cache else {
        return "no write cache: a write takes as long as the medium".to_owned();
    };
    let ms = |found: Interval| format!("{:.2} to {:.2} ms", found.low / 1e6, found.high / 1e6);
    let [low, high] = cache.window;
    let drains: Vec<String> = cache
        .drains
        .iter()
        .map(|drain| {
            let Interval { low, high, .. } = drain.per_second;
            format!("{low:.0} to {high:.0}/s at depth {}", drain.depth)
        })
        .collect();
    format!(
        "cache of {:.0} to {:.0} KiB by the writes that fit; drained at {}; flush = {} and {} for each write; {low} to \
         {high} candidates by flushes of many; {}age_limit_ms assumed",
        cache.sectors.low / 2.0,
        cache.sectors.high / 2.0,
        drains.join(" and "),
        ms(cache.flush.constant_ns),
        ms(cache.flush.slope_ns),
        if cache.run_sectors.is_some() {
            "destage_run_kib by the stops of writes in a row; "
        } else {
            "destage_run_kib and "
        },
    )
}

fn ranges(text: &mut String, findings: &Findings) {
    text.push_str("\n[ranges]\n");
    let writes = findings.writes.as_ref();
    let mut range = |key: &str, low: f64, high: f64| {
        if low < high {
            let _ = writeln!(text, "\"rotating.{key}\" = [{low}, {high}]");
        }
    };
    match writes.map(|writes| &writes.cache) {
        Some(Some(cache)) => {
            let [low, high] = cache.window;
            range("buffer.destage_window", low.into(), high.into());
            let Interval { low, high, .. } = cache.sectors;
            range("buffer.write_kib", (low / 2.0).floor(), (high / 2.0).ceil());
        }
        found => {
            range("buffer.write_kib", 256.0, 65_536.0);
            // From next to nothing to the longest flush of an empty cache in the catalogue, and to several times the
            // cost of a read from the buffer.
            range("overhead.flush_us", 0.0, 30_000.0);
            let hit_us = findings
                .buffer
                .hit_ns
                .map_or_else(|| read_miss_us(findings), |hit| hit.value / 1e3);
            range("overhead.write_us", 0.0, (3.0 * hit_us).ceil().max(300.0));
            if found.is_none() {
                // As for disks of the catalogue whose data sheets say it, and any number of candidates.
                range("write_settle_us", 0.0, 1500.0);
                range("buffer.destage_window", 1.0, 64.0);
            }
        }
    }
    range("buffer.age_limit_ms", 100.0, 60_000.0);
    let segments = findings.buffer.segments;
    range("buffer.read_segments", segments.low.min(segments.value), segments.high);
    if let Some(writes) = writes {
        let Interval { low, high, .. } = writes.settle_ns;
        let (low, high) = ((low / 1e3).floor(), (high / 1e3).ceil());
        match settle_us(findings) < 0.0 {
            true => range("read_settle_us", (-high).max(0.0), -low),
            false => range("write_settle_us", low.max(0.0), high),
        }
    }
    if let Some([low, high]) = window(findings) {
        range("reorder_window", low.into(), high.into());
    }
}

/// A TOML string.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
