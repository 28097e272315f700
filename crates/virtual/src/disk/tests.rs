use std::collections::BTreeMap;

use proptest::prelude::*;
use seekwell_device::LostWrites;
use seekwell_device::evidence::Evidence;

use super::*;
use crate::content::Keeping;
use crate::memory::plain::PlainMemory;
use crate::ring::RingLayout;

/// A disk that takes 100 ns per request, one after the other.
#[derive(Clone, Debug)]
struct Scripted {
    geometry: Geometry,
    queue: VecDeque<(u64, u64)>,
    busy_until: u64,
}

impl Scripted {
    fn new(depth: u32) -> Self {
        let geometry = Geometry {
            sectors_512: 64,
            logical_block: 512,
            physical_block: 512,
            queue_depth: depth,
            max_request_bytes: 8192,
            rotational: false,
            write_cache: true,
            max_discard_sectors: Some(64),
            max_write_zeroes_sectors: None,
            wraps_at: None,
        };
        Self { geometry, queue: VecDeque::new(), busy_until: 0 }
    }
}

impl Model for Scripted {
    fn duplicate(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, now_ns: u64, request: Request) -> Result<(), Refused> {
        self.geometry.check(&request)?;
        if self.queue.len() >= self.geometry.queue_depth as usize {
            return Err(Refused::QueueFull { id: request.id, depth: self.geometry.queue_depth });
        }
        self.busy_until = self.busy_until.max(now_ns) + 100;
        self.queue.push_back((request.id, self.busy_until));
        Ok(())
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.queue.front().map(|(_, at)| *at)
    }

    fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        while let Some((id, at_ns)) = self.queue.front().copied().filter(|(_, at)| *at <= now_ns) {
            self.queue.pop_front();
            completions.push(Completion { id, at_ns });
        }
    }

    fn power_cut(&mut self, _now_ns: u64) -> LostWrites {
        self.queue.clear();
        LostWrites::default()
    }

    fn evidence(&self) -> Evidence {
        Evidence::default()
    }
}

const BASE: u64 = 0x1_0000;
const DESCRIPTORS: u64 = BASE;
const AVAILABLE: u64 = BASE + 0x1000;
const USED: u64 = BASE + 0x2000;
/// Header, status and data of request `n` lie at `n * 0x3000` from here.
const REQUESTS: u64 = BASE + 0x4000;
const RING: u16 = 16;

/// A driver with a disk.
struct Bench {
    memory: PlainMemory,
    ring: Ring,
    disk: Disk,
    offered: u16,
    events: Vec<Event>,
}

impl Bench {
    fn new(model: Scripted) -> Self {
        Self::with_damage(model, Vec::new())
    }

    fn with_damage(model: Scripted, damaged: Vec<SectorRange>) -> Self {
        let keeping = Keeping { memory_bytes: 1 << 20, directory: std::env::temp_dir() };
        let content = Content::new(model.geometry.sectors_512, keeping);
        let parts = DiskParts { damaged, ..DiskParts::new(Box::new(model), content) };
        let layout =
            RingLayout { size: RING, descriptors: DESCRIPTORS, available: AVAILABLE, used: USED };
        Self {
            memory: PlainMemory::new(BASE, 0x40_0000),
            ring: Ring::new(layout, 0).unwrap(),
            disk: Disk::new(3, "data", parts, false),
            offered: 0,
            events: Vec::new(),
        }
    }

    fn place(slot: u16) -> u64 {
        REQUESTS + u64::from(slot) * 0x3000
    }

    /// Puts a request into three descriptors and offers it; its head is `slot * 3`.
    fn offer(&mut self, slot: u16, kind: u32, sector: u64, data: u32) {
        let place = Self::place(slot);
        self.memory.write(place, &kind.to_le_bytes()).unwrap();
        self.memory.write(place + 8, &sector.to_le_bytes()).unwrap();
        self.memory.write(place + 16, &[0xff]).unwrap();
        let data_flags = if matches!(kind, 0 | 8) { 2 } else { 0 };
        let parts = [
            (place, 16, 1, slot * 3 + 1),
            (place + 0x800, data, 1 | data_flags, slot * 3 + 2),
            (place + 16, 1_u32, 2, 0),
        ];
        for (index, (address, length, flags, next)) in parts.into_iter().enumerate() {
            let at = DESCRIPTORS + 16 * (u64::from(slot) * 3 + index as u64);
            self.memory.write(at, &address.to_le_bytes()).unwrap();
            self.memory.write(at + 8, &length.to_le_bytes()).unwrap();
            self.memory.put_u16(at + 12, flags);
            self.memory.put_u16(at + 14, next);
        }
        self.memory.put_u16(AVAILABLE + 4 + 2 * u64::from(self.offered % RING), slot * 3);
        self.offered = self.offered.wrapping_add(1);
        self.memory.put_u16(AVAILABLE + 2, self.offered);
    }

