//! Inputs for parsers: a corpus, and seeded mutations of it.
//!
//! `cargo test` tries few thousand inputs of each parser, the same every time, and `make test-all` three times as
//! many. With [`TIME`] in the environment each continues for so many seconds; a failure names the seed of its input.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Environment variable with the seconds that each parser is fuzzed for.
pub const TIME: &str = "SEEKWELL_FUZZ_S";
/// Environment variable with the seed to begin with.
pub const SEED: &str = "SEEKWELL_FUZZ_SEED";

/// The most CPU time that one input may take. Nothing is near it: a parser that reaches it takes more than
/// linear time. The time of the clock would tell of other processes too.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest input that mutations make.
const LONGEST: usize = 1 << 20;
/// The seed without another.
const FIXED: u64 = 0x5eed;

/// Pieces that parsers take for something: ends of numbers, brackets, escapes, path separators.
const PIECES: [&[u8]; 24] = [
    b"\0", b"\xff\xff\xff\xff", b"\x80", b"18446744073709551616", b"-1", b"1e999", b"NaN",
    b"[[[[[[[[[[[[[[[[", b"{\"a\":{\"a\":{\"a\":", b"]]", b"\"", b"\\", b"\n", b"=", b"../", b"/",
    b"%s", b"\x1b[31m", b"=1+1", b"\xc3\x28", b"\xef\xbb\xbf", b"999999999999TiB",
    b"\x7f\xff\xff\xff", b"0x",
];

/// Gives `parse` the corpus, then mutations of it: a third of `few`, all of them under `make test-all`, or as many as
/// fit into the time that the environment names.
///
/// # Panics
/// When the parser panics or takes more than ten seconds of CPU time; the message names the seed of the input.
pub fn fuzz(name: &str, corpus: &[&[u8]], few: u64, mut parse: impl FnMut(&[u8])) {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let time = number(TIME).map(Duration::from_secs);
    let first = number(SEED).unwrap_or(FIXED);
    let few = crate::cases(few / 3, few);
    let begun = Instant::now();
    for input in corpus {
        attempt(name, "the corpus", input, &mut parse);
    }
    let mut tried = 0;
    while time.map_or(tried < few, |time| begun.elapsed() < time) {
        let seed = first.wrapping_add(tried);
        let input = mutated(corpus, seed);
        attempt(name, &format!("{SEED}={seed}"), &input, &mut parse);
        tried += 1;
    }
    let said = format!("{name}: {tried} inputs in {:.0} s\n", begun.elapsed().as_secs_f64());
    crate::eprint_line(&said);
}

fn attempt(name: &str, origin: &str, input: &[u8], parse: &mut impl FnMut(&[u8])) {
    let begun = cpu_time();
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| parse(input))) {
        let bytes = input.len();
        crate::eprint_line(&format!("{name}: {origin}, {bytes} bytes: {:?}\n", shown(input)));
        resume_unwind(panic);
    }
    let took = cpu_time().saturating_sub(begun);
    assert!(took < PATIENCE, "{name}: {origin} took {took:?} of CPU time: {:?}", shown(input));
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// The input as text, not more of it than a person reads.
fn shown(input: &[u8]) -> String {
    String::from_utf8_lossy(&input[..input.len().min(2000)]).into_owned()
}

/// A member of the corpus with one to eight edits, by a seed alone. Without a corpus it is made of edits.
#[must_use]
pub fn mutated(corpus: &[&[u8]], seed: u64) -> Vec<u8> {
    let mut random = Random(seed ^ 0x9e37_79b9_7f4a_7c15);
    let pick = |random: &mut Random| match corpus.len() {
        0 => &[][..],
        many => corpus[random.below(many)],
    };
    let mut input = pick(&mut random).to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(input.len() + 1);
        let length = random.below((input.len() - at).min(64) + 1);
        match random.below(8) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = random.below(256) as u8,
            2 => drop(input.drain(at..at + length)),
            3 => insert(&mut input, at, PIECES[random.below(PIECES.len())]),
            4 => {
                let copy = input[at..at + length].to_vec();
                let to = random.below(input.len() + 1);
                insert(&mut input, to, &copy);
            }
            5 => input.truncate(at),
            6 => {
                let other = pick(&mut random);
                let from = random.below(other.len() + 1);
                let end = from + random.below((other.len() - from).min(256) + 1);
                insert(&mut input, at, &other[from..end]);
            }
            _ => {
                let copy = input[at..at + length].to_vec();
                for _ in 0..random.below(64) {
                    insert(&mut input, at, &copy);
                }
            }
        }
    }
    input.truncate(LONGEST);
    input
}

fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    drop(input.splice(at..at, piece.iter().copied()));
}

/// A sequence by Marsaglia's xorshift with 64 bits ("Xorshift RNGs", 2003) behind a multiplication.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        if self.0 == 0 {
            self.0 = 1;
        }
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }
}

#[cfg(test)]
mod tests;
