use std::path::Path;

use proptest::prelude::*;

use super::*;

const SECTORS: u64 = 8 * 40 + 3;

/// A block like no other: its bytes, and a record that says where they are.
const KEPT: u64 = BLOCK_BYTES as u64 + 8;

fn keeping(memory_blocks: u64) -> Keeping {
    Keeping { memory_bytes: memory_blocks * BLOCK_BYTES as u64, directory: std::env::temp_dir() }
}

fn read_all(content: &Content) -> Vec<u8> {
    let mut bytes = vec![0xaa; content.sectors() as usize * SECTOR_BYTES];
    content.read(0, &mut bytes).unwrap();
    bytes
}

/// A block as a stamped file has it.
fn stamped(number: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK_BYTES];
    block[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    block
}

#[test]
fn a_new_disk_is_zero_and_holds_nothing() {
    let content = Content::new(SECTORS, keeping(100));
    assert!(read_all(&content).iter().all(|byte| *byte == 0));
    assert_eq!(content.stored_bytes(), 0);
}

#[test]
fn a_range_beyond_the_end_is_refused_and_changes_nothing() {
    let mut content = Content::new(16, keeping(100));
    let data = [1; 1024];
    for sector in [15, 16, u64::MAX] {
        let error = content.write(sector, &data).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(content.zero(sector, 2).is_err());
        assert!(content.read(sector, &mut [0; 1024]).is_err());
    }
    assert!(content.write(0, &[1; 100]).is_err(), "no whole sector");
    assert_eq!(content.stored_bytes(), 0);
}

#[test]
fn zero_blocks_are_given_back() {
    let mut content = Content::new(SECTORS, keeping(100));
    let mut mill = Mill::new(4);
    let data: Vec<u8> = (0..4 * 512).flat_map(|_| mill.number().to_le_bytes()).collect();
    content.write(0, &data).unwrap();
    assert_eq!(content.stored_bytes(), 4 * KEPT);
    content.write(8, &[0; BLOCK_BYTES]).unwrap();
    assert_eq!(content.stored_bytes(), 3 * KEPT);
    content.zero(0, 32).unwrap();
    assert_eq!(content.stored_bytes(), 0);
    assert!(read_all(&content).iter().all(|byte| *byte == 0));
}

#[test]
fn computable_blocks_hold_nothing() {
    let mut content = Content::new(SECTORS, keeping(100));
    let data: Vec<u8> = (5..25).flat_map(stamped).collect();
    content.write(8, &data).unwrap();
    assert_eq!(content.stored_bytes(), 0);
    let mut back = vec![0; data.len()];
    content.read(8, &mut back).unwrap();
    assert_eq!(back, data);
    content.write(8 + 3, &[9; SECTOR_BYTES]).unwrap();
    assert_eq!(content.stored_bytes(), KEPT, "one block was changed in part");
    let mut expected = data;
    expected[3 * SECTOR_BYTES..4 * SECTOR_BYTES].fill(9);
    content.read(8, &mut back).unwrap();
    assert_eq!(back, expected);
}

