use super::*;
use std::collections::BTreeSet;

const CORPUS: [&[u8]; 2] = [b"size = 1GiB\n", b"[lab]\nname = \"a\"\n"];

#[test]
fn a_seed_gives_one_input_and_seeds_give_many() {
    let all: BTreeSet<Vec<u8>> = (0..1_000).map(|seed| mutated(&CORPUS, seed)).collect();
    assert!(all.len() > 900, "{}", all.len());
    assert_eq!(mutated(&CORPUS, 7), mutated(&CORPUS, 7));
    assert!(all.iter().all(|input| input.len() <= LONGEST));
    assert!((0..1_000).any(|seed| !mutated(&[], seed).is_empty()));
}

#[test]
#[should_panic(expected = "found")]
fn a_parser_that_panics_is_found() {
    fuzz("planted", &CORPUS, 5_000, |input| assert!(!input.contains(&b'%'), "found"));
}
