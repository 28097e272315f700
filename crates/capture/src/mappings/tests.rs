use super::*;

fn of(file: u32, end: u64, offset: u64) -> Mapping {
    Mapping { end, file: FileId(file), offset, is_shared: true }
}

fn file_and_offset(mappings: &Mappings, address: u64) -> Option<(u32, u64)> {
    let (start, mapping) = mappings.at(address)?;
    Some((mapping.file.0, mapping.offset + (address - start)))
}

#[test]
fn an_address_leads_to_its_file_and_offset() {
    let mut mappings = Mappings::default();
    mappings.add(0x1000, of(1, 0x3000, 0x8000));
    assert_eq!(file_and_offset(&mappings, 0xfff), None);
    assert_eq!(file_and_offset(&mappings, 0x1000), Some((1, 0x8000)));
    assert_eq!(file_and_offset(&mappings, 0x2fff), Some((1, 0x9fff)));
    assert_eq!(file_and_offset(&mappings, 0x3000), None);
}

#[test]
fn a_cut_leaves_both_ends_where_they_were() {
    let mut mappings = Mappings::default();
    mappings.add(0x1000, of(1, 0x9000, 0));
    mappings.cut(0x3000, 0x5000);
    assert_eq!(mappings.ranges().collect::<Vec<_>>(), [(0x1000, 0x3000), (0x5000, 0x9000)]);
    assert_eq!(file_and_offset(&mappings, 0x4000), None);
    assert_eq!(file_and_offset(&mappings, 0x5001), Some((1, 0x4001)));
    mappings.cut(0, 0x6000);
    assert_eq!(mappings.ranges().collect::<Vec<_>>(), [(0x6000, 0x9000)]);
    mappings.cut(0x8000, 0x8000);
    assert_eq!(file_and_offset(&mappings, 0x8000), Some((1, 0x7000)));
}

#[test]
fn a_mapping_that_moves_keeps_its_file() {
    let mut mappings = Mappings::default();
    mappings.add(0x1000, of(1, 0x2000, 0x4000));
    mappings.add(0x2000, of(2, 0x3000, 0));
    mappings.resize(0x1000, 0x1000, 0x10_000, 0x2000);
    assert_eq!(file_and_offset(&mappings, 0x1000), None);
    assert_eq!(file_and_offset(&mappings, 0x11_000), Some((1, 0x5000)));
    assert_eq!(file_and_offset(&mappings, 0x2000), Some((2, 0)));
    // It grows where it is.
    mappings.resize(0x10_000, 0x2000, 0x10_000, 0x3000);
    assert_eq!(file_and_offset(&mappings, 0x12_000), Some((1, 0x6000)));
}

#[test]
fn memory_without_a_file_replaces_what_it_is_moved_onto() {
    let mut mappings = Mappings::default();
    mappings.add(0x5000, of(1, 0x7000, 0));
    mappings.resize(0x1000, 0x1000, 0x5000, 0x1000);
    assert_eq!(mappings.ranges().collect::<Vec<_>>(), [(0x6000, 0x7000)]);
}
