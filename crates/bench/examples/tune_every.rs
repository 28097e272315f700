//! Measures every configuration of some filesystems, as an exhaustive set to judge `seekwell tune` by, and searches
//! it: `tune_every measure LAB DEVICE FILESYSTEM… > FILE`;
//! `tune_every judge FILE…` needs neither kernel nor root.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "a measurement that cannot be made must not look like one"
)]

use seekwell_host::sysfs::System;
use seekwell_session::{LabText, Machine, Session, Tuning, atlas};
use seekwell_stats::rng::{Rng, seeded};
use seekwell_stats::search::{Point, Space, search};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Configurations of one plan.
const BATCH: usize = 64;
/// Share of the configurations that a search may measure.
const SHARE: f64 = 0.05;
/// Seeds of the draw and of annealing.
const SEEDS: u64 = 1_000;
/// Least gain of a change in the search, as in `tune` where trials do not vary.
const WORTH: f64 = 0.005;
/// Factor of the best that counts as found.
const NEAR: f64 = 1.02;
/// Temperatures of annealing, in logarithms of the value: from a change of a third to less than the least gain.
const TEMPERATURES: [f64; 2] = [0.3, 0.003];

fn main() {
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if let Some(served) = seekwell_session::serve(&words, std::io::stdin(), std::io::stdout()) {
        return served.expect("an agent or a guest that ends well");
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["measure", lab, device, filesystems @ ..] => measure(lab, device, filesystems),
        ["judge", files @ ..] => files.iter().for_each(|file| judge(file)),
        other => panic!("measure LAB DEVICE FILESYSTEM… or judge FILE…, not {other:?}"),
    }
}

fn session() -> Session {
    let home = std::env::var_os("HOME").expect("a home with the lab kernel");
    let path = std::env::var_os("PATH").unwrap_or_default();
    Session::new(Machine {
        system: System::host(),
        program: std::env::current_exe().unwrap(),
        state: PathBuf::from("/var/lib/seekwell"),
        kernels: Some(PathBuf::from(home).join(".cache/seekwell/kernels")),
        folders: std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).collect(),
        temporary: std::env::temp_dir(),
    })
}

/// Every point of the spaces of these names.
fn every(spaces: &[Space], names: &[&str], wanted: &[&str]) -> Vec<Point> {
    let of_space = |(space, axes): (usize, &Space)| {
        let mut points = vec![Point { space, levels: vec![0; axes.axes.len()] }];
        for (axis, levels) in axes.axes.iter().enumerate() {
            let each =
                |point: &Point| (0..*levels).map(|one| point.with(axis, one)).collect::<Vec<_>>();
            points = points.iter().flat_map(each).collect();
        }
        points
    };
    let is_wanted = |(space, _): &(usize, &Space)| wanted.contains(&names[*space]);
    spaces.iter().enumerate().filter(is_wanted).flat_map(of_space).collect()
}

fn measure(lab: &str, device: &str, filesystems: &[&str]) {
    let session = session();
    let text = LabText::read(Path::new(lab)).unwrap();
    let tuning =
        Tuning::new(&session, &text, atlas::device(device).expect("a device"), None).unwrap();
    let names: Vec<&str> = tuning.filesystems().collect();
    let points = every(&tuning.spaces(), &names, filesystems);
    eprintln!("{} configurations of {filesystems:?}", points.len());
    println!("space,levels,value");
    let mut done = 0;
    for batch in points.chunks(BATCH) {
        let values = tuning.measure(batch, 1, &Arc::new(AtomicBool::new(false))).unwrap();
        for (point, value) in batch.iter().zip(values) {
            let levels: Vec<String> = point.levels.iter().map(ToString::to_string).collect();
            let value = value.map_or_else(String::new, |value| format!("{value:.6e}"));
            println!("{},{},{value}", names[point.space], levels.join("."));
        }
        done += batch.len();
        eprintln!("{done}");
    }
}

/// The set of a file: its spaces, and the value of each configuration.
struct Known {
    spaces: Vec<Space>,
    values: BTreeMap<(usize, Vec<usize>), Option<f64>>,
}

