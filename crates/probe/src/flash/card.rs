//! Cards and sticks: erase units that are mapped as wholes. Each quantity by a small experiment of its own, after
//! the ideas of flashbench: the boundary of a unit and the number of open ones show in the times of writes.

use super::super::head::{BLOCK, median, middle};
use super::super::tape::{Class, Draws, Judged, Tape};
use super::super::writes::Pen;
use super::super::{Interval, News, ProbeError, Result, Span, Stage};
use super::steps::{Steps, steps};
use super::{ROWS, minus, report, scaled};

/// Times that a single request is measured.
const TIMES: usize = 9;

const AGAIN: Class = Class::of("reads behind one another", Judged::Last);
const OTHER_UNIT: Class = Class::of("reads of another unit", Judged::Last);
const IN_TURN: Class = Class::of("writes to units in turn", Judged::Last);
const FIRST: Class = Class::of("first writes to a unit", Judged::Last);

/// Longest page looked for, in sectors: 128 KiB.
const LONGEST_PAGE: u32 = 256;

/// Most pages that are programmed at once.
const MOST_PLANES: u32 = 16;

/// Most units looked for that may be open at once.
const MOST_OPEN: u32 = 32;

/// Part of the device that the writes in a row use: at most 128 MiB.
const MOST_REGION: u64 = 1 << 18;

/// Units after whose boundaries the period of a row of writes counts as known.
const ENOUGH_UNITS: usize = 8;

/// Everything found about a card or stick. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// Bytes of a page.
    pub page_bytes: Interval,
    /// Bytes of an erase unit.
    pub unit_bytes: Interval,
    /// Units that may be written in turn: fewest and most that fit.
    pub open_units: [u32; 2],
    /// Pages programmed at once: fewest and most that fit.
    pub planes: [u32; 2],
    /// First unit that takes only rising order; `None` when every unit tried takes any.
    pub linear_from_unit: Option<u32>,
    /// Command of a read, with its way over the bus.
    pub read_command_ns: Interval,
    /// Command of a write.
    pub write_command_ns: Interval,
    /// Reading a page from the cells.
    pub read_page_ns: Interval,
    /// Programming a page.
    pub program_page_ns: Interval,
    /// Copying a page inside the device; `None` when no write closed a unit.
    pub copy_page_ns: Option<Interval>,
    /// Erasing a unit.
    pub erase_ns: Interval,
    /// A command for another unit than the last one.
    pub unit_change_ns: Interval,
    /// A sector over the bus.
    pub sector_ns: Interval,
}

/// The place of the experiments and what is known so far.
struct Bench<'p, 't> {
    pen: &'p mut Pen<'t>,
    /// First sector and sectors of the region.
    first: u64,
    sectors: u64,
    page: u32,
    unit: u64,
    /// Unit of the region that is used next, so that each experiment finds one that is not open.
    next: u64,
    /// Next sector of the writes in a row.
    at: u64,
}

impl Draws for Bench<'_, '_> {
    fn tape(&mut self) -> &mut Tape {
        self.pen.tape()
    }
}

