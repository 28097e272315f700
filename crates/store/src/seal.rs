//! Digests that chain a run's plan, environment, attempts and verdict, so that a part that was
//! edited, added or taken away is noticed.
//!
//! They guard against edits by anyone who does not recompute them; only a signature would guard
//! against who does.

use rusqlite::ToSql;
use rusqlite::types::ToSqlOutput;
use sha2::{Digest as _, Sha256};

/// SHA-256 over named parts, each with its length before it.
#[derive(Clone, Debug)]
pub(crate) struct Digest(Sha256);

impl Digest {
    /// Of nothing yet; `kind` tells what is digested.
    pub(crate) fn of(kind: &str) -> Self {
        let mut digest = Self(Sha256::new());
        digest.add(kind.as_bytes());
        digest
    }

    /// Adds a part.
    pub(crate) fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// The digest so far.
    pub(crate) fn bytes(&self) -> [u8; 32] {
        self.0.clone().finalize().into()
    }
}

/// A link of the chain, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seal(String);

impl Seal {
    fn of(digest: &Digest) -> Self {
        Self(digest.bytes().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The first link: what is known before the first trial, by key.
    pub(crate) fn begin(known: &[(&str, String)]) -> Self {
        let mut digest = Digest::of("run");
        for (key, value) in known {
            digest.add(key.as_bytes());
            digest.add(value.as_bytes());
        }
        Self::of(&digest)
    }

    /// The link behind an attempt.
    pub(crate) fn attempt(&self, attempt: &Digest) -> Self {
        self.before("chain", &attempt.bytes())
    }

    /// The seal of a verdict over all attempts.
    pub(crate) fn verdict(&self, verdict: &str) -> Self {
        self.before("verdict", verdict.as_bytes())
    }

    /// The seal of an explanation over all attempts.
    pub(crate) fn why(&self, why: &str) -> Self {
        self.before("why", why.as_bytes())
    }

    fn before(&self, kind: &str, part: &[u8]) -> Self {
        let mut digest = Digest::of(kind);
        digest.add(self.0.as_bytes());
        digest.add(part);
        Self::of(&digest)
    }

    /// As it was kept.
    pub(crate) fn kept(text: String) -> Self {
        Self(text)
    }

    /// As it is kept.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl ToSql for Seal {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}