impl Known {
    fn read(file: &str) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut spaces: Vec<Space> = Vec::new();
        let mut values = BTreeMap::new();
        for row in std::fs::read_to_string(file).unwrap().lines().skip(1) {
            let [name, levels, value] = row.split(',').collect::<Vec<_>>()[..] else {
                panic!("{row}")
            };
            let levels: Vec<usize> =
                levels.split('.').map(|level| level.parse().unwrap()).collect();
            let space = names.iter().position(|one| one == name).unwrap_or_else(|| {
                names.push(name.to_owned());
                spaces.push(Space { axes: vec![1; levels.len()] });
                names.len() - 1
            });
            for (most, level) in spaces[space].axes.iter_mut().zip(&levels) {
                *most = (*most).max(level + 1);
            }
            values.insert((space, levels), value.parse().ok());
        }
        let all: u64 = spaces.iter().map(Space::configurations).sum();
        assert_eq!(all, values.len() as u64, "{file} is not exhaustive");
        Self { spaces, values }
    }

    fn value(&self, point: &Point) -> f64 {
        self.values[&(point.space, point.levels.clone())].unwrap_or(f64::INFINITY)
    }
}

/// Returns the best value found within a number of trials.
type Way = fn(&Known, usize, &mut Rng) -> f64;

fn judge(file: &str) {
    let known = Known::read(file);
    let finite = || known.values.values().flatten().copied();
    let best = finite().fold(f64::INFINITY, f64::min);
    let near = finite().filter(|value| *value <= best * NEAR).count();
    let defaults = known
        .spaces
        .iter()
        .enumerate()
        .map(|(space, axes)| known.value(&Point { space, levels: vec![0; axes.axes.len()] }));
    let default = defaults.fold(f64::INFINITY, f64::min);
    let most = (known.values.len() as f64 * SHARE) as usize;
    let mut asked = |points: &[Point]| {
        let each =
            points.iter().map(|point| Some(known.value(point)).filter(|one| one.is_finite()));
        Ok::<_, std::convert::Infallible>(each.collect())
    };
    let Ok(measured) = search(&known.spaces, most, WORTH, &mut asked);
    let found = measured.iter().filter_map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
    println!(
        "{file}: {} configurations, {near} within 2 % of the best; the best default {:.4} times the best",
        known.values.len(),
        default / best
    );
    println!("  tune: {:.4} times the best after {} trials", found / best, measured.len());
    let ways: [(&str, Way); 2] = [("random", draw), ("annealing", anneal)];
    for (name, way) in ways {
        for trials in [measured.len(), most] {
            let mut each: Vec<f64> =
                (0..SEEDS).map(|seed| way(&known, trials, &mut seeded(seed)) / best).collect();
            each.sort_by(f64::total_cmp);
            let within = each.iter().filter(|ratio| **ratio <= NEAR).count();
            println!(
                "  {name}: median {:.4}, 95th of 100 {:.4}; within 2 % in {within} of {SEEDS}, after {trials} trials",
                each[each.len() / 2],
                each[each.len() * 95 / 100]
            );
        }
    }
}

/// The best of a draw without going back.
fn draw(known: &Known, trials: usize, rng: &mut Rng) -> f64 {
    let mut order: Vec<&Option<f64>> = known.values.values().collect();
    let drawn = (0..trials).map(|index| {
        let other = index + rng.index(order.len() - index);
        order.swap(index, other);
        order[index].unwrap_or(f64::INFINITY)
    });
    drawn.fold(f64::INFINITY, f64::min)
}

/// The best of an annealing from the best default: another level of one axis, or one time in ten another space's
/// default. A configuration that comes again costs no trial.
fn anneal(known: &Known, trials: usize, rng: &mut Rng) -> f64 {
    let default = |space: usize| Point { space, levels: vec![0; known.spaces[space].axes.len()] };
    let mut seen: BTreeMap<(usize, Vec<usize>), f64> = BTreeMap::new();
    let take = |point: &Point, seen: &mut BTreeMap<(usize, Vec<usize>), f64>| {
        *seen.entry((point.space, point.levels.clone())).or_insert_with(|| known.value(point))
    };
    let mut at = default(0);
    let mut value = take(&at, &mut seen);
    for space in 1..known.spaces.len() {
        let other = take(&default(space), &mut seen);
        if other < value {
            (at, value) = (default(space), other);
        }
    }
    for _ in 0..trials * 10 {
        if seen.len() >= trials {
            break;
        }
        let next = match rng.below(10) {
            0 => default(rng.index(known.spaces.len())),
            _ => {
                let axes = &known.spaces[at.space].axes;
                let axis = rng.index(axes.len());
                at.with(axis, rng.index(axes[axis]))
            }
        };
        let other = take(&next, &mut seen);
        let share = seen.len() as f64 / trials as f64;
        let temperature = TEMPERATURES[0] * (TEMPERATURES[1] / TEMPERATURES[0]).powf(share);
        let worse = (other / value).ln();
        if worse <= 0.0 || rng.uniform() < (-worse / temperature).exp() {
            (at, value) = (next, other);
        }
    }
    seen.values().copied().fold(f64::INFINITY, f64::min)
}
