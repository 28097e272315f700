//! Record of a probe, and the part of its measurements that no fit sees.
//!
//! Experiments reach the device through a [`Recorder`] alone and measure with [`Draws::one`] or [`Draws::repeat`]. One
//! measurement of three, drawn by lot, is sealed: the experiment gets `None` for it, and its times stay in the [`Tape`].
//! Their only way out is [`Tape::replay`], which makes the requests of the whole probe again on the model of a finished file.

use std::collections::{BTreeMap, BTreeSet};

use seekwell_stats::{Rng, seeded};

use super::simulated::Simulated;
use super::{Direction, ReadFailed, Result, Span, Target, Timed, WriteFailed, WriteTarget};
use seekwell_device::model::Geometry;

/// Most waiting reads among which a disk may sort.
pub(super) const MOST_WINDOW: u32 = 32;

/// Remark on an accuracy that is cut.
pub(super) const CUT: &str = "The time was over before all withheld requests were made";

/// Class of reads anywhere on the device.
pub(super) const RANDOM_READS: &str = "random reads";

/// Class of writes that are each flushed.
pub(super) const SYNCED: &str = "random writes, each flushed";

/// Class of random writes in steady state.
pub(super) const RANDOM: &str = "random writes, cache full";

#[cfg(test)]
mod tests;

/// One of so many measurements is sealed.
const OF: usize = 3;

/// Requests of a measurement whose times are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// Those made last: one request, or all of a list.
    Last,
    /// Those made first.
    First,
    /// All.
    Each,
    /// The first four fifths, where one request more or less decides when a cache is full.
    Early,
    /// All as one: from the start of the first to the end of the last.
    Whole,
}

/// A class of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// Name for people.
    pub(super) name: &'static str,
    /// Requests at a time.
    pub(super) depth: u32,
    pub(super) judged: Judged,
}

impl Class {
    /// A class of single requests.
    pub(super) const fn of(name: &'static str, judged: Judged) -> Self {
        Self { name, depth: 1, judged }
    }

    pub(super) const fn at(self, depth: u32) -> Self {
        Self { depth, ..self }
    }
}

/// Times of one class on the device and on a model, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compared {
    pub(super) name: &'static str,
    pub(super) depth: u32,
    pub(super) device_ns: Vec<u64>,
    pub(super) model_ns: Vec<u64>,
    /// Time in which the device served them.
    pub(super) elapsed_ns: u64,
}

/// Everything that a probe asked of a device, with the times of the sealed measurements.
#[derive(Clone, Debug)]
pub struct Tape {
    lot: Lot,
    deeds: Vec<Deed>,
    /// Classes of sealed measurements, without times.
    classes: Vec<Compared>,
    samples: Vec<Sample>,
    measured: u64,
    withheld: u64,
    /// Times of the measurement under way, by deed.
    under_way: Option<(usize, Vec<Vec<Timed>>)>,
    /// Begin of the probe.
    begun_ns: Option<u64>,
    end_ns: Option<u64>,
}

/// Requests that were made together.
#[derive(Clone, Debug)]
struct Deed {
    /// Time between the end of those before and the start of these.
    gap_ns: u64,
    requests: Requests,
    depth: u32,
}

#[derive(Clone, Debug)]
enum Requests {
    Reads(Vec<Span>),
    Writes(Vec<Span>),
    Mixed(Vec<(Direction, Span)>),
    Flush,
}

/// A time that only the judge sees: from the start of a request to the end of the same or a later one.
#[derive(Clone, Copy, Debug)]
struct Sample {
    class: usize,
    /// Deed and request in it.
    from: (usize, usize),
    to: (usize, usize),
    device_ns: u64,
}

