//! The card as a device: one request at a time, over a bus, with what the translation makes of it.

use seekwell_model::laws::Law;

use super::FlashParameters;
use super::translation::{Shape, Translation, Work};
use crate::bus::Link;
use crate::clock::ns;
use crate::evidence::{Evidence, FlashEvidence};
use crate::front::{Device, Front, Rule, whole};
use crate::model::{Geometry, Lba, LostRange, LostWrites, Operation, Request, SectorRange};

/// Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    read_page: u64,
    program_page: u64,
    copy_page: u64,
    erase: u64,
    read_command: u64,
    write_command: u64,
    unit_change: u64,
}

/// A stretch of a write, for the case that power fails in it.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    end_ns: u64,
    /// Sectors of the request that are on the medium after it.
    sectors: u64,
    /// The unit that is being merged in it.
    merging: Option<u64>,
}

/// The request being worked on.
#[derive(Clone, Debug)]
struct Current {
    request: Request,
    start_ns: u64,
    end_ns: u64,
    stretches: Vec<Stretch>,
}

/// A card or stick.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    front: Front,
    link: Link,
    times: Times,
    translation: Translation,
    sectors_per_page: u64,
    pages_per_unit: u64,
    planes: u64,
    tears_units: bool,
    rated_erases: Option<u64>,
    current: Option<Current>,
    last_unit: u64,
    /// The page still in the controller's register.
    register: Option<u64>,
    work: Work,
    pages_read: u64,
    register_hits: u64,
}

impl Card {
    pub(crate) fn new(geometry: Geometry, parameters: &FlashParameters, link: Link) -> Self {
        let sectors_per_page = u64::from(parameters.page_bytes / 512);
        let unit_sectors = u64::from(parameters.unit_kib) * 2;
        let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let shape = Shape {
            units: count(geometry.sectors_512.div_ceil(unit_sectors)),
            pages_per_unit: count(unit_sectors / sectors_per_page),
            sectors_per_page: count(sectors_per_page),
            open_units: parameters.open_units,
            linear_from: parameters.linear_from_unit,
            spare_blocks: parameters.spare_blocks,
            leveling: parameters.wear_leveling,
            prefilled: parameters.prefilled,
        };
        let times = Times {
            read_page: ns(parameters.read_page_us),
            program_page: ns(parameters.program_page_us),
            copy_page: ns(parameters.copy_page_us),
            erase: ns(parameters.erase_us),
            read_command: ns(parameters.read_command_us),
            write_command: ns(parameters.write_command_us),
            unit_change: ns(parameters.unit_change_us),
        };
        Self {
            front: Front::new(geometry),
            link,
            times,
            translation: Translation::new(shape),
            sectors_per_page,
            pages_per_unit: unit_sectors / sectors_per_page,
            planes: u64::from(parameters.planes),
            tears_units: parameters.tears_units,
            rated_erases: parameters.rated_erases,
            current: None,
            last_unit: u64::MAX,
            register: None,
            work: Work::default(),
            pages_read: 0,
            register_hits: 0,
        }
    }

    fn unit_of(&self, page: u64) -> (u64, u32) {
        let page_in_unit = page % self.pages_per_unit;
        (page / self.pages_per_unit, u32::try_from(page_in_unit).unwrap_or(u32::MAX))
    }

    /// Returns the time at which the controller has decoded a command that starts at `lba`.
    fn command(&mut self, now_ns: u64, own_ns: u64, lba: u64) -> u64 {
        let (unit, _) = self.unit_of(lba / self.sectors_per_page);
        let change = if unit == self.last_unit { 0 } else { self.times.unit_change };
        self.last_unit = unit;
        now_ns + self.link.command_ns + own_ns + change
    }