    fn kick(&mut self, now_ns: u64) {
        self.disk.kicked(now_ns, &mut self.ring, &mut self.memory).unwrap();
    }

    fn advance(&mut self, now_ns: u64) -> bool {
        let events = &mut self.events;
        let mut record = |event| events.push(event);
        self.disk.advance(now_ns, &mut self.ring, &mut self.memory, &mut record).unwrap()
    }

    fn status(&self, slot: u16) -> u8 {
        self.memory.get::<1>(Self::place(slot) + 16)[0]
    }

    fn used(&self) -> u16 {
        self.memory.get_u16(USED + 2)
    }

    fn data(&mut self, slot: u16) -> u64 {
        Self::place(slot) + 0x800
    }
}

#[test]
fn what_is_written_is_read_and_noted_with_its_times() {
    let mut bench = Bench::new(Scripted::new(4));
    let at = bench.data(0);
    bench.memory.write(at, &[7; 1024]).unwrap();
    bench.offer(0, 1, 10, 1024);
    bench.kick(50);
    assert_eq!(bench.status(0), 0xff, "not before its time");
    assert_eq!(bench.disk.next_event_ns(50), Some(150));
    assert!(!bench.advance(149));
    assert!(bench.advance(150));
    assert_eq!((bench.status(0), bench.used()), (0, 1));
    bench.offer(1, 0, 11, 512);
    bench.kick(200);
    bench.advance(300);
    let at = bench.data(1);
    assert_eq!(bench.memory.get::<512>(at), [7; 512]);
    assert_eq!(
        bench.memory.get::<8>(USED + 4 + 8),
        [3, 0, 0, 0, 1, 2, 0, 0],
        "513 bytes of head 3"
    );
    let times: Vec<_> = bench.events.iter().map(|e| (e.disk, e.submit_ns, e.complete_ns)).collect();
    assert_eq!(times, [(3, 50, 150), (3, 200, 300)]);
    assert_eq!(bench.events[1].data, xxh3_64(&[7; 512]));
}

#[test]
fn a_full_queue_keeps_the_rest_in_order() {
    let mut bench = Bench::new(Scripted::new(1));
    for slot in 0..4 {
        let at = bench.data(slot);
        bench.memory.write(at, &[slot as u8 + 1; 512]).unwrap();
        bench.offer(slot, 1, 5, 512);
    }
    bench.kick(0);
    let mut now = 0;
    while let Some(next) = bench.disk.next_event_ns(now) {
        now = next;
        bench.advance(now);
    }
    assert_eq!((now, bench.used()), (400, 4));
    let submitted: Vec<u64> = bench.events.iter().map(|event| event.submit_ns).collect();
    assert_eq!(submitted, [0, 100, 200, 300]);
    let mut sector = [0; 512];
    bench.disk.content().read(5, &mut sector).unwrap();
    assert_eq!(sector, [4; 512], "the last write is the last");
}

#[test]
fn what_a_disk_cannot_do_is_answered_at_once_and_not_noted() {
    let mut bench = Bench::new(Scripted::new(4));
    bench.offer(0, 99, 0, 512);
    bench.offer(1, 0, 64, 512);
    bench.offer(2, 0, 0, 511);
    bench.offer(3, 13, 0, 16);
    bench.offer(4, 8, 0, 20);
    bench.kick(77);
    assert_eq!(bench.disk.next_event_ns(77), Some(77));
    bench.advance(77);
    let statuses: Vec<u8> = (0..5).map(|slot| bench.status(slot)).collect();
    assert_eq!(statuses, [2, 1, 1, 1, 0], "an empty range is malformed before it is unsupported");
    let at = bench.data(4);
    assert_eq!(bench.memory.get::<6>(at), *b"data\0\0");
    assert!(bench.events.is_empty());
}

#[test]
fn a_read_only_disk_refuses_to_be_written() {
    let mut bench = Bench::new(Scripted::new(4));
    bench.disk.read_only = true;
    bench.offer(0, 1, 0, 512);
    bench.kick(0);
    bench.advance(0);
    assert_eq!(bench.status(0), 1);
    assert_eq!(bench.disk.features() & (1 << 5), 1 << 5);
}

#[test]
fn damaged_sectors_fail_until_they_are_written() {
    let damage = SectorRange { lba: Lba(8), sectors: 4 };
    let mut bench = Bench::with_damage(Scripted::new(8), vec![damage]);
    let statuses = |bench: &mut Bench, reads: &[(u64, u32)]| -> Vec<u8> {
        reads
            .iter()
            .map(|(sector, bytes)| {
                bench.offer(0, 0, *sector, *bytes);
                bench.kick(0);
                bench.advance(u64::MAX);
                bench.status(0)
            })
            .collect()
    };
    assert_eq!(statuses(&mut bench, &[(7, 512), (7, 1024), (11, 512), (12, 512)]), [0, 1, 1, 0]);
    bench.offer(1, 1, 9, 512);
    bench.kick(0);
    bench.advance(u64::MAX);
    assert_eq!(statuses(&mut bench, &[(8, 512), (9, 512), (10, 512)]), [1, 0, 1]);
}

