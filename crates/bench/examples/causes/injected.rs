//! One case: a device, the same device worse in one law, a stream of requests, and the attribution.

use std::collections::BTreeMap;
use std::fmt;

use seekwell_device::{
    DeviceError, DeviceFile, Geometry, Lba, Model, Operation, Request, build, catalogue,
};
use seekwell_model::laws::{Law, LawSet};
use seekwell_stats::attribution::{Attribution, USUAL_SINGLE, attribute};
use seekwell_stats::{Rng, derive_seed, seeded};

/// Columns of a case.
pub const HEAD: &str = "case,kind,device,law,factor,slower_by,first,first_share,second,rest_share";

/// A case counts if the law makes the device slower by this part at least.
const SLOWER_BY: f64 = 0.05;

/// Steps in which a seek curve is made longer.
const SEEK_STEPS: u32 = 64;

/// Requests of a stream.
const REQUESTS: usize = 400;

const KINDS: [(&str, &[&str]); 3] = [
    (
        "disk",
        &[
            "maxtor-6y080l0", "sata-2tb-5400", "hdd-8tb-7200", "hdd-8tb-7200-no-cache",
            "pata-200gb-7200", "ide-40gb-2005", "ibm-ddys-t18350n", "wd-raptor-wd740gd",
            "sata-500gb-7200",
        ],
    ),
    (
        "flash",
        &[
            "cf-transcend-133x", "cf-lexar-233x", "cf-kingston-24x", "sd-card-4mib",
            "usb2-stick-512mb", "ssd-sata-250gb", "ssd-sata-960gb-plp", "ssd-nvme-512gb",
            "ssd-nvme-1920gb-plp",
        ],
    ),
    ("volume", &["cloud-gp2-100gb", "cloud-gp3-100gb", "fixed", "ram"]),
];

/// Numbers of device files by the law that they are part of, in the order in which they can be changed, and whether
/// a larger number is the worse one. A missing number is left out.
const NUMBERS: &[(Law, &[(&str, bool)])] = &[
    // The skews leave no room for a longer seek to the next cylinder.
    (Law::Seek, &[("rotating.seek.full_us", true), ("rotating.seek.average_us", true)]),
    (
        Law::Settle,
        &[
            ("rotating.write_settle_us", true),
            ("rotating.read_settle_us", true),
            ("rotating.measured_qd1_read_us", true),
        ],
    ),
    // As many sectors pass in a second: longer tracks on a slower disk.
    (
        Law::Rotation,
        &[
            ("rotating.layout.outer_sectors_per_track", true),
            ("rotating.layout.inner_sectors_per_track", true),
            ("rotating.rpm", false),
        ],
    ),
    (
        Law::Transfer,
        &[
            ("rotating.layout.inner_sectors_per_track", false),
            ("rotating.layout.outer_sectors_per_track", false),
        ],
    ),
    (
        Law::Overhead,
        &[
            ("rotating.overhead.read_hit_us", true),
            ("rotating.overhead.read_miss_us", true),
            ("rotating.overhead.write_us", true),
            ("flash.read_command_us", true),
            ("flash.write_command_us", true),
            ("ssd.read_command_us", true),
            ("ssd.write_command_us", true),
        ],
    ),
    (Law::Bus, &[("bus.0.mb_per_s", false), ("fixed.mb_per_s", false), ("ram.mb_per_s", false)]),
    (
        Law::Flush,
        &[
            ("rotating.overhead.flush_us", true),
            ("ssd.flush_us", true),
            ("fixed.flush_latency_us", true),
        ],
    ),
    (Law::Cells, &[("flash.read_page_us", true), ("ssd.read_page_us", true)]),
    (Law::Program, &[("flash.program_page_us", true), ("ssd.program_us", true)]),
    (Law::Collect, &[("flash.copy_page_us", true), ("flash.erase_us", true)]),
    (Law::Mapping, &[("flash.unit_change_us", true)]),
    (Law::Channel, &[("ssd.channel_mb_per_s", false)]),
    (Law::Latency, &[("fixed.read_latency_us", true), ("fixed.write_latency_us", true)]),
    (Law::RequestLimit, &[("fixed.limit.per_second", false)]),
    (Law::ByteLimit, &[("fixed.limit.mb_per_s", false)]),
];