/// Finds all about a card.
pub(super) fn find(pen: &mut Pen<'_>, tell: &mut dyn FnMut(News)) -> Result<Card> {
    let all = pen.target.geometry().sectors_512;
    let sectors = (all / 4).min(MOST_REGION) / 2048 * 2048;
    let first = (all / 2) / (1 << 15) * (1 << 15);
    let mut bench = Bench { pen, first, sectors, page: BLOCK, unit: 1 << 13, next: 0, at: first };
    tell(News::Begins(Stage::Pages));
    let (page_bytes, reads) = pages(&mut bench)?;
    bench.page = (page_bytes.value / 512.0) as u32;
    report::found(tell, report::of_pages(page_bytes, reads.cells_ns(), reads.command_ns()));
    tell(News::Begins(Stage::EraseUnits));
    let found = units(&mut bench)?;
    bench.unit = found.period;
    let unit_change_ns = unit_change(&mut bench, reads.miss_ns)?;
    report::found(tell, report::of_units(sectors_to_bytes(found.between), unit_change_ns));
    let programs = programs(&mut bench, reads)?;
    let Programs { planes, page_ns, command_ns, .. } = programs;
    report::found(tell, report::of_programs(planes, page_ns, command_ns));
    let erase_ns = beside_bus(&bench, minus(found.above_ns, unit_change_ns), reads.sector_ns);
    tell(News::Begins(Stage::OpenUnits));
    let open_units = open_units(&mut bench)?;
    let copies = Copies {
        programs,
        erase_ns,
        change_ns: unit_change_ns,
        sector_ns: reads.sector_ns,
        open: open_units[1],
    };
    let copy_page_ns = copy(&mut bench, copies)?;
    report::found(tell, report::of_closing(erase_ns, open_units, copy_page_ns));
    let linear_from_unit = match copy_page_ns {
        Some(copy_ns) => linear_from(&mut bench, copies, copy_ns)?,
        None => None,
    };
    report::found(tell, report::of_order(linear_from_unit));
    Ok(Card {
        page_bytes,
        unit_bytes: sectors_to_bytes(found.between),
        open_units,
        planes,
        linear_from_unit,
        read_command_ns: reads.command_ns(),
        write_command_ns: command_ns,
        read_page_ns: reads.cells_ns(),
        program_page_ns: page_ns,
        copy_page_ns,
        erase_ns,
        unit_change_ns,
        sector_ns: reads.sector_ns,
    })
}

fn sectors_to_bytes(found: Interval) -> Interval {
    scaled(found, 512.0)
}

impl Bench<'_, '_> {
    fn read(&mut self, lba: u64, sectors: u32) -> Result<f64> {
        Ok(self.pen.target.read_one(Span { lba, sectors })?.took_ns() as f64)
    }

    fn write(&mut self, lba: u64, sectors: u32) -> Result<f64> {
        Ok(self.pen.write(Span { lba, sectors })?.took_ns() as f64)
    }

    /// Sectors of the smallest request.
    fn least(&self) -> u32 {
        (self.pen.target.geometry().logical_block / 512).max(1)
    }

    fn longest(&self) -> u32 {
        self.pen.target.geometry().max_request_bytes / 512
    }

    /// Sectors of a short write: whole pages.
    fn chunk(&self) -> u32 {
        self.page.max(BLOCK)
    }

    fn units(&self) -> u64 {
        (self.sectors / self.unit).max(1)
    }

    /// First sector of the next unit.
    fn fresh(&mut self) -> u64 {
        self.next = (self.next + 1) % self.units();
        self.first.next_multiple_of(self.unit) + self.next * self.unit
    }
}

/// Reads of the smallest length: from the register and from the cells.
#[derive(Clone, Copy)]
struct Reads {
    hit_ns: Interval,
    miss_ns: Interval,
    sector_ns: Interval,
}

impl Reads {
    fn cells_ns(&self) -> Interval {
        minus(self.miss_ns, self.hit_ns)
    }

    fn command_ns(&self) -> Interval {
        minus(self.hit_ns, self.sector_ns)
    }
}

/// The page, from reads behind one another: the controller's register serves those of the same page.
fn pages(bench: &mut Bench<'_, '_>) -> Result<(Interval, Reads)> {
    let (at, least) = (bench.first, bench.least());
    let mut after = |then: u64, sectors: u32| {
        let times = bench.repeat(AGAIN, TIMES, |bench| {
            bench.read(at + u64::from(LONGEST_PAGE), least)?;
            bench.read(at, least)?;
            bench.read(at + then, sectors)
        })?;
        Ok::<Interval, ProbeError>(middle(times))
    };
    let hit_ns = after(0, least)?;
    let miss_ns = after(u64::from(LONGEST_PAGE), least)?;
    let limit = f64::midpoint(hit_ns.value, miss_ns.value);
    let mut page = least;
    let is_told = miss_ns.low > hit_ns.high;
    while is_told && page < LONGEST_PAGE && after(page.into(), least)?.value < limit {
        page *= 2;
    }
    // A smaller page than the smallest request cannot be told from one of its length.
    let low = if page == least { 1 } else { page };
    let mut found = [low, page, page].map(|sectors| f64::from(sectors) * 512.0);
    if !is_told {
        // Without a register in between the physical block is the best guess.
        let block = f64::from(bench.pen.target.geometry().physical_block);
        page = BLOCK.max(least);
        found = [512.0, block.max(4096.0), f64::from(LONGEST_PAGE) * 512.0];
    }
    let sector_ns = bus(bench, at, if is_told { page } else { least })?;
    let [low, value, high] = found;
    Ok((Interval { value, low, high }, Reads { hit_ns, miss_ns, sector_ns }))
}