impl Tape {
    /// An empty record; the seed decides which measurements are sealed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            lot: Lot::new(seed),
            deeds: Vec::new(),
            classes: Vec::new(),
            samples: Vec::new(),
            measured: 0,
            withheld: 0,
            under_way: None,
            begun_ns: None,
            end_ns: None,
        }
    }

    /// Time at which the first experiment began; `None` before it.
    pub(super) const fn begun_ns(&self) -> Option<u64> {
        self.begun_ns
    }

    /// Measurements made so far.
    #[must_use]
    pub const fn measured(&self) -> u64 {
        self.measured
    }

    /// Measurements that no fit saw.
    #[must_use]
    pub const fn withheld(&self) -> u64 {
        self.withheld
    }

    /// Decides whether the next measurement is sealed.
    pub(super) fn draw(&mut self) -> bool {
        self.lot.draw()
    }

    /// Decides it for so many measurements: of each three in this order one is sealed.
    pub(super) fn draws(&mut self, count: usize) -> Vec<bool> {
        self.lot.next = OF;
        (0..count).map(|_| self.lot.draw()).collect()
    }

    fn begin(&mut self) {
        self.under_way = Some((self.deeds.len(), Vec::new()));
    }

    /// Ends a measurement: its result, or `None` when it is sealed.
    fn end<T>(&mut self, is_sealed: bool, class: Class, result: T) -> Option<T> {
        self.measured += 1;
        let (first, times) = self.under_way.take()?;
        if !is_sealed {
            return Some(result);
        }
        self.withheld += 1;
        self.seal(class, first, &times);
        None
    }

    fn seal(&mut self, class: Class, first: usize, times: &[Vec<Timed>]) {
        let last = times.len().saturating_sub(1);
        let deeds = match class.judged {
            Judged::First => 0..times.len().min(1),
            Judged::Last => last..times.len(),
            Judged::Early => 0..times.len() * 4 / 5,
            Judged::Each | Judged::Whole => 0..times.len(),
        };
        let requests: Vec<((usize, usize), Timed)> = deeds
            .flat_map(|deed| {
                let of_deed = times.get(deed).into_iter().flatten().enumerate();
                of_deed.map(move |(nth, time)| ((first + deed, nth), *time))
            })
            .collect();
        let (Some((from, start)), Some((to, end))) = (requests.first(), requests.last()) else {
            return;
        };
        let ends = requests.iter().map(|(_, time)| time.end_ns);
        let elapsed_ns = ends.max().unwrap_or(end.end_ns).saturating_sub(start.start_ns);
        let index = self.class(class);
        if let Some(sealed) = self.classes.get_mut(index) {
            sealed.elapsed_ns += elapsed_ns;
        }
        let sample = |from, to, device_ns| Sample { class: index, from, to, device_ns };
        if class.judged == Judged::Whole {
            self.samples.push(sample(*from, *to, elapsed_ns));
        } else {
            let each = requests.iter().map(|(at, time)| sample(*at, *at, time.took_ns()));
            self.samples.extend(each);
        }
    }

    fn class(&mut self, class: Class) -> usize {
        let Class { name, depth, .. } = class;
        let known = self.classes.iter().position(|one| one.name == name && one.depth == depth);
        known.unwrap_or_else(|| {
            let (device_ns, model_ns) = (Vec::new(), Vec::new());
            self.classes.push(Compared { name, depth, device_ns, model_ns, elapsed_ns: 0 });
            self.classes.len() - 1
        })
    }

    fn note(&mut self, requests: Requests, depth: u32, times: &[Timed]) {
        let Some(start_ns) = times.iter().map(|time| time.start_ns).min() else { return };
        let gap_ns = self.end_ns.map_or(0, |end_ns| start_ns.saturating_sub(end_ns));
        self.end_ns = times.iter().map(|time| time.end_ns).max();
        self.deeds.push(Deed { gap_ns, requests, depth });
        if let Some((_, under_way)) = &mut self.under_way {
            under_way.push(times.to_vec());
        }
    }

    /// Makes all requests again on a model, with the pauses between them, and puts the sealed times beside those of the model.
    pub(super) fn replay(&self, model: &mut Simulated) -> Result<Vec<Compared>> {
        let ends = |sample: &Sample| [sample.from.0, sample.to.0];
        let wanted: BTreeSet<usize> = self.samples.iter().flat_map(ends).collect();
        let mut modelled: BTreeMap<usize, Vec<Timed>> = BTreeMap::new();
        for (index, deed) in self.deeds.iter().enumerate() {
            model.pause(deed.gap_ns);
            let times = match &deed.requests {
                Requests::Reads(spans) => model.read_all(spans, deed.depth)?,
                Requests::Writes(spans) => model.write_all(spans, deed.depth)?,
                Requests::Mixed(requests) => model.mix_all(requests, deed.depth)?,
                Requests::Flush => vec![model.flush()?],
            };
            if wanted.contains(&index) {
                modelled.insert(index, times);
            }
        }
        let mut compared = self.classes.clone();
        for sample in &self.samples {
            let time = |(deed, nth): (usize, usize)| modelled.get(&deed)?.get(nth);
            let (from, to) = (time(sample.from), time(sample.to));
            let (Some(class), Some(from), Some(to)) = (compared.get_mut(sample.class), from, to)
            else {
                continue;
            };
            class.device_ns.push(sample.device_ns);
            class.model_ns.push(to.end_ns.saturating_sub(from.start_ns));
        }
        Ok(compared)
    }
}