/// A case and its outcome.
pub struct Case {
    number: u32,
    kind: &'static str,
    device: String,
    law: Law,
    factor: f64,
    slower_by: f64,
    laws: Vec<Law>,
    found: Attribution,
}

impl Case {
    /// True if the injected law has the largest amount, by itself.
    pub fn is_right(&self) -> bool {
        self.name(0) == self.law.name()
    }

    fn name(&self, at: usize) -> &'static str {
        match self.found.parts.get(at).map(|part| part.causes.as_slice()) {
            Some([only]) => self.laws[*only].name(),
            Some(_) => "others",
            None => "none",
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, kind, device, law, factor, slower_by, found, .. } = self;
        let share = |amount: f64| amount / found.difference;
        write!(
            out,
            "{number},{kind},{device},{},{factor:.2},{slower_by:.3},{},{:.3},{},{:.3}",
            law.name(),
            self.name(0),
            share(found.parts[0].amount),
            self.name(1),
            share(found.rest)
        )
    }
}

/// The case of this number: drawn anew until the law makes the device slower.
///
/// # Errors
/// When a shipped device file is wrong.
pub fn case(number: u32) -> Result<Case, DeviceError> {
    let files = catalogue()?;
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut random = seeded(derive_seed(43, &format!("{number} {attempt}")));
        let (kind, names) = KINDS[number as usize % KINDS.len()];
        let device = names[random.index(names.len())];
        if let Some(case) = drawn(number, kind, &files, device, &mut random) {
            return Ok(case);
        }
    }
}

fn drawn(
    number: u32,
    kind: &'static str,
    files: &BTreeMap<String, DeviceFile>,
    device: &str,
    random: &mut Rng,
) -> Option<Case> {
    let file = &files[device];
    let (law, numbers) = NUMBERS[random.index(NUMBERS.len())];
    let stream = stream(&build(file, 1).geometry(), random);
    let plain = build(file, 1);
    let mut factor = 1.5 + 2.5 * random.uniform();
    let whole = |file: &DeviceFile| seconds(build(file, 1), &stream);
    let before = whole(file);
    // A small part of the time needs a larger factor to be seen.
    for _ in 0..6 {
        let worse = changed(file, law, numbers, factor)?;
        let slower_by = whole(&worse) / before - 1.0;
        if slower_by < SLOWER_BY {
            factor *= 2.0;
            continue;
        }
        let laws: Vec<Law> = plain.laws().union(build(&worse, 1).laws()).iter().collect();
        let found = attributed(file, &worse, &laws, &stream);
        let device = device.to_owned();
        return Some(Case { number, kind, device, law, factor, slower_by, laws, found });
    }
    None
}

/// The device worse in one law; `None` if it does not have the numbers, or the file would be refused.
fn changed(
    file: &DeviceFile,
    law: Law,
    numbers: &[(&str, bool)],
    factor: f64,
) -> Option<DeviceFile> {
    let measured = "rotating.measured_qd1_read_us";
    let is_calibrated = file.values().contains_key(measured);
    // The measured mean of a calibrated disk would take back what another law costs more.
    if is_calibrated && matches!(law, Law::Seek | Law::Rotation) {
        return None;
    }
    let known: Vec<(&str, f64, bool)> = numbers
        .iter()
        .filter_map(|(key, larger)| Some((*key, file.values().get(*key)?.parse().ok()?, *larger)))
        .collect();
    // In small steps, because the numbers of a seek curve must fit each other at each of them.
    let steps = if law == Law::Seek { SEEK_STEPS } else { 1 };
    let mut worse = file.clone();
    for step in 1..=steps {
        let factor = factor.powf(f64::from(step) / f64::from(steps));
        for (key, value, larger) in &known {
            let value = match *larger {
                // A time of zero has no factor.
                true if *value == 0.0 => 100.0 * factor,
                true => value * factor,
                false => value / factor,
            };
            let value = if key.ends_with("sectors_per_track") { value.round() } else { value };
            worse = worse.with(key, value).ok()?;
        }
    }
    (!known.is_empty()).then_some(worse)
}

