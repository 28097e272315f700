use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn output_keeps_its_two_ends_whatever_the_pieces(
        pieces in prop::collection::vec((1_usize..400_000, any::<u8>()), 0..12),
    ) {
        let mut output = Output::default();
        let mut whole = Vec::new();
        for (length, byte) in pieces {
            let piece = vec![byte; length];
            output.push(&piece);
            whole.extend_from_slice(&piece);
        }
        let half = OUTPUT_BYTES / 2;
        let kept = output.head.len() + output.tail.len();
        prop_assert_eq!(kept as u64 + output.cut_bytes, whole.len() as u64);
        prop_assert_eq!(&output.head[..], &whole[..whole.len().min(half)]);
        let tail: Vec<u8> = output.tail.iter().copied().collect();
        prop_assert_eq!(&tail[..], &whole[whole.len() - tail.len()..]);
        prop_assert_eq!(output.cut_bytes > 0, whole.len() > OUTPUT_BYTES);
    }
}