/// A sector over the bus: from reads of one page that the register holds, or else from long ones.
fn bus(bench: &mut Bench<'_, '_>, at: u64, page: u32) -> Result<Interval> {
    let least = bench.least();
    let longest = bench.longest();
    let (short, long) = if page > least { (least, page) } else { (longest / 2, longest) };
    let mut of = |length: u32| {
        let times = bench.repeat(AGAIN, TIMES, |bench| {
            bench.read(at, least)?;
            bench.read(at, length)
        })?;
        Ok::<Interval, ProbeError>(middle(times))
    };
    let (short_ns, long_ns) = (of(short)?, of(long)?);
    Ok(scaled(minus(long_ns, short_ns), 1.0 / f64::from((long - short).max(1))))
}

/// Erase units: the first write to each takes longer, because an older unit is closed for it.
fn units(bench: &mut Bench<'_, '_>) -> Result<Steps> {
    let longest = bench.longest() / bench.chunk() * bench.chunk();
    // Only a unit that holds data is erased.
    for lba in starts(bench.first, bench.sectors, longest) {
        bench.write(lba, longest)?;
    }
    let chunk = bench.chunk();
    let mut took = Vec::new();
    for lba in starts(bench.first, bench.sectors, chunk) {
        took.extend(bench.drawn(false, ROWS, |bench| bench.write(lba, chunk))?);
        if took.len().is_power_of_two() && took.len() > 64 {
            let found = steps(&took, u64::from(chunk));
            if let Some(found) = found.filter(|found| found.count >= ENOUGH_UNITS) {
                seal_row(bench, took.len())?;
                return Ok(found);
            }
        }
    }
    seal_row(bench, 0)?;
    let reason = "writes in a row show no boundaries; the device may hide them behind a buffer";
    steps(&took, u64::from(chunk)).ok_or(ProbeError::Unclear { quantity: "the erase unit", reason })
}

/// Seals the writes behind those of a row that were seen, half as many: a period needs all of its writes.
fn seal_row(bench: &mut Bench<'_, '_>, seen: usize) -> Result<()> {
    let chunk = bench.chunk();
    let all = starts(bench.first, bench.sectors, chunk).count();
    let count = if seen == 0 { all / 2 } else { seen / 2 };
    for lba in starts(bench.first, bench.sectors, chunk).cycle().skip(seen).take(count) {
        bench.drawn(true, ROWS, |bench| bench.write(lba, chunk))?;
    }
    Ok(())
}

fn starts(first: u64, sectors: u64, length: u32) -> impl Iterator<Item = u64> + Clone {
    let count = sectors / u64::from(length.max(1));
    (0..count).map(move |nth| first + nth * u64::from(length))
}

/// Reads in two units in turn take longer than in one.
fn unit_change(bench: &mut Bench<'_, '_>, miss_ns: Interval) -> Result<Interval> {
    let least = bench.least();
    let times = bench.repeat(OTHER_UNIT, TIMES, |bench| {
        let (one, other) = (bench.fresh(), bench.fresh());
        bench.read(one, least)?;
        bench.read(other, least)
    })?;
    Ok(minus(middle(times), miss_ns))
}

