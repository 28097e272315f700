//! Parts of a file that its writer keeps in mind, so that it reads nothing for each record.

use super::metrics::Known;
use crate::prefix::{Prefix, Primed};
use rusqlite::Connection;
use std::collections::HashMap;
use std::sync::Arc;

/// Workloads whose prefixes are known at once: a deflater takes a third of a megabyte.
const MOST: usize = 16;

/// Prefixes of a workload.
#[derive(Debug)]
pub(crate) struct Behind {
    /// Its row; `None` for a value without one.
    pub(super) id: Option<i64>,
    pub(super) record: Primed,
    pub(super) histograms: Primed,
}

impl Behind {
    pub(super) fn of(id: Option<i64>, record: &Prefix, histograms: &Prefix) -> Self {
        Self { id, record: record.primed(), histograms: histograms.primed() }
    }
}

/// Prefixes and names of metrics that the file has. What was added to it in a transaction that is undone has to be
/// forgotten.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    /// By workload.
    pub(super) prefixes: HashMap<String, Arc<Behind>>,
    names: Option<Known>,
}

impl Writing {
    pub(super) fn know(&mut self, workload: String, behind: Arc<Behind>) {
        if self.prefixes.len() >= MOST {
            self.prefixes.clear();
        }
        self.prefixes.insert(workload, behind);
    }

    pub(super) fn names(&mut self, connection: &Connection) -> rusqlite::Result<&mut Known> {
        let names = match self.names.take() {
            Some(known) => known,
            None => Known::of(connection)?,
        };
        Ok(self.names.insert(names))
    }
}
