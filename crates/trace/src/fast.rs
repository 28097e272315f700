//! A fast hash for the maps that every call of a trace asks. Its seed is random, as names come from
//! the traced programs.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map with the fast hash.
pub type FastMap<K, V> = HashMap<K, V, Seed>;

/// Seed of a map's hash.
#[derive(Clone, Debug)]
pub struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        // That of the standard library is as random as the system's numbers.
        Self(RandomState::new().build_hasher().finish())
    }
}

impl BuildHasher for Seed {
    type Hasher = Fast;

    #[inline]
    fn build_hasher(&self) -> Fast {
        Fast(self.0)
    }
}

/// Multiplies and folds.
pub struct Fast(u64);

impl Fast {
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "both halves are used")]
    fn mix(&mut self, value: u64) {
        let wide = u128::from(self.0 ^ value) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (wide as u64 ^ (wide >> 64) as u64).wrapping_add(0x5851_f42d_4c95_7f2d);
    }
}

impl Hasher for Fast {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_ne_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length keeps "a" and "a\0" apart.
        self.mix(u64::from_ne_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.mix(value.into());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.mix(value.into());
    }

    #[inline]
    fn write_i32(&mut self, value: i32) {
        self.mix(value.cast_unsigned().into());
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