/// A lot that falls on one of each three.
#[derive(Clone, Debug)]
struct Lot {
    random: Rng,
    sealed: usize,
    next: usize,
}

impl Lot {
    fn new(seed: u64) -> Self {
        Self { random: seeded(seed), sealed: 0, next: OF }
    }

    fn draw(&mut self) -> bool {
        if self.next >= OF {
            self.sealed = (self.random.next_u64() % OF as u64) as usize;
            self.next = 0;
        }
        self.next += 1;
        self.next == self.sealed + 1
    }
}

/// A target that is recorded.
pub(super) trait Taped: Target {
    fn tape(&mut self) -> &mut Tape;
}

/// The same for one that can be written.
pub(super) trait TapedWrites: WriteTarget + Taped {}

/// A device whose requests are recorded.
#[derive(Debug)]
pub(super) struct Recorder<'t, T: ?Sized> {
    target: &'t mut T,
    tape: &'t mut Tape,
}

impl<'t, T: Target + ?Sized> Recorder<'t, T> {
    pub(super) fn new(target: &'t mut T, tape: &'t mut Tape) -> Self {
        tape.begun_ns.get_or_insert_with(|| target.now_ns());
        tape.end_ns.get_or_insert_with(|| target.now_ns());
        Self { target, tape }
    }
}

impl<T: Target + ?Sized> Target for Recorder<'_, T> {
    fn geometry(&self) -> Geometry {
        self.target.geometry()
    }

    fn now_ns(&self) -> u64 {
        self.target.now_ns()
    }

    fn wait_until(&mut self, at_ns: u64) {
        self.target.wait_until(at_ns);
    }

    fn disturbance(&self) -> Option<String> {
        self.target.disturbance()
    }

    fn read_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, ReadFailed> {
        let times = self.target.read_all(requests, depth)?;
        self.tape.note(Requests::Reads(requests.to_vec()), depth, &times);
        Ok(times)
    }
}

impl<T: WriteTarget + ?Sized> WriteTarget for Recorder<'_, T> {
    fn write_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, WriteFailed> {
        let times = self.target.write_all(requests, depth)?;
        self.tape.note(Requests::Writes(requests.to_vec()), depth, &times);
        Ok(times)
    }

    fn mix_all(&mut self, requests: &[(Direction, Span)], depth: u32) -> Result<Vec<Timed>> {
        let times = self.target.mix_all(requests, depth)?;
        self.tape.note(Requests::Mixed(requests.to_vec()), depth, &times);
        Ok(times)
    }

    fn flush(&mut self) -> Result<Timed, WriteFailed> {
        let time = self.target.flush()?;
        self.tape.note(Requests::Flush, 1, &[time]);
        Ok(time)
    }
}

impl<T: Target + ?Sized> Taped for Recorder<'_, T> {
    fn tape(&mut self) -> &mut Tape {
        self.tape
    }
}

impl<T: WriteTarget + ?Sized> TapedWrites for Recorder<'_, T> {}

/// Experiments, whose measurements are drawn.
pub(super) trait Draws: Sized {
    fn tape(&mut self) -> &mut Tape;

    /// Makes a measurement. `None` when it is sealed: then its times are for the judge alone, and its result is dropped here.
    /// A measurement is no `FnMut`, so that it has no other way to hand on what it saw.
    fn drawn<T>(
        &mut self,
        is_sealed: bool,
        class: Class,
        measure: impl Fn(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        self.tape().begin();
        let result = measure(self)?;
        Ok(self.tape().end(is_sealed, class, result))
    }

    /// The same, and the lot decides whether it is sealed.
    fn one<T>(
        &mut self,
        class: Class,
        measure: impl Fn(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        let is_sealed = self.tape().draw();
        self.drawn(is_sealed, class, measure)
    }

    /// Measures until so many results may be seen.
    fn repeat<T>(
        &mut self,
        class: Class,
        count: usize,
        measure: impl Fn(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut seen = Vec::with_capacity(count);
        while seen.len() < count {
            seen.extend(self.one(class, &measure)?);
        }
        Ok(seen)
    }

    /// The answer of most of a few measurements.
    fn mostly(
        &mut self,
        class: Class,
        is_true: impl Fn(&mut Self) -> Result<bool>,
    ) -> Result<bool> {
        const TRIES: usize = 3;
        let answers = self.repeat(class, TRIES, is_true)?;
        Ok(answers.into_iter().filter(|answer| *answer).count() * 2 > TRIES)
    }
}