/// Programming.
#[derive(Clone, Copy)]
struct Programs {
    planes: [u32; 2],
    page_ns: Interval,
    command_ns: Interval,
    /// A write of a chunk behind the one before.
    chunk_ns: Interval,
}

/// Planes and the time of a program, from writes of a growing number of pages: the time jumps when one more page needs
/// another program.
fn programs(bench: &mut Bench<'_, '_>, reads: Reads) -> Result<Programs> {
    let page = bench.page;
    let in_unit = (bench.unit / u64::from(page)) as u32;
    // A multiple of every usual number of planes, away from the first write to a unit.
    let half = MOST_PLANES.min(in_unit / 2).max(1);
    let most = (bench.longest() / page).clamp(1, half);
    bench.at = bench.first.next_multiple_of(bench.unit);
    let mut found = Vec::new();
    for pages in 1..=most {
        let mut times = Vec::with_capacity(TIMES);
        while times.len() < TIMES {
            fill(bench, half)?;
            times.extend(bench.one(ROWS, |bench| bench.write(bench.at, pages * page))?);
            bench.at += u64::from(pages * page);
            fill(bench, half - pages)?;
        }
        found.push(middle(times));
    }
    Ok(programs_of(&found, bench, reads))
}

/// Writes pages in a row.
fn fill(bench: &mut Bench<'_, '_>, pages: u32) -> Result<()> {
    let mut left = pages * bench.page;
    let longest = (bench.longest() / bench.page * bench.page).max(bench.page);
    while left > 0 {
        let length = left.min(longest);
        bench.write(bench.at, length)?;
        bench.at += u64::from(length);
        left -= length;
    }
    Ok(())
}

fn programs_of(found: &[Interval], bench: &Bench<'_, '_>, reads: Reads) -> Programs {
    let bus_ns = scaled(reads.sector_ns, f64::from(bench.page));
    let one = found.first().copied().unwrap_or(Interval::exact(0.0));
    let pairs = found.iter().zip(found.iter().skip(1));
    let more: Vec<Interval> = pairs.map(|(short, long)| minus(*long, *short)).collect();
    let jump = more.iter().position(|step| step.low > 1.4 * bus_ns.high);
    let (planes, page_ns) = match jump.and_then(|at| Some((at as u32 + 1, more.get(at)?))) {
        Some((planes, step)) => ([planes, planes], *step),
        // The bus hides the programs: one page at a time and many cannot be told apart.
        None => {
            let rest = minus(minus(one, bus_ns), minus(reads.hit_ns, reads.sector_ns));
            ([1, MOST_PLANES], rest)
        }
    };
    let command_ns = minus(minus(one, bus_ns), page_ns);
    let pages_of_chunk = (bench.chunk() / bench.page).max(1) as usize;
    let chunk_ns = found.get(pages_of_chunk - 1).copied().unwrap_or(one);
    Programs { planes, page_ns, command_ns, chunk_ns }
}

/// Units that can be written in turn: with one more, every write closes a unit.
fn open_units(bench: &mut Bench<'_, '_>) -> Result<[u32; 2]> {
    let most = (bench.units() as u32 / 2).clamp(1, MOST_OPEN);
    let one_ns = in_turn(bench, 1)?;
    let all_ns = in_turn(bench, most)?;
    let limit = (one_ns * all_ns).sqrt();
    if all_ns < 2.0 * one_ns {
        return Ok([most, u32::MAX]);
    }
    let (mut low, mut high) = (1, most);
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if in_turn(bench, middle)? < limit { low = middle } else { high = middle }
    }
    Ok([low, low])
}

