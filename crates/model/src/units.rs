//! Sizes and durations as people write them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A number of bytes. Written `8GiB`, `512MiB`, `4k`, `512`; `k`, `m`, `g`, `t` are powers of 1024,
/// as in fio; `kB`, `MB`, `GB`, `TB` are powers of 1000.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A place on a block device: the number of its 512-byte sector, as the Linux block layer counts
/// whatever the logical block size is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Lba(pub u64);

/// Errors of a size or duration that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a {what}; write {example}")]
pub struct UnitError {
    /// The text that was read.
    pub text: String,
    /// The expected kind: "size" or "duration".
    pub what: &'static str,
    /// A correct spelling.
    pub example: &'static str,
}

const BINARY: [(&str, u64); 4] = [("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("t", 1 << 40)];

impl Bytes {
    /// Kibibytes.
    #[must_use]
    pub const fn kib(count: u64) -> Self {
        Self(count << 10)
    }

    /// Mebibytes.
    #[must_use]
    pub const fn mib(count: u64) -> Self {
        Self(count << 20)
    }

    /// Gibibytes.
    #[must_use]
    pub const fn gib(count: u64) -> Self {
        Self(count << 30)
    }

    fn multiplier(suffix: &str) -> Option<u64> {
        let lower = suffix.to_ascii_lowercase();
        if lower.is_empty() || lower == "b" {
            return Some(1);
        }
        for (position, (letter, factor)) in BINARY.iter().enumerate() {
            if lower == *letter || lower == format!("{letter}ib") {
                return Some(*factor);
            }
            if lower == format!("{letter}b") {
                return Some(1000_u64.pow(u32::try_from(position).ok()? + 1));
            }
        }
        None
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || UnitError {
            text: text.to_owned(),
            what: "size",
            example: "\"8GiB\", \"512MiB\" or \"4k\"",
        };
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
        let number: u64 = trimmed[..digits].parse().map_err(|_| error())?;
        let factor = Self::multiplier(trimmed[digits..].trim()).ok_or_else(error)?;
        number.checked_mul(factor).map(Self).ok_or_else(error)
    }
}

impl fmt::Display for Bytes {
    /// Exact: the largest binary unit that divides the number, else plain bytes.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, factor) in
            [("TiB", 1_u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        {
            if self.0 >= factor && self.0.is_multiple_of(factor) {
                return write!(formatter, "{}{name}", self.0 / factor);
            }
        }
        write!(formatter, "{}B", self.0)
    }
}

/// A duration in nanoseconds. Written `90s`, `30min`, `2h30min`, `100ms`, `250us`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

const TIME_UNITS: [(&str, u64); 10] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("hours", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

impl Nanos {
    /// Whole seconds.
    #[must_use]
    pub const fn seconds(count: u64) -> Self {
        Self(count * 1_000_000_000)
    }

    /// Seconds as a floating-point number.
    #[must_use]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// From a duration of the standard library; more than 584 years are 584 years.
    #[must_use]
    pub fn from_duration(duration: std::time::Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The same duration for the standard library.
    #[must_use]
    pub const fn to_duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || UnitError {
            text: text.to_owned(),
            what: "duration",
            example: "\"30min\", \"90s\" or \"2h30min\"",
        };
        let mut rest = text.trim();
        let mut total: u64 = 0;
        if rest.is_empty() {
            return Err(error());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(error)?;
            let number: u64 = rest[..digits].parse().map_err(|_| error())?;
            rest = rest[digits..].trim_start();
            let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let unit = rest[..letters].to_ascii_lowercase();
            let factor = TIME_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?.1;
            total = number
                .checked_mul(factor)
                .and_then(|part| total.checked_add(part))
                .ok_or_else(error)?;
            rest = rest[letters..].trim_start();
        }
        Ok(Self(total))
    }
}

impl fmt::Display for Nanos {
    /// For people: two units at most (`2 h 05 min`, `3 min 20 s`, `4.2 s`, `250 µs`).
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000_000_000;
        match self.0 {
            0..=999 => write!(formatter, "{} ns", self.0),
            1_000..=999_999 => write!(formatter, "{:.0} µs", self.0 as f64 / 1e3),
            1_000_000..=999_999_999 => write!(formatter, "{:.0} ms", self.0 as f64 / 1e6),
            _ if seconds < 60 => write!(formatter, "{:.1} s", self.as_seconds()),
            _ if seconds < 3600 => write!(formatter, "{} min {:02} s", seconds / 60, seconds % 60),
            _ => write!(formatter, "{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
        }
    }
}

#[cfg(test)]
mod tests;