#[test]
fn a_fake_keeps_the_later_of_two_writes_that_have_one_place() {
    let mut model = Scripted::new(8);
    model.geometry.wraps_at = Some(16);
    let mut bench = Bench::new(model);
    let write = |bench: &mut Bench, slot: u16, sector: u64, byte: u8| {
        let at = bench.data(slot);
        bench.memory.write(at, &[byte; 1024]).unwrap();
        bench.offer(slot, 1, sector, 1024);
        bench.kick(0);
        bench.advance(u64::MAX);
    };
    write(&mut bench, 0, 0, 1);
    // Over the end: one sector before it, one at the start.
    write(&mut bench, 1, 31, 2);
    let read = |bench: &mut Bench, sector: u64| {
        bench.offer(2, 0, sector, 512);
        bench.kick(0);
        bench.advance(u64::MAX);
        let at = bench.data(2);
        bench.memory.get::<1>(at)[0]
    };
    let found = [0, 1, 15, 16, 31, 32, 33].map(|sector| read(&mut bench, sector));
    assert_eq!(found, [2, 1, 2, 2, 2, 2, 1]);
}

#[test]
fn a_model_that_was_used_before_goes_on_where_it_was() {
    let mut model = Scripted::new(8);
    model.busy_until = 5000;
    let mut bench = Bench::new(model);
    bench.disk.age_ns = 5000;
    bench.offer(0, 0, 0, 512);
    bench.kick(7);
    assert_eq!(bench.disk.next_event_ns(7), Some(107));
    assert!(!bench.advance(106));
    assert!(bench.advance(107));
    assert_eq!((bench.events[0].submit_ns, bench.events[0].complete_ns), (7, 107));
    let parts = bench.disk.into_parts();
    assert_eq!((parts.age_ns, parts.next_id), (5107, 1));
}

#[test]
fn a_model_that_invents_completions_is_found_out() {
    let mut bench = Bench::new(Scripted::new(8));
    let mut model = Scripted::new(8);
    model.queue.push_back((5, 0));
    bench.disk.model = Box::new(model);
    let Bench { memory, ring, disk, .. } = &mut bench;
    let fault = disk.advance(0, ring, memory, &mut |_| {}).unwrap_err();
    assert!(matches!(fault, DiskFault::UnknownCompletion(5)));
}

proptest! {
    #[test]
    fn a_disk_answers_everything_and_reads_what_was_written(
        requests in proptest::collection::vec((0..5_u8, 0..70_u64, 0..20_u32, any::<u8>()), 1..60),
        depth in 1..6_u32,
    ) {
        let mut bench = Bench::new(Scripted::new(depth));
        let mut array: BTreeMap<u64, u8> = BTreeMap::new();
        let mut now = 0;
        for (position, (kind, sector, sectors, byte)) in requests.iter().enumerate() {
            let kind = [0, 1, 4, 11, 99][usize::from(*kind)];
            let at = bench.data(0);
            let mut data = sectors * 512;
            match kind {
                1 => bench.memory.write(at, &vec![*byte; data as usize]).unwrap(),
                11 => {
                    bench.memory.write(at, &sector.to_le_bytes()).unwrap();
                    bench.memory.write(at + 8, &sectors.to_le_bytes()).unwrap();
                    bench.memory.write(at + 12, &[0; 4]).unwrap();
                    data = 16;
                }
                _ => {}
            }
            bench.offer(0, kind, *sector, data);
            bench.kick(now);
            while let Some(next) = bench.disk.next_event_ns(now) {
                now = next;
                bench.advance(now);
            }
            prop_assert_eq!(bench.used(), position as u16 + 1);
            let inside = *sectors > 0 && sector + u64::from(*sectors) <= 64;
            let short = kind == 11 || *sectors <= 16;
            let expected = match kind {
                4 => 0,
                99 => 2,
                _ if inside && short => 0,
                _ => 1,
            };
            prop_assert_eq!(bench.status(0), expected);
            let range = *sector..sector + u64::from(*sectors);
            match (kind, expected) {
                (1, 0) => array.extend(range.map(|sector| (sector, *byte))),
                (11, 0) => array.extend(range.map(|sector| (sector, 0))),
                (0, 0) => {
                    for (offset, sector) in range.enumerate() {
                        let wanted = array.get(&sector).copied().unwrap_or(0);
                        prop_assert_eq!(bench.memory.get::<1>(at + 512 * offset as u64), [wanted]);
                    }
                }
                _ => {}
            }
        }
    }
}
