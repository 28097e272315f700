//! Block requests of a step by their origin: amounts, places, the ways between them, and a picture's worth of
//! them.

use seekwell_model::origin::{Origin, OriginKind, TracedRequest, TracedStep};
use seekwell_model::why::{Drawn, Group, Traffic, Way};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// Requests of a picture at most.
const MAX_DRAWN: usize = 1500;
/// Files or directories that are named, those with the most bytes.
const MAX_NAMED: usize = 5;
/// Ways that are kept.
const MAX_WAYS: usize = 4;
/// Requests that are nearer to each other are at one place.
const NEAR_SECTORS: u64 = 8 << 11;

/// Kind and name of a group.
type Key = (usize, String);

/// Sums up the requests of a step.
#[must_use]
pub fn traffic(step: &TracedStep) -> Traffic {
    let names = names(step);
    let keys = keys(step, &names);
    let mut by_key: BTreeMap<&Key, Sum> = BTreeMap::new();
    for (key, request) in keys.iter().zip(&step.requests) {
        by_key.entry(key).or_default().add(request, place(step, request));
    }
    let mut sums: Vec<(&Key, Sum)> = by_key.into_iter().collect();
    sums.sort_by_key(|((kind, _), sum)| (*kind, std::cmp::Reverse(sum.group.requests)));
    let order: BTreeMap<&Key, usize> =
        sums.iter().enumerate().map(|(at, (key, _))| (*key, at)).collect();
    let groups: Vec<usize> = keys.iter().map(|key| order[key]).collect();
    let mut traffic = Traffic {
        elapsed_ns: step.elapsed_ns,
        device_bytes: step.devices.iter().sum::<u64>() * 512,
        ways: ways(step, &groups),
        groups: sums.into_iter().map(|(key, sum)| sum.finish(key)).collect(),
        ..Traffic::default()
    };
    draw(&mut traffic, step, &groups);
    traffic
}

/// Directories at the top by the bytes of their files; a file that is alone in its has its own name.
fn names(step: &TracedStep) -> BTreeMap<&str, String> {
    let mut tops: BTreeMap<&str, (u64, BTreeMap<&str, ()>)> = BTreeMap::new();
    for request in &step.requests {
        let Some(origin) = data(step, request) else { continue };
        let (bytes, files) = tops.entry(top(&origin.path)).or_default();
        *bytes += u64::from(request.sectors) * 512;
        files.insert(&origin.path, ());
    }
    let mut tops: Vec<_> = tops.into_iter().filter(|(top, _)| !top.is_empty()).collect();
    tops.sort_by_key(|(_, (bytes, _))| std::cmp::Reverse(*bytes));
    let named = tops.into_iter().take(MAX_NAMED).map(|(top, (_, files))| {
        let mut paths = files.into_keys();
        match (paths.next(), paths.next()) {
            (Some(only), None) => (top, only.to_owned()),
            _ => (top, format!("{top}/")),
        }
    });
    named.collect()
}

fn data<'a>(step: &'a TracedStep, request: &TracedRequest) -> Option<&'a Origin> {
    step.origins.get(request.origin as usize).filter(|one| one.kind == OriginKind::Data)
}