    /// Pages are read `planes` at a time while the bus carries away those before.
    fn read(&mut self, now_ns: u64, request: &Request) -> u64 {
        let begin_ns = self.command(now_ns, self.times.read_command, request.lba.0);
        let (mut cells_ns, mut bus_ns) = (begin_ns, begin_ns);
        let mut sector = request.lba.0;
        while sector < request.end() {
            let first_page = sector / self.sectors_per_page;
            let batch_end =
                (first_page - first_page % self.planes + self.planes) * self.sectors_per_page;
            let end = batch_end.min(request.end());
            let pages = first_page..end.div_ceil(self.sectors_per_page);
            if pages.end - pages.start == 1 && self.register == Some(first_page) {
                self.register_hits += 1;
            } else {
                cells_ns += self.times.read_page;
                self.pages_read += pages.end - pages.start;
            }
            self.register = Some(pages.end - 1);
            bus_ns = bus_ns.max(cells_ns) + self.link.transfer_ns(end - sector);
            sector = end;
        }
        self.enter_unit_of(request);
        bus_ns
    }

    fn enter_unit_of(&mut self, request: &Request) {
        self.last_unit = self.unit_of((request.end() - 1) / self.sectors_per_page).0;
    }

    /// Pages are programmed `planes` at a time as the bus brings them; merges come before the page that needs them.
    fn write(&mut self, now_ns: u64, request: &Request, stretches: &mut Vec<Stretch>) -> u64 {
        let mut bus_ns = self.command(now_ns, self.times.write_command, request.lba.0);
        let mut cells_ns = bus_ns;
        let mut sector = request.lba.0;
        self.register = None;
        while sector < request.end() {
            let first_page = sector / self.sectors_per_page;
            let batch_end =
                (first_page - first_page % self.planes + self.planes) * self.sectors_per_page;
            let end = batch_end.min(request.end());
            let mut work = Work::default();
            let start = sector;
            while sector < end {
                let page = sector / self.sectors_per_page;
                let page_end = ((page + 1) * self.sectors_per_page).min(end);
                let (unit, page_in_unit) = self.unit_of(page);
                let first = u32::try_from(sector % self.sectors_per_page).unwrap_or(0);
                let sectors = u32::try_from(page_end - sector).unwrap_or(0);
                work.add(&self.translation.write(unit, page_in_unit, first, sectors));
                sector = page_end;
            }
            let merge_ns = self.merge_ns(&work);
            if work.merged.is_some() {
                let sectors = start - request.lba.0;
                let end_ns = cells_ns + merge_ns;
                stretches.push(Stretch { end_ns, sectors, merging: work.merged });
            }
            cells_ns += merge_ns;
            bus_ns += self.link.transfer_ns(end - start);
            cells_ns = cells_ns.max(bus_ns) + self.program_ns(&work);
            stretches.push(Stretch {
                end_ns: cells_ns,
                sectors: end - request.lba.0,
                merging: None,
            });
            self.work.add(&work);
        }
        self.enter_unit_of(request);
        cells_ns
    }

    /// Time for what is done before the host's data: copies go `planes` pages at a time.
    fn merge_ns(&self, work: &Work) -> u64 {
        work.copied.div_ceil(self.planes) * self.times.copy_page + work.erased * self.times.erase
    }

    /// Time for one batch of the host's pages, read first where the host gave only a part.
    fn program_ns(&self, work: &Work) -> u64 {
        let completing = if work.completed > 0 { self.times.read_page } else { 0 };
        completing + work.programmed.div_ceil(self.planes) * self.times.program_page
    }

    fn discard(&mut self, now_ns: u64, request: &Request) -> u64 {
        let first = request.lba.0.div_ceil(self.sectors_per_page);
        let end = request.end() / self.sectors_per_page;
        for page in first..end {
            let (unit, page_in_unit) = self.unit_of(page);
            self.translation.discard(unit, page_in_unit);
        }
        self.register = None;
        self.command(now_ns, self.times.write_command, request.lba.0)
    }