/// One request of a stream: what it does, and the time that the host thinks before it.
#[derive(Clone, Copy, Debug)]
struct Asked {
    think_ns: u64,
    operation: Operation,
    lba: u64,
    sectors: u32,
}

/// A stream of one of five loads, as a filesystem would send it, and how many requests are under way at once.
fn stream(geometry: &Geometry, random: &mut Rng) -> (Vec<Asked>, usize) {
    let block = u64::from(geometry.logical_block.max(4096) / 512);
    let most = u64::from(geometry.max_request_bytes / 512).min(256);
    let area = (geometry.sectors_512 / [1, 8, 64][random.index(3)]).max(1 << 14);
    let load = random.index(5);
    let depth = if load == 4 { 1 } else { [1, 4, 8][random.index(3)] };
    let depth = depth.min(geometry.queue_depth as usize);
    let think_ns = [0, 20_000, 200_000][random.index(3)];
    let mut next = 0;
    let mut asked = Vec::with_capacity(REQUESTS);
    while asked.len() < REQUESTS {
        let random_lba = random.below(area / block - 1) * block;
        let long = most / block * block;
        let (operation, lba, sectors) = match (load, asked.len() % 8) {
            (0, _) => (Operation::Read, random_lba, block),
            (1, _) => (Operation::Read, next, long),
            (2, _) => (Operation::Write, random_lba, block),
            (3, _) => (Operation::Write, next, long),
            // Small files: data, log, flush, and a read now and then.
            (_, 0 | 4) => (Operation::Write, random_lba, block * 4),
            (_, 1 | 5) => (Operation::Write, next, block),
            (_, 2 | 6) => (Operation::Flush, 0, 0),
            (_, _) => (Operation::Read, random_lba, block * 2),
        };
        let sectors = sectors.min(most);
        if lba == next && operation != Operation::Flush {
            next = (next + sectors) % (area - most);
            next -= next % block;
        }
        let lba = lba.min(geometry.sectors_512 - sectors.max(block));
        asked.push(Asked { think_ns, operation, lba: lba - lba % block, sectors: sectors as u32 });
    }
    (asked, depth)
}

/// Time until a stream is done: each request is sent when one of those before is, after the host's thinking.
fn seconds(mut model: Box<dyn Model>, (stream, depth): &(Vec<Asked>, usize)) -> f64 {
    let (mut now_ns, mut done, mut under_way) = (0, Vec::new(), 0);
    for (id, one) in (1..).zip(stream) {
        while under_way >= *depth {
            now_ns = model.next_event_ns().unwrap_or(now_ns).max(now_ns);
            model.advance(now_ns, &mut done);
            under_way -= done.drain(..).count();
        }
        now_ns += one.think_ns;
        let Asked { operation, lba, sectors, .. } = *one;
        let request = Request { id, operation, lba: Lba(lba), sectors, fua: false };
        under_way += usize::from(model.submit(now_ns, request).is_ok());
    }
    while let Some(at_ns) = model.next_event_ns() {
        now_ns = now_ns.max(at_ns);
        model.advance(now_ns, &mut done);
    }
    now_ns as f64 / 1e9
}

/// Attribution of the difference between two devices, as by `seekwell why`; it knows neither law nor factor.
fn attributed(
    plain: &DeviceFile,
    worse: &DeviceFile,
    laws: &[Law],
    stream: &(Vec<Asked>, usize),
) -> Attribution {
    let time = |file: &DeviceFile, on: u32| {
        let off = laws.iter().enumerate().filter(|(at, _)| on >> at & 1 == 0);
        let off: LawSet = off.map(|(_, law)| *law).collect();
        let mut model = build(file, 1);
        model.switch_off(off);
        seconds(model, stream)
    };
    let mut evaluate = |sets: &[u32]| {
        let difference = |on: &u32| time(worse, *on) - time(plain, *on);
        Ok::<Vec<f64>, std::convert::Infallible>(sets.iter().map(difference).collect())
    };
    match attribute(laws.len(), USUAL_SINGLE, &mut evaluate) {
        Ok(found) => found,
        Err(never) => match never {},
    }
}
