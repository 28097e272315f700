//! Seeded random numbers that are equal on every machine and in every release.
//!
//! The generator is xoshiro256++ (Blackman, Vigna: Scrambled linear pseudorandom number
//! generators, ACM TOMS 47, 2021), seeded by SplitMix64 as its authors advise. The helpers are
//! written here and not taken from a crate because an order once printed in a plan must stay the
//! same when a dependency changes its sampling method.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded generator. The same seed gives the same numbers in every version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: Xoshiro256PlusPlus,
}

/// A generator from a 64-bit seed.
#[must_use]
pub fn seeded(seed: u64) -> Rng {
    Rng { state: Xoshiro256PlusPlus::seed_from_u64(seed) }
}

/// A seed for one named purpose, derived from a run's seed: different labels give unrelated
/// streams, and a new label never disturbs an old one.
///
/// The label is hashed by FNV-1a (64 bit), added to the seed, and the sum goes through the
/// SplitMix64 finaliser twice.
#[must_use]
pub fn derive_seed(seed: u64, label: &str) -> u64 {
    const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
    let hash = label
        .bytes()
        .fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
    split_mix(split_mix(seed).wrapping_add(hash))
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): one
/// step of the counter and its finaliser (variant 13 of Stafford).
fn split_mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state.next_u64()
    }

    /// Fills memory with random bytes, at the speed of this room also for those that are not optimised.
    #[inline(never)]
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.state.fill_bytes(bytes);
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number in [`low`, `high`).
    pub fn uniform_in(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// An unbiased integer in 0..`bound`; 0 when `bound` is 0.
    ///
    /// Lemire: Fast random integer generation in an interval, ACM TOMACS 29, 2019.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// An unbiased index into something of `length` items; 0 when `length` is 0.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A standard normal number, by the polar method (Marsaglia, Bray 1964); the second number
    /// of each pair is thrown away so that the state stays the generator alone.
    pub fn normal(&mut self) -> f64 {
        loop {
            let x = self.uniform_in(-1.0, 1.0);
            let y = self.uniform_in(-1.0, 1.0);
            let s = x * x + y * y;
            if s > 0.0 && s < 1.0 {
                return x * (-2.0 * s.ln() / s).sqrt();
            }
        }
    }

    /// Puts the items in random order, every order equally likely (Fisher–Yates, in the form of
    /// Durstenfeld 1964).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.index(last + 1);
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests;
