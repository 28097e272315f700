//! The mechanism behind a cause in words, the requests of both stacks as a table, and as a picture of letters.

use crate::number::{percent, quantity};
use crate::text::Table;
use seekwell_model::laws::{Counter, Law};
use seekwell_model::metrics::Unit;
use seekwell_model::origin::OriginKind;
use seekwell_model::why::{Cause, Drawn, Group, Traffic, Way, Why};

#[cfg(test)]
mod tests;

/// Rows of the picture of letters.
const ROWS: usize = 10;
const KINDS: usize = OriginKind::ALL.len();
/// Columns of its axis.
const AXIS: usize = 9;

pub(crate) fn bytes(value: u64) -> String {
    quantity(Some(Unit::Bytes), value as f64)
}

/// Better and worse stack with their requests; `None` where no origins were recorded.
pub(crate) fn sides(why: &Why) -> Option<[(&str, &Traffic); 2]> {
    let [better, worse] = why.traffic.as_slice() else { return None };
    Some([(&why.better, better), (&why.worse, worse)])
}

/// A group in a sentence: `the journal`, `mail/`, `flushes after the journal`.
pub(crate) fn name(group: &Group) -> String {
    match (group.kind, group.name.as_str()) {
        (OriginKind::Journal, _) => "the journal".to_owned(),
        (OriginKind::Data, "") => "files without a name".to_owned(),
        (OriginKind::Data, name) => name.to_owned(),
        (kind, "") => kind.words().to_owned(),
        (kind, name) => format!("{} {name}", kind.words()),
    }
}

fn same<'a>(groups: &'a [Group], wanted: &Group) -> Option<&'a Group> {
    groups.iter().find(|one| one.kind == wanted.kind && one.name == wanted.name)
}

/// The origins of the requests on which the largest causes act most: a sentence; `None` if there are none of which
/// the worse stack has more.
pub(crate) fn mechanism(why: &Why, causes: &[&Cause]) -> Option<String> {
    let [better, (label, worse)] = sides(why)?;
    let mut clauses: Vec<String> = Vec::new();
    for cause in causes {
        let [only] = cause.laws.as_slice() else { continue };
        let Some(law) = Law::from_name(only) else { continue };
        let clause = match law {
            Law::Seek | Law::Settle | Law::Rotation => way(better, worse),
            _ => law.definition().counter.and_then(|counter| most(counter, better, worse)),
        };
        clauses.extend(clause.filter(|clause| !clauses.contains(clause)));
    }
    (!clauses.is_empty()).then(|| format!("{label}: {}.", clauses.join("; ")))
}

/// The way that the worse stack goes more often than the better one.
fn way((other, better): (&str, &Traffic), worse: &Traffic) -> Option<String> {
    let ends = |traffic: &Traffic, way: &Way| -> Option<[Group; 2]> {
        let [one, two] = way.ends.map(|end| traffic.groups.get(end).cloned());
        Some([one?, two?])
    };
    let is_same = |one: &[Group; 2], two: &[Group; 2]| {
        let one = one.each_ref().map(|group| (group.kind, &group.name));
        let two = two.each_ref().map(|group| (group.kind, &group.name));
        one == two || one == [two[1], two[0]]
    };
    let found = worse.ways.iter().filter_map(|way| {
        let at = ends(worse, way)?;
        let fits = |one: &&Way| ends(better, one).is_some_and(|other| is_same(&at, &other));
        let against = better.ways.iter().find(fits);
        Some((way, at, against))
    });
    let count = |way: Option<&Way>| way.map_or(0, |way| way.count);
    let more = |way: &Way, against: Option<&Way>| way.count.saturating_sub(count(against));
    let (way, [one, two], against) = found
        .max_by_key(|(way, _, against)| more(way, *against))
        .filter(|found| more(found.0, found.2) > 0)?;
    let place = match one == two {
        true => format!("inside {}", name(&one)),
        false => format!("between {} and {}", name(&one), name(&two)),
    };
    let other = against.map_or_else(
        || format!("{other}: rarely or never"),
        |against| format!("{other}: {} times, {}", against.count, bytes(against.mean_bytes)),
    );
    Some(format!("{} moves {place} of {} on average ({other})", way.count, bytes(way.mean_bytes)))
}

