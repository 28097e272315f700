use super::*;
use proptest::prelude::*;

const ISSUE: &str = include_str!("../../../testdata/block_rq_issue.format");
const COMPLETE: &str = include_str!("../../../testdata/block_rq_complete.format");
const DEVICE: u32 = 7 << 20;

fn formats() -> EventFormats {
    EventFormats::parse(ISSUE, COMPLETE, DEVICE).unwrap()
}

/// Builds pages as the kernel does.
struct Page {
    bytes: Vec<u8>,
}

impl Page {
    fn at(time_ns: u64) -> Self {
        let mut bytes = time_ns.to_ne_bytes().to_vec();
        bytes.extend([0; 8]);
        Self { bytes }
    }

    fn header(mut self, kind: u32, delta: u32) -> Self {
        self.bytes.extend((kind | (delta << 5)).to_ne_bytes());
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    fn event(self, delta: u32, data: &[u8]) -> Self {
        assert_eq!(data.len() % 4, 0);
        self.header(u32::try_from(data.len() / 4).unwrap(), delta).raw(data)
    }

    /// Sets the length, with the flag for missed events, and fills up to a page of memory.
    fn end(mut self) -> Vec<u8> {
        let length = (self.bytes.len() - PAGE_HEADER) as u64 | (1 << 31);
        self.bytes[8..16].copy_from_slice(&length.to_ne_bytes());
        self.bytes.resize(4096, 0xff);
        self.bytes
    }
}

/// The binary form of the two events, by the offsets in `testdata`.
fn event(id: u16, pid: i32, device: u32, sector: u64, sectors: u32, rwbs: &str) -> Vec<u8> {
    let mut data = vec![0; 64];
    data[0..2].copy_from_slice(&id.to_ne_bytes());
    data[4..8].copy_from_slice(&pid.to_ne_bytes());
    data[8..12].copy_from_slice(&device.to_ne_bytes());
    data[16..24].copy_from_slice(&sector.to_ne_bytes());
    data[24..28].copy_from_slice(&sectors.to_ne_bytes());
    data[34..34 + rwbs.len()].copy_from_slice(rwbs.as_bytes());
    data
}

fn decode(page: &[u8], origin_ns: u64) -> Vec<BlockEvent> {
    let mut events = Vec::new();
    formats().decode_page(page, origin_ns, &mut events);
    events
}

fn summary(page: &[u8]) -> Vec<(u64, u64)> {
    decode(page, 0).iter().map(|event| (event.at_ns, event.sector)).collect()
}

fn issue_at(sector: u64) -> Vec<u8> {
    event(2104, 77, DEVICE, sector, 8, "R")
}

#[test]
fn the_format_files_say_where_the_fields_are() {
    let formats = formats();
    assert_eq!((formats.issue.id, formats.complete.id), (2104, 2107));
    assert_eq!(formats.issue.rwbs, Place { offset: 34, size: 10 });
    assert_eq!(formats.complete.sector, Place { offset: 16, size: 8 });
    assert_eq!(EventFormats::parse(&ISSUE.replace("nr_sector", "sectors"), COMPLETE, 0), None);
    assert_eq!(EventFormats::parse("", "", 0), None);
}

#[test]
fn issue_and_completion_become_events() {
    let page = Page::at(5_000)
        .event(100, &event(2104, 4321, DEVICE, 2048, 16, "WS"))
        .event(250, &event(2107, 99, DEVICE, 2048, 16, "WS"))
        .end();
    let base = BlockEvent {
        at_ns: 1_100,
        complete: false,
        sector: 2048,
        sectors: 16,
        operation: 'W',
        pid: 4321,
    };
    let completed = BlockEvent { at_ns: 1_350, complete: true, pid: 0, ..base };
    assert_eq!(decode(&page, 4_000), vec![base, completed]);
}

#[test]
fn time_extends_and_stamps_carry_the_clock_on() {
    let high = 3_u32;
    let stamp = (5_u64 << 27) | 9;
    let page = Page::at(1_000)
        .event(1, &issue_at(1))
        .header(TYPE_TIME_EXTEND, 7)
        .raw(&high.to_ne_bytes())
        .event(2, &issue_at(2))
        .header(TYPE_TIME_STAMP, 9)
        .raw(&5_u32.to_ne_bytes())
        .event(4, &issue_at(3))
        .end();
    let second = 1_001 + 7 + (3 << 27) + 2;
    assert_eq!(summary(&page), vec![(1_001, 1), (second, 2), (stamp + 4, 3)]);
}

#[test]
fn a_time_stamp_keeps_the_highest_bits_of_the_clock() {
    let top = 1_u64 << 60;
    let page = Page::at(top + 5)
        .header(TYPE_TIME_STAMP, 9)
        .raw(&0_u32.to_ne_bytes())
        .event(1, &issue_at(3));
    assert_eq!(summary(&page.end()), vec![(top + 10, 3)]);
}

#[test]
fn large_events_and_padding_are_stepped_over() {
    let large = [&200_u32.to_ne_bytes()[..], &[0; 196]].concat();
    let padding = [&12_u32.to_ne_bytes()[..], &[0; 8]].concat();
    let page = Page::at(0)
        .header(TYPE_LARGE, 5)
        .raw(&large)
        .header(TYPE_PADDING, 1)
        .raw(&padding)
        .event(1, &issue_at(9))
        .header(TYPE_PADDING, 0)
        .event(1, &issue_at(10))
        .end();
    assert_eq!(summary(&page), vec![(7, 9)]);
}

#[test]
fn other_events_and_other_devices_are_left_out() {
    let page = Page::at(0)
        .event(1, &event(9, 1, DEVICE, 1, 8, "R"))
        .event(1, &event(2104, 1, DEVICE + 1, 2, 8, "R"))
        .event(1, &issue_at(3))
        .end();
    assert_eq!(summary(&page), vec![(3, 3)]);
}

#[test]
fn operations_are_one_letter() {
    let cases = [
        ("R", 'R'),
        ("RA", 'R'),
        ("WS", 'W'),
        ("WFS", 'W'),
        ("FWFS", 'W'),
        ("FF", 'F'),
        ("F", 'F'),
        ("FN", 'F'),
        ("D", 'D'),
        ("DE", 'D'),
        ("N", 'N'),
    ];
    for (rwbs, expected) in cases {
        assert_eq!(operation(&[rwbs.as_bytes(), &[0; 3]].concat()), Some(expected), "{rwbs}");
    }
    assert_eq!(operation(&[0; 10]), None);
}

#[test]
fn a_page_cut_anywhere_gives_the_events_before_the_cut() {
    let page = Page::at(0).event(1, &issue_at(1)).event(1, &issue_at(2)).end();
    let mut counts: Vec<usize> = (0..=200).map(|cut| decode(&page[..cut], 0).len()).collect();
    counts.dedup();
    assert_eq!(counts, vec![0, 1, 2]);
}

proptest! {
    #[test]
    fn any_page_is_read_without_panic_and_in_bounded_steps(page in prop::collection::vec(any::<u8>(), 0..4096)) {
        let events = decode(&page, 0);
        prop_assert!(events.len() <= page.len() / 4);
    }
}