/// The first directory of a path, or the file itself.
fn top(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

/// The group of each request. A flush belongs to the last write that was done on its device.
fn keys(step: &TracedStep, names: &BTreeMap<&str, String>) -> Vec<Key> {
    let mut written: Vec<Option<OriginKind>> = vec![None; step.devices.len()];
    let unknown = Origin::default();
    let mut one = |request: &TracedRequest| {
        let origin = step.origins.get(request.origin as usize).unwrap_or(&unknown);
        let device = usize::from(request.device);
        let before = written.get(device).copied().flatten();
        let name = match (origin.kind, before) {
            (OriginKind::Data, _) if !origin.path.is_empty() => {
                names.get(top(&origin.path)).cloned().unwrap_or_else(|| "other files".to_owned())
            }
            (OriginKind::Flush, Some(before)) => format!("after {}", before.words()),
            _ => String::new(),
        };
        if let (true, Some(last)) = (request.writes && has_place(origin), written.get_mut(device)) {
            *last = Some(origin.kind);
        }
        (OriginKind::ALL.iter().position(|kind| *kind == origin.kind).unwrap_or(0), name)
    };
    step.requests.iter().map(&mut one).collect()
}

/// Place on all devices one after the other, in sectors.
fn place(step: &TracedStep, request: &TracedRequest) -> u64 {
    step.devices.iter().take(request.device.into()).sum::<u64>() + request.sector
}

#[derive(Default)]
struct Sum {
    group: Group,
    places: Vec<u64>,
}

impl Sum {
    fn add(&mut self, request: &TracedRequest, place: u64) {
        let bytes = u64::from(request.sectors) * 512;
        self.group.requests += 1;
        self.group.waited_ns += request.took_ns;
        match request.writes {
            true => self.group.written_bytes += bytes,
            false => self.group.read_bytes += bytes,
        }
        self.places.push(place);
    }

    fn finish(mut self, (kind, name): &Key) -> Group {
        self.places.sort_unstable();
        let place = self.places.get(self.places.len() / 2).map_or(0, |sector| sector * 512);
        Group { kind: OriginKind::ALL[*kind], name: name.clone(), place, ..self.group }
    }
}

fn has_place(origin: &Origin) -> bool {
    !matches!(origin.kind, OriginKind::Flush | OriginKind::Discard)
}

/// The ways between places, in the order in which the devices were done.
fn ways(step: &TracedStep, groups: &[usize]) -> Vec<Way> {
    let mut last: Vec<Option<(u64, usize)>> = vec![None; step.devices.len()];
    let mut found: BTreeMap<[usize; 2], (u64, u64)> = BTreeMap::new();
    let is_placed =
        |one: &TracedRequest| step.origins.get(one.origin as usize).is_some_and(has_place);
    let placed = groups.iter().zip(&step.requests).filter(|(_, one)| is_placed(one));
    for (group, request) in placed {
        let Some(last) = last.get_mut(usize::from(request.device)) else { continue };
        let end = request.sector + u64::from(request.sectors);
        let Some((from, before)) = last.replace((end, *group)) else { continue };
        let length = from.abs_diff(request.sector);
        if length > NEAR_SECTORS {
            let ends = [before.min(*group), before.max(*group)];
            let (count, sum) = found.entry(ends).or_default();
            *count += 1;
            *sum += length * 512;
        }
    }
    let way = |(ends, (count, sum))| Way { ends, count, mean_bytes: sum / count };
    let mut ways: Vec<Way> = found.into_iter().map(way).collect();
    ways.sort_by_key(|way| std::cmp::Reverse(way.count));
    ways.truncate(MAX_WAYS);
    ways
}

/// Adds requests to the picture. Those that continue each other are one; of too many every second, third … is drawn.
fn draw(traffic: &mut Traffic, step: &TracedStep, groups: &[usize]) {
    let total = step.devices.iter().sum::<u64>().max(1);
    let mut runs: Vec<(TracedRequest, usize)> = Vec::new();
    for (request, group) in step.requests.iter().zip(groups) {
        match runs.last_mut() {
            Some((run, of)) if *of == *group && continues(run, request) => {
                run.sectors += request.sectors;
                let end_ns = request.at_ns + request.took_ns;
                run.took_ns = run.took_ns.max(end_ns.saturating_sub(run.at_ns));
            }
            _ => runs.push((*request, *group)),
        }
    }
    runs.sort_by_key(|(run, _)| run.at_ns);
    let every = runs.len().div_ceil(MAX_DRAWN).max(1);
    traffic.drawn_every = every as u32;
    let mut before_us = 0;
    for (run, group) in runs.iter().step_by(every) {
        let at_us = run.at_ns / 1000;
        let share = place(step, run) as f64 / total as f64;
        let one = Drawn {
            at_us,
            took_us: u32::try_from(run.took_ns / 1000).unwrap_or(u32::MAX),
            place: (share * f64::from(Traffic::PLACES)) as u32,
            kib: run.sectors / 2,
            group: *group,
        };
        traffic.draw(one, before_us);
        before_us = at_us;
    }
}

fn continues(run: &TracedRequest, next: &TracedRequest) -> bool {
    next.sectors > 0
        && run.device == next.device
        && run.writes == next.writes
        && run.sector + u64::from(run.sectors) == next.sector
}