/// The origin of which the worse stack has most more.
fn most(counter: Counter, (other, better): (&str, &Traffic), worse: &Traffic) -> Option<String> {
    let is_flush = |group: &Group| group.kind == OriginKind::Flush;
    let amount = |group: &Group| match counter {
        Counter::Flushes => group.requests * u64::from(is_flush(group)),
        Counter::Moved => group.read_bytes + group.written_bytes,
        Counter::Written => group.written_bytes,
        _ => group.requests * u64::from(!is_flush(group)),
    };
    let against = |group: &Group| same(&better.groups, group).map_or(0, amount);
    let more = |group: &Group| amount(group).saturating_sub(against(group));
    let group =
        worse.groups.iter().max_by_key(|group| more(group)).filter(|group| more(group) > 0)?;
    let number = |value: u64| match counter {
        Counter::Moved | Counter::Written => bytes(value),
        _ => value.to_string(),
    };
    let noun = match counter {
        Counter::Flushes => String::new(),
        Counter::Written => " written to".to_owned(),
        Counter::Moved => " of".to_owned(),
        _ => " requests of".to_owned(),
    };
    let [have, has] = [amount(group), against(group)].map(number);
    let group = match amount(group) {
        1 => name(group).replacen("flushes", "flush", 1),
        _ => name(group),
    };
    Some(format!("{have}{noun} {group} ({other}: {has})"))
}

/// The share of requests whose origin is known, of both stacks.
pub(crate) fn known(why: &Why) -> Option<String> {
    let [(_, better), (_, worse)] = sides(why)?;
    let unknown = 1.0 - better.known().min(worse.known());
    Some(match unknown {
        0.0 => "The origin of every request is known.".to_owned(),
        _ => format!("The origin of at most {} of the requests is unknown.", percent(unknown)),
    })
}

/// Requests, bytes and waiting by origin, of both stacks.
pub(crate) fn table(why: &Why) -> Option<Table> {
    let sides = sides(why)?;
    let mut table = Table::default();
    table.column("origin", "", false);
    for (label, _) in sides {
        table.column(label, "requests", true);
        table.column("size", "", true);
    }
    let mut rows: Vec<&Group> = sides[1].1.groups.iter().collect();
    rows.extend(sides[0].1.groups.iter().filter(|one| same(&sides[1].1.groups, one).is_none()));
    rows.sort_by_key(|group| group.kind);
    for row in rows {
        let mut cells = vec![name(row)];
        for (_, traffic) in sides {
            let group = same(&traffic.groups, row);
            let size = group.map_or(0, |group| group.read_bytes + group.written_bytes);
            cells.push(group.map_or(0, |group| group.requests).to_string());
            cells.push(if size == 0 { "-".to_owned() } else { bytes(size) });
        }
        table.row(None, cells);
    }
    Some(table)
}

/// Time and places of a picture, the same for both stacks.
pub(crate) struct Range {
    pub(crate) elapsed_ns: u64,
    /// Lowest and highest place, in parts of [`Traffic::PLACES`].
    places: [u32; 2],
    device_bytes: u64,
}

impl Range {
    pub(crate) fn of(sides: &[(&str, &Traffic); 2]) -> Self {
        let placed = sides.iter().flat_map(|(_, traffic)| {
            let placed = traffic.drawn().filter(|one| kind(traffic, one) != OriginKind::Flush);
            placed.map(|one| one.place)
        });
        let (low, high) =
            placed.fold((u32::MAX, 0), |(low, high), place| (low.min(place), high.max(place)));
        Self {
            elapsed_ns: sides.map(|(_, traffic)| traffic.elapsed_ns).into_iter().fold(1, u64::max),
            places: [low.min(high), high + 1],
            device_bytes: sides[1].1.device_bytes,
        }
    }

