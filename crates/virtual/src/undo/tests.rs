use proptest::prelude::*;
use seekwell_device::{Lba, SectorRange};

use super::*;
use crate::content::Keeping;

const SECTORS: u64 = 32;

fn content() -> Content {
    Content::new(SECTORS, Keeping { memory_bytes: 1 << 20, directory: std::env::temp_dir() })
}

fn write(
    log: &mut WriteLog,
    content: &mut Content,
    id: u64,
    (sector, count): (u64, u64),
    byte: u8,
) {
    let piece = Piece { sector, place: sector, sectors: count };
    log.before(id, piece, content).unwrap();
    content.write(sector, &vec![byte; count as usize * 512]).unwrap();
    log.after(content).unwrap();
}

fn lost(id: u64, sector: u64, sectors: u64) -> LostRange {
    LostRange { id, range: SectorRange { lba: Lba(sector), sectors } }
}

fn first_bytes(content: &Content) -> Vec<u8> {
    let mut bytes = vec![0; SECTORS as usize * 512];
    content.read(0, &mut bytes).unwrap();
    bytes.chunks(512).map(|sector| sector[0]).collect()
}

#[test]
fn a_lost_write_leaves_what_was_there_before_it() {
    let mut disk = content();
    let mut log = WriteLog::default();
    write(&mut log, &mut disk, 1, (0, 4), 1);
    write(&mut log, &mut disk, 2, (2, 4), 2);
    log.undo(&[lost(2, 2, 4)], &mut disk).unwrap();
    assert_eq!(first_bytes(&disk)[..8], [1, 1, 1, 1, 0, 0, 0, 0]);
}

#[test]
fn a_write_may_be_lost_in_part_and_an_earlier_one_while_a_later_stays() {
    let mut disk = content();
    let mut log = WriteLog::default();
    write(&mut log, &mut disk, 1, (0, 4), 1);
    write(&mut log, &mut disk, 2, (1, 2), 2);
    log.undo(&[lost(1, 0, 4), lost(2, 2, 1)], &mut disk).unwrap();
    assert_eq!(first_bytes(&disk)[..4], [0, 2, 0, 0]);
}

#[test]
fn what_is_safe_is_forgotten_and_stays() {
    let mut disk = content();
    let mut log = WriteLog::default();
    write(&mut log, &mut disk, 1, (0, 2), 1);
    write(&mut log, &mut disk, 5, (1, 2), 5);
    log.forget_before(5);
    log.undo(&[lost(5, 1, 2)], &mut disk).unwrap();
    assert_eq!(first_bytes(&disk)[..4], [1, 1, 0, 0]);
}

proptest! {
    #[test]
    fn the_result_is_all_writes_in_order_less_the_lost_sectors(
        writes in proptest::collection::vec((0..SECTORS, 1..9_u64, any::<u32>()), 1..20),
    ) {
        let mut disk = content();
        let mut log = WriteLog::default();
        let mut expected = vec![0_u8; SECTORS as usize];
        let mut gone = Vec::new();
        for (index, (sector, count, losses)) in writes.iter().enumerate() {
            let count = (*count).min(SECTORS - sector);
            let byte = index as u8 + 1;
            write(&mut log, &mut disk, index as u64, (*sector, count), byte);
            for offset in 0..count {
                if losses >> offset & 1 == 1 {
                    gone.push(lost(index as u64, sector + offset, 1));
                } else {
                    expected[(sector + offset) as usize] = byte;
                }
            }
        }
        log.undo(&gone, &mut disk).unwrap();
        prop_assert_eq!(first_bytes(&disk), expected);
    }
}