/// Time of a write to so many units in turn, each in a row of its own: the median, once all are open.
fn in_turn(bench: &mut Bench<'_, '_>, count: u32) -> Result<f64> {
    // The first one opens the units; of the others a third is sealed.
    const ROUNDS: u64 = 5;
    let chunk = bench.chunk();
    let room = bench.unit / u64::from(chunk);
    let starts: Vec<u64> = (0..count).map(|_| bench.fresh()).collect();
    let mut times = Vec::new();
    for round in 0..ROUNDS.min(room) {
        for start in &starts {
            let lba = start + round * u64::from(chunk);
            match round {
                0 => _ = bench.write(lba, chunk)?,
                _ => times.extend(bench.one(IN_TURN, |bench| bench.write(lba, chunk))?),
            }
        }
    }
    let reason = "no write of it was measured; probe the card again";
    median(&times)
        .ok_or(ProbeError::Unclear { quantity: "the time of writes to units in turn", reason })
}

/// Numbers that the experiments on merges need.
#[derive(Clone, Copy)]
struct Copies {
    programs: Programs,
    erase_ns: Interval,
    change_ns: Interval,
    sector_ns: Interval,
    open: u32,
}

/// Closing a unit while the data of the write comes over the bus: longer than it shows by at most that time.
fn beside_bus(bench: &Bench<'_, '_>, shown: Interval, sector_ns: Interval) -> Interval {
    let bus_ns = sector_ns.value * f64::from(bench.chunk().min(bench.page));
    Interval { value: shown.value + bus_ns, low: shown.low, high: shown.high + bus_ns }
}

/// Opens one unit more than the device keeps open, each with one write at its start.
fn open_all(bench: &mut Bench<'_, '_>, open: u32) -> Result<()> {
    let chunk = bench.chunk();
    for _ in 0..=open.min(MOST_OPEN) {
        let lba = bench.fresh();
        bench.write(lba, chunk)?;
    }
    Ok(())
}

/// Copying a page: a unit that holds one write is closed, and the rest of it copied.
fn copy(bench: &mut Bench<'_, '_>, known: Copies) -> Result<Option<Interval>> {
    if known.open > MOST_OPEN {
        return Ok(None);
    }
    let chunk = bench.chunk();
    open_all(bench, known.open)?;
    let times = bench.repeat(FIRST, TIMES, |bench| {
        let lba = bench.fresh();
        bench.write(lba, chunk)
    })?;
    let rest = minus(middle(times), known.programs.chunk_ns);
    let rest = beside_bus(bench, minus(rest, known.change_ns), known.sector_ns);
    let rest = minus(rest, known.erase_ns);
    let missing = (bench.unit - u64::from(chunk)) / u64::from(bench.page);
    let at_once = u64::from(known.programs.planes[0].max(1));
    Ok(Some(scaled(rest, 1.0 / missing.div_ceil(at_once).max(1) as f64)))
}

/// The first unit that takes only rising order: a write to its middle first copies all before it.
fn linear_from(bench: &mut Bench<'_, '_>, known: Copies, copy_ns: Interval) -> Result<Option<u32>> {
    let chunk = u64::from(bench.chunk());
    let half = (bench.unit / 2) / chunk * chunk;
    let copies = (half / u64::from(bench.page)).div_ceil(known.programs.planes[0].max(1).into());
    let limit_ns = copies as f64 * copy_ns.value / 2.0;
    let unit_sectors = bench.unit;
    let before = bench.first;
    let mut is_linear = |unit: u64| {
        let first = unit * unit_sectors;
        let mut times = [0.0; 2];
        for (offset, took) in [0, half].into_iter().zip(&mut times) {
            open_all(bench, known.open)?;
            let write = |bench: &mut Bench<'_, '_>| bench.write(first + offset, chunk as u32);
            *took = bench.drawn(false, FIRST, write)?.unwrap_or_default();
        }
        Ok::<bool, ProbeError>(times[1] - times[0] > limit_ns)
    };
    // The last unit before those of the other experiments.
    let last = (before / unit_sectors).saturating_sub(1);
    if !is_linear(last)? {
        return Ok(None);
    }
    if is_linear(0)? {
        return Ok(Some(0));
    }
    let (mut any, mut rising) = (0, last);
    while rising - any > 1 {
        let middle = u64::midpoint(any, rising);
        if is_linear(middle)? { rising = middle } else { any = middle }
    }
    Ok(u32::try_from(rising).ok())
}
