//! Metrics of an attempt: values in blocks of columns, so that SQL reads them and each takes
//! little more than its own bytes.

use crate::blob::Problem;
use crate::schema::{BLOCK, BLOCKS};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use seekwell_model::record::StepRecord;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Step and metric by id.
pub(super) type Names = Vec<(i64, String, String)>;

/// Values by step and metric.
pub(super) struct Metrics(BTreeMap<(String, String), f64>);

impl Metrics {
    /// Takes the metrics out of the steps. What a row could not tell apart stays: the metrics of a
    /// second step of one name, and minus zero.
    pub(super) fn take(steps: &mut [StepRecord]) -> Self {
        let mut taken = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for step in steps {
            if !seen.insert(step.name.clone()) {
                continue;
            }
            step.metrics.retain(|metric, value| {
                let stays = *value == 0.0 && value.is_sign_negative();
                if !stays {
                    taken.insert((step.name.clone(), metric.clone()), *value);
                }
                stays
            });
        }
        Self(taken)
    }

    /// Puts them back.
    pub(super) fn put(self, steps: &mut [StepRecord]) -> Result<(), Problem> {
        for ((name, metric), value) in self.0 {
            let step = steps.iter_mut().find(|step| step.name == name);
            step.ok_or("has a metric without its step")?.metrics.insert(metric, value);
        }
        Ok(())
    }

    /// For a digest.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for ((step, metric), value) in &self.0 {
            for text in [step, metric] {
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
            }
            out.extend(value.to_bits().to_le_bytes());
        }
        out
    }

    /// Writes the rows of an attempt, and names that are new.
    pub(super) fn insert(&self, connection: &Connection, attempt: i64) -> rusqlite::Result<()> {
        let mut ids: HashMap<(String, String), i64> =
            names(connection)?.into_iter().map(|(id, step, metric)| ((step, metric), id)).collect();
        let mut blocks: BTreeMap<i64, [Value; BLOCK]> = BTreeMap::new();
        let mut add = connection.prepare_cached("INSERT INTO metric_name VALUES (?, ?, ?)")?;
        for ((step, metric), value) in &self.0 {
            let key = (step.clone(), metric.clone());
            let id = match ids.get(&key) {
                Some(id) => *id,
                None => {
                    let id = ids.len() as i64;
                    add.execute(params![id, step, metric])?;
                    ids.insert(key, id);
                    id
                }
            };
            let columns =
                blocks.entry(id / BLOCK as i64).or_insert_with(|| [const { Value::Null }; BLOCK]);
            columns[id as usize % BLOCK] = Value::Real(*value);
        }
        let places = vec!["?"; BLOCK + 1].join(", ");
        let statement = format!("INSERT INTO metric_block VALUES ({places})");
        let mut insert = connection.prepare_cached(&statement)?;
        for (block, columns) in blocks {
            if block >= BLOCKS {
                let many = "more names of metrics than a run file holds".to_owned();
                return Err(rusqlite::Error::InvalidParameterName(many));
            }
            let id = Value::Integer(attempt * BLOCKS + block);
            insert.execute(params_from_iter(std::iter::once(id).chain(columns)))?;
        }
        Ok(())
    }

    /// Reads those of an attempt. A value without a name gets its place as one, so that it is missed in
    /// no digest.
    pub(super) fn read(
        connection: &Connection,
        attempt: i64,
        names: &Names,
    ) -> rusqlite::Result<Self> {
        let mut statement =
            connection.prepare_cached("SELECT * FROM metric_block WHERE id BETWEEN ? AND ?")?;
        let mut rows = statement.query([attempt * BLOCKS, attempt * BLOCKS + BLOCKS - 1])?;
        let mut found = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let block: i64 = row.get::<_, i64>(0)? % BLOCKS;
            for column in 0..BLOCK {
                let Some(value) = row.get::<_, Option<f64>>(column + 1)? else { continue };
                let id = block * BLOCK as i64 + column as i64;
                let name = match names.binary_search_by_key(&id, |(id, ..)| *id) {
                    Ok(at) => names.get(at).map(|(_, step, metric)| (step.clone(), metric.clone())),
                    Err(_) => None,
                };
                found.insert(name.unwrap_or_else(|| (String::new(), id.to_string())), value);
            }
        }
        Ok(Self(found))
    }
}

/// All names, by id from 0.
pub(super) fn names(connection: &Connection) -> rusqlite::Result<Names> {
    let query = "SELECT id, step, metric FROM metric_name ORDER BY id";
    let mut statement = connection.prepare_cached(query)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}