#[test]
fn blocks_beyond_the_memory_go_to_a_file_without_a_name() {
    let directory = tempfile::tempdir().unwrap();
    let keeping =
        Keeping { memory_bytes: 2 * BLOCK_BYTES as u64, directory: directory.path().into() };
    let mut content = Content::new(SECTORS, keeping);
    let data: Vec<u8> = (0..10 * BLOCK_BYTES).map(|index| (index / 7) as u8 | 1).collect();
    content.write(0, &data).unwrap();
    let mut back = vec![0; data.len()];
    content.read(0, &mut back).unwrap();
    assert_eq!(back, data);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_frozen_content_moves_to_a_file_and_reads_the_same() {
    for memory_blocks in [0, 3, 256, 300, 2000] {
        let mut content = Content::new(1 << 14, keeping(memory_blocks));
        let data: Vec<u8> = (0..700 * BLOCK_BYTES as u64)
            .map(|index| (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8)
            .collect();
        content.write(0, &data).unwrap();
        content.write(64, &[7; 5 * BLOCK_BYTES]).unwrap();
        content.zero(400, 80).unwrap();
        let mut expected = vec![0; 1 << 23];
        content.read(0, &mut expected).unwrap();
        let mut frozen = content.freeze();
        let before = frozen.memory_bytes();
        Arc::get_mut(&mut frozen).unwrap().move_to_file().unwrap();
        assert!(frozen.memory_bytes() <= before && frozen.memory_bytes() < 1 << 17);
        let mut thawed = Content::thaw(frozen, keeping(10));
        let mut back = vec![0; 1 << 23];
        thawed.read(0, &mut back).unwrap();
        assert!(back == expected, "with {memory_blocks} blocks in memory");
        thawed.write(8, &[9; BLOCK_BYTES]).unwrap();
        thawed.read(8, &mut back[..BLOCK_BYTES]).unwrap();
        assert_eq!(back[..BLOCK_BYTES], [9; BLOCK_BYTES]);
    }
}

#[test]
fn no_room_for_the_file_is_an_error() {
    let keeping = Keeping { memory_bytes: 0, directory: Path::new("/nonexistent").into() };
    let mut content = Content::new(SECTORS, keeping);
    assert_eq!(content.write(0, &[1; 512]).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn what_was_frozen_does_not_change() {
    let mut first = Content::new(SECTORS, keeping(100));
    first.write(0, &[1; 3 * BLOCK_BYTES]).unwrap();
    let frozen = first.freeze();
    let mut one = Content::thaw(frozen.clone(), keeping(100));
    let mut two = Content::thaw(frozen.clone(), keeping(100));
    one.zero(0, 8).unwrap();
    one.write(8, &[2; SECTOR_BYTES]).unwrap();
    two.write(16, &[0; BLOCK_BYTES]).unwrap();
    assert_eq!(one.stored_bytes(), KEPT);
    assert_eq!(two.stored_bytes(), 0);
    let blocks = |content: &Content| {
        let bytes = read_all(content);
        [0, BLOCK_BYTES, BLOCK_BYTES + SECTOR_BYTES, 2 * BLOCK_BYTES].map(|at| bytes[at])
    };
    assert_eq!(blocks(&one), [0, 2, 1, 1]);
    assert_eq!(blocks(&two), [1, 1, 1, 0]);
    assert_eq!(blocks(&Content::thaw(frozen, keeping(100))), [1, 1, 1, 1]);
}

#[derive(Clone, Debug)]
enum Step {
    Write { sector: u64, sectors: u64, byte: u8 },
    Computable { block: u64, key: u64, blocks: u64 },
    Zero { sector: u64, sectors: u64 },
    Freeze,
}

fn step() -> impl Strategy<Value = Step> {
    let range = (0..SECTORS, 1..40_u64)
        .prop_map(|(sector, sectors)| (sector, sectors.min(SECTORS - sector)));
    prop_oneof![
        4 => (range.clone(), 0..3_u8)
            .prop_map(|((sector, sectors), byte)| Step::Write { sector, sectors, byte }),
        2 => (0..36_u64, 1..6_u64, 1..5_u64)
            .prop_map(|(block, key, blocks)| Step::Computable { block, key, blocks }),
        2 => range.prop_map(|(sector, sectors)| Step::Zero { sector, sectors }),
        1 => Just(Step::Freeze),
    ]
}

proptest! {
    #[test]
    fn a_disk_holds_what_a_plain_array_holds(
        steps in proptest::collection::vec(step(), 1..60),
        memory_blocks in prop_oneof![Just(0_u64), Just(3), Just(1000)],
    ) {
        let mut array = vec![0_u8; SECTORS as usize * SECTOR_BYTES];
        let mut content = Content::new(SECTORS, keeping(memory_blocks));
        for step in steps {
            match step {
                Step::Write { sector, sectors, byte } => {
                    let data = vec![byte; sectors as usize * SECTOR_BYTES];
                    let at = sector as usize * SECTOR_BYTES;
                    array[at..at + data.len()].copy_from_slice(&data);
                    content.write(sector, &data).unwrap();
                }
                Step::Computable { block, key, blocks } => {
                    let data: Vec<u8> = (key..key + blocks).flat_map(stamped).collect();
                    let at = block as usize * BLOCK_BYTES;
                    array[at..at + data.len()].copy_from_slice(&data);
                    content.write(block * BLOCK_SECTORS, &data).unwrap();
                }
                Step::Zero { sector, sectors } => {
                    let at = sector as usize * SECTOR_BYTES;
                    array[at..at + sectors as usize * SECTOR_BYTES].fill(0);
                    content.zero(sector, sectors).unwrap();
                }
                Step::Freeze => content = Content::thaw(content.freeze(), keeping(memory_blocks)),
            }
            prop_assert!(read_all(&content) == array);
            prop_assert!(content.stored_bytes() <= SECTORS.div_ceil(8) * BLOCK_BYTES as u64);
        }
        content.zero(0, SECTORS).unwrap();
        prop_assert_eq!(content.stored_bytes() / BLOCK_BYTES as u64, 0);
    }
}

/// Blocks as workloads make them: cut from a pool anywhere, with a stamp of their own, which stays in the pool.
struct Mill {
    pool: Vec<u8>,
    state: u64,
}

impl Mill {
    fn new(seed: u64) -> Self {
        let mut mill = Self { pool: Vec::new(), state: seed };
        mill.pool = (0..40_000).flat_map(|_| mill.number().to_le_bytes()).collect();
        mill
    }

    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
    }

    fn block(&mut self) -> Vec<u8> {
        let start = (self.number() % (40_000 - 512)) as usize * 8;
        let stamp = self.number().to_le_bytes();
        self.pool[start..start + 8].copy_from_slice(&stamp);
        self.pool[start..start + BLOCK_BYTES].to_vec()
    }
}

#[test]
fn blocks_cut_from_a_pool_cost_little_and_come_back_whole() {
    const BLOCKS: u64 = 8000;
    let mut content = Content::new(BLOCKS * BLOCK_SECTORS, keeping(BLOCKS));
    let mut mill = Mill::new(1);
    let blocks: Vec<Vec<u8>> = (0..BLOCKS).map(|_| mill.block()).collect();
    for (number, block) in (0..).zip(&blocks) {
        content.write(number * BLOCK_SECTORS, block).unwrap();
    }
    let share = content.stored_bytes() as f64 / (BLOCKS * BLOCK_BYTES as u64) as f64;
    assert!(share < 0.2, "{share}");
    let mut back = vec![0; BLOCK_BYTES];
    for (number, block) in (0..).zip(&blocks) {
        content.read(number * BLOCK_SECTORS, &mut back).unwrap();
        assert!(back == *block, "block {number}");
    }
    content.zero(0, BLOCKS * BLOCK_SECTORS).unwrap();
    assert_eq!(content.stored_bytes(), 0);
}

#[test]
fn overwriting_with_what_was_never_there_keeps_only_the_last() {
    let mut content = Content::new(80, keeping(1000));
    let mut mill = Mill::new(2);
    for _ in 0..5000 {
        let unique: Vec<u8> = (0..512).flat_map(|_| mill.number().to_le_bytes()).collect();
        content.write(8, &unique).unwrap();
        assert_eq!(content.stored_bytes(), KEPT);
    }
}

proptest! {
    #[test]
    fn pieces_of_other_blocks_make_the_right_block(
        steps in proptest::collection::vec((0..6_u64, 0..6_u64, 0..512_usize, 0..512_usize, any::<u8>()), 1..80),
        memory_blocks in prop_oneof![Just(0_u64), Just(2), Just(1000)],
    ) {
        let mut content = Content::new(48, keeping(memory_blocks));
        let mut mill = Mill::new(3);
        let mut array: Vec<Vec<u8>> = vec![vec![0; BLOCK_BYTES]; 6];
        for (from, to, at, length, byte) in steps {
            let mut block = if byte % 5 == 0 { mill.block() } else { array[from as usize].clone() };
            let end = (at + length).min(512);
            if byte % 3 == 0 {
                // Shifted, as the same data at another place of a file.
                block.rotate_left(8 * at);
            } else {
                block[at * 8..end * 8].fill(byte);
            }
            content.write(to * BLOCK_SECTORS, &block).unwrap();
            array[to as usize] = block;
            prop_assert!(read_all(&content) == array.concat());
        }
        content.zero(0, 48).unwrap();
        prop_assert_eq!(content.stored_bytes(), 0);
    }
}
