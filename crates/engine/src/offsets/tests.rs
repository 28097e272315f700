use super::*;
use proptest::prelude::*;

const RANDOM: Pattern = Pattern::Random;
const SEQUENTIAL: Pattern = Pattern::Sequential;

fn take(offsets: &mut Offsets, count: usize) -> Vec<u64> {
    (0..count).map(|_| offsets.next_offset()).collect()
}

proptest! {
    #[test]
    fn every_offset_is_a_whole_block_inside_the_span(
        offset in 0_u64..1 << 40,
        blocks in 1_u64..5_000,
        rest in 0_u64..4096,
        block_bytes in prop::sample::select(vec![1_u32, 512, 4096, 12_288]),
        sequential: bool,
        threads in 1_u32..9,
        seed: u64,
    ) {
        let block = u64::from(block_bytes);
        let span = Span { offset, length: blocks * block + rest % block };
        let pattern = if sequential { SEQUENTIAL } else { RANDOM };
        for thread in 0..threads {
            let made = Offsets::new(pattern, span, block_bytes, (thread, threads), seed);
            let Some(mut offsets) = made else {
                prop_assert!(sequential && blocks < u64::from(threads));
                continue;
            };
            for at in take(&mut offsets, 100) {
                prop_assert!(at >= offset && at + block <= offset + span.length);
                prop_assert_eq!((at - offset) % block, 0);
            }
        }
    }

    #[test]
    fn sequential_threads_cover_the_span_once_without_gap_or_overlap(
        offset in 0_u64..1 << 40,
        blocks in 1_u64..3_000,
        threads in 1_u32..17,
    ) {
        let span = Span { offset, length: blocks * 512 + 100 };
        let mut all = Vec::new();
        let mut shares = Vec::new();
        for thread in 0..threads {
            let Some(offsets) = Offsets::new(SEQUENTIAL, span, 512, (thread, threads), 0) else {
                shares.push(0);
                continue;
            };
            let Offsets::Sequential { first, end, .. } = offsets else { panic!("not sequential") };
            let share = (end - first) / 512;
            shares.push(share);
            let mut offsets = offsets;
            all.extend(take(&mut offsets, share as usize));
            prop_assert_eq!(offsets.next_offset(), first, "wraps to its own begin");
        }
        let naive: Vec<u64> = (0..blocks).map(|block| offset + block * 512).collect();
        prop_assert_eq!(all, naive);
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        prop_assert!(most - least <= 1, "{shares:?}");
    }
}

#[test]
fn random_offsets_are_uniform_over_the_blocks() {
    let blocks = 64_usize;
    let draws = 64_000;
    let span = Span { offset: 4096, length: blocks as u64 * 4096 };
    let mut offsets = Offsets::new(RANDOM, span, 4096, (0, 1), 42).unwrap();
    let mut counts = vec![0_u32; blocks];
    for at in take(&mut offsets, draws) {
        counts[((at - 4096) / 4096) as usize] += 1;
    }
    let expected = draws as f64 / blocks as f64;
    let chi_squared: f64 =
        counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
    // 63 degrees of freedom: 0.1 % of uniform draws are above 103.4, 0.1 % below 35.
    assert!((35.0..103.4).contains(&chi_squared), "{chi_squared}");
}

#[test]
fn a_seed_gives_the_same_offsets_and_threads_differ() {
    let span = Span { offset: 0, length: 1 << 30 };
    let of =
        |thread, seed| take(&mut Offsets::new(RANDOM, span, 512, (thread, 2), seed).unwrap(), 20);
    assert_eq!(of(0, 7), of(0, 7));
    assert_ne!(of(0, 7), of(1, 7));
    assert_ne!(of(0, 7), of(0, 8));
}

#[test]
fn a_span_below_one_block_has_no_offsets() {
    let span = Span { offset: 0, length: 511 };
    assert!(Offsets::new(RANDOM, span, 512, (0, 1), 0).is_none());
    assert!(Offsets::new(SEQUENTIAL, span, 512, (0, 1), 0).is_none());
}