    /// Adds the part of the current write that is not on the medium, and the sectors that it tore.
    fn tear(&self, now_ns: u64, answer: &mut LostWrites) {
        let Some(Current { request, start_ns, stretches, .. }) = &self.current else { return };
        if request.operation != Operation::Write {
            answer.lost.extend(request.operation.writes().then(|| whole(request)));
            return;
        }
        let done = stretches.iter().take_while(|stretch| stretch.end_ns <= now_ns);
        let kept = done.map(|stretch| stretch.sectors).max().unwrap_or(0);
        let lba = Lba(request.lba.0 + kept);
        let range = SectorRange { lba, sectors: u64::from(request.sectors) - kept };
        answer.lost.push(LostRange { id: request.id, range });
        let under_way = stretches.iter().find(|stretch| stretch.end_ns > now_ns);
        if let Some(unit) = under_way.and_then(|stretch| stretch.merging)
            && self.tears_units
            && now_ns > *start_ns
        {
            let unit_sectors = self.pages_per_unit * self.sectors_per_page;
            let first = unit * unit_sectors;
            let end = (first + unit_sectors).min(self.front.geometry().sectors_512);
            answer.damaged.push(SectorRange { lba: Lba(first), sectors: end - first });
        }
    }
}

impl Device for Card {
    const LAWS: &'static [Rule<Self>] = &[
        (Law::Cells, |_| true, |it| it.times.read_page = 0),
        (Law::Program, |_| true, |it| it.times.program_page = 0),
        (Law::Collect, |_| true, |it| (it.times.copy_page, it.times.erase) = (0, 0)),
        (Law::Mapping, |it| it.times.unit_change > 0, |it| it.times.unit_change = 0),
        (Law::Bus, |it| it.link.moves(), |it| it.link.drop_transfer()),
        (
            Law::Overhead,
            |_| true,
            |it| {
                it.link.drop_commands();
                (it.times.read_command, it.times.write_command) = (0, 0);
            },
        ),
    ];

    // One request at a time is in order anyway.
    const HOLDS_CONFLICTS: bool = false;

    fn front(&self) -> &Front {
        &self.front
    }

    fn front_mut(&mut self) -> &mut Front {
        &mut self.front
    }

    fn next_action_ns(&self) -> Option<u64> {
        self.current.as_ref().map(|current| current.end_ns)
    }

    fn catch_up(&mut self, now_ns: u64) {
        while let Some(current) = self.current.take_if(|current| current.end_ns <= now_ns) {
            self.front.pass_time(current.end_ns);
            self.front.finish(current.request.id, current.end_ns);
            let next = self.front.outstanding().next().map(|request| request.id);
            if let Some(id) = next {
                self.start(current.end_ns, id);
            }
        }
        self.front.pass_time(now_ns);
    }

    fn start(&mut self, now_ns: u64, id: u64) {
        let Some(request) = self.front.get(id).filter(|_| self.current.is_none()) else { return };
        let mut stretches = Vec::new();
        let end_ns = match request.operation {
            Operation::Read => self.read(now_ns, &request),
            Operation::Write => self.write(now_ns, &request, &mut stretches),
            Operation::Discard | Operation::WriteZeroes => self.discard(now_ns, &request),
            Operation::Flush => now_ns + self.link.command_ns + self.times.write_command,
        };
        self.current = Some(Current { request, start_ns: now_ns, end_ns, stretches });
    }

    fn fail(&mut self, now_ns: u64) -> LostWrites {
        let mut answer = LostWrites::default();
        self.tear(now_ns, &mut answer);
        let current = self.current.take().map(|current| current.request.id);
        let waiting = self.front.drop_all().into_iter();
        answer.lost.extend(waiting.filter(|lost| Some(lost.id) != current));
        answer.lost.retain(|lost| lost.range.sectors > 0);
        self.register = None;
        self.last_unit = u64::MAX;
        answer
    }

    fn add_evidence(&self, totals: &mut Evidence) {
        let work = &self.work;
        let programmed = work.programmed + work.copied;
        let blocks = &self.translation.blocks;
        totals.flash = Some(FlashEvidence {
            page_bytes: self.sectors_per_page * 512,
            host_pages: work.programmed,
            pages_programmed: programmed,
            pages_copied: work.copied,
            pages_read: self.pages_read + work.completed + work.copied,
            erases: blocks.total_erases(),
            switch_merges: work.switched,
            partial_merges: work.partial,
            full_merges: work.full,
            suspensions: 0,
            buffer_hits: self.register_hits,
            write_amplification: (work.programmed > 0)
                .then(|| programmed as f64 / work.programmed as f64),
            most_worn_erases: blocks.most_worn().into(),
            wear: blocks.wear(),
            rated_erases: self.rated_erases,
        });
    }
}
