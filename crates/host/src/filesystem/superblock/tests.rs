//! The formats themselves are checked against the real programs in the tests of the room; here is
//! what no program makes.

use super::*;

#[test]
fn unknown_short_and_broken_content_is_not_known() {
    for content in [Vec::new(), vec![0; 100], vec![0xFF; 200_000], b"XFSB".to_vec()] {
        let at = |offset: u64, length: usize| {
            let start = usize::try_from(offset).unwrap().min(content.len());
            Ok(content[start..(start + length).min(content.len())].to_vec())
        };
        assert_eq!(read(&at).unwrap(), UNKNOWN);
        assert_eq!(external(&at).unwrap(), None);
    }
}

#[test]
fn a_block_size_that_cannot_be_is_not_known() {
    let mut block = vec![0; 1024];
    block[56..58].copy_from_slice(&EXT_MAGIC.to_le_bytes());
    block[24] = 200;
    assert_eq!(ext(&block), None);
}

#[test]
fn an_ext_journal_whose_size_is_not_recorded_is_not_known() {
    let mut block = vec![0; 1024];
    block[56..58].copy_from_slice(&EXT_MAGIC.to_le_bytes());
    block[24] = 2;
    block[92] = EXT_HAS_JOURNAL as u8;
    block[224] = 8;
    assert_eq!(ext(&block).unwrap().journal, Place::None);
    block[253] = 1;
    block[268 + 64..268 + 68].copy_from_slice(&(64_u32 << 20).to_le_bytes());
    assert_eq!(ext(&block).unwrap().journal, Place::Internal(Bytes::mib(64)));
    assert_eq!(ext(&block).unwrap().block_bytes, Some(4096));
}

proptest::proptest! {
    #[test]
    fn no_content_makes_a_parser_panic(block in proptest::collection::vec(proptest::num::u8::ANY, 0..1024), magic in 0..4_usize) {
        let mut block = block;
        let marks: [(usize, &[u8]); 4] = [(0, b"XFSB"), (56, &[0x53, 0xEF]), (0, b"JFS1"), (52, b"ReIsEr2Fs")];
        let (offset, mark) = marks[magic];
        if block.len() >= offset + mark.len() {
            block[offset..offset + mark.len()].copy_from_slice(mark);
        }
        for parse in [xfs, ext, jfs, reiserfs] {
            let _ = parse(&block);
        }
    }
}