    /// Time and place of a request, each 0 to 1.
    pub(crate) fn share(&self, one: &Drawn) -> (f64, f64) {
        let [low, high] = self.places.map(f64::from);
        let across = one.at_us as f64 * 1000.0 / self.elapsed_ns as f64;
        let up = (f64::from(one.place) - low) / (high - low);
        (across.clamp(0.0, 1.0), up.clamp(0.0, 1.0))
    }

    /// The ends of the places in bytes.
    pub(crate) fn ends(&self) -> [String; 2] {
        let share = |place: u32| f64::from(place) / f64::from(Traffic::PLACES);
        self.places.map(|place| bytes((share(place) * self.device_bytes as f64) as u64))
    }
}

pub(crate) fn kind(traffic: &Traffic, one: &Drawn) -> OriginKind {
    traffic.groups.get(one.group).map_or(OriginKind::Unknown, |group| group.kind)
}

/// Letter, class and stroke of requests of a kind. Strokes differ in form too: journal upright, metadata slanted, data
/// level.
pub(crate) fn look(kind: OriginKind) -> (char, &'static str, &'static str) {
    match kind {
        OriginKind::Journal => ('J', "o0", "v6"),
        OriginKind::Metadata => ('m', "o1", "l3 4"),
        OriginKind::Data => ('d', "o2", "h4"),
        OriginKind::Flush => ('F', "o3", "v9"),
        OriginKind::Discard => ('x', "o4", "h1v3"),
        OriginKind::Unknown => ('?', "o5", "h1v3"),
    }
}

/// Time from left to right and place from bottom to top, with a letter for the most frequent origin; flushes below.
pub(crate) fn picture(why: &Why, width: usize) -> Vec<String> {
    let Some(sides) = sides(why) else { return vec![] };
    let range = Range::of(&sides);
    let columns = width.saturating_sub(AXIS + 1).clamp(16, 100);
    let mut lines = Vec::new();
    for (label, traffic) in sides {
        lines.push(format!(
            "{label} ({})",
            quantity(Some(Unit::Nanoseconds), traffic.elapsed_ns as f64)
        ));
        lines.extend(panel(traffic, &range, columns));
        lines.push(String::new());
    }
    lines.push(
        "J journal   m metadata   d data   F flush   x discard   ? unknown; time →, place ↑"
            .to_owned(),
    );
    lines
}

fn panel(traffic: &Traffic, range: &Range, columns: usize) -> Vec<String> {
    let mut counts = vec![vec![[0_u32; KINDS]; columns]; ROWS + 1];
    for one in traffic.drawn() {
        let (across, up) = range.share(&one);
        let column = ((across * columns as f64) as usize).min(columns - 1);
        let kind = kind(traffic, &one);
        let row = match kind {
            OriginKind::Flush => ROWS,
            _ => ROWS - 1 - ((up * ROWS as f64) as usize).min(ROWS - 1),
        };
        if let Some(place) = OriginKind::ALL.iter().position(|one| *one == kind) {
            counts[row][column][place] += 1;
        }
    }
    let cell = |counts: &[u32; KINDS]| {
        let found = counts.iter().zip(OriginKind::ALL).rev().max_by_key(|(count, _)| **count);
        found.filter(|(count, _)| **count > 0).map_or(' ', |(_, kind)| look(kind).0)
    };
    let [low, high] = range.ends();
    let line = |(at, row): (usize, &Vec<[u32; KINDS]>)| {
        let name = match at {
            0 => &high,
            at if at == ROWS - 1 => &low,
            _ => "",
        };
        let cells: String = row.iter().map(cell).collect();
        format!("{name:>AXIS$} {}", cells.trim_end()).trim_end().to_owned()
    };
    counts.iter().enumerate().map(line).collect()
}
