//! Metrics of an attempt: values in blocks of columns, so that SQL reads them and each takes
//! little more than its own bytes.

use crate::attempt::Wanted;
use crate::blob::Problem;
use crate::schema::{BLOCK, BLOCKS};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use seekwell_model::record::StepRecord;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A metric of a step.
struct Name {
    id: i64,
    step: String,
    metric: String,
    /// For a digest.
    bytes: Vec<u8>,
    is_wanted: bool,
}

/// Names of metrics, which all attempts share: a run of 100,000 trials has them once.
pub(super) struct Names {
    by_id: Vec<Name>,
    /// Positions by step and metric, the order of a digest; `None` if two have one name, which no writer makes.
    order: Option<Vec<usize>>,
}

impl Names {
    /// Reads all names.
    pub(super) fn read(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Self> {
        let name = |(id, step, metric): (i64, String, String)| Name {
            id,
            bytes: named(&step, &metric),
            is_wanted: wanted.has_metric(&step, &metric),
            step,
            metric,
        };
        let by_id: Vec<Name> = names(connection)?.into_iter().map(name).collect();
        let key = |at: &usize| (by_id[*at].step.as_str(), by_id[*at].metric.as_str());
        let mut order: Vec<usize> = (0..by_id.len()).collect();
        order.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        let is_distinct = order.windows(2).all(|pair| key(&pair[0]) != key(&pair[1]));
        Ok(Self { order: is_distinct.then_some(order), by_id })
    }

    fn position(&self, id: i64) -> Option<usize> {
        self.by_id.binary_search_by_key(&id, |name| name.id).ok()
    }
}

/// Step and metric as a digest takes them.
fn named(step: &str, metric: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(step.len() + metric.len() + 8);
    for text in [step, metric] {
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(text.as_bytes());
    }
    out
}

/// The values of an attempt as they were read.
pub(super) enum Found<'n> {
    /// By the position of their name.
    Known(&'n Names, &'n [usize], Vec<Option<f64>>),
    /// With values without a name of their own.
    Odd(Metrics),
}

impl<'n> Found<'n> {
    /// Reads the values of an attempt. One without a name gets its place as one, so that it is missed in no digest.
    pub(super) fn read(
        connection: &Connection,
        attempt: i64,
        names: &'n Names,
    ) -> rusqlite::Result<Self> {
        let values = stored(connection, attempt)?;
        if let Some(order) = &names.order {
            let mut known = vec![None; names.by_id.len()];
            let mut place = |(id, value): &(i64, f64)| {
                names.position(*id).map(|position| known[position] = Some(*value)).is_some()
            };
            if values.iter().all(&mut place) {
                return Ok(Self::Known(names, order, known));
            }
        }
        let name = |id: i64| match names.position(id).map(|at| &names.by_id[at]) {
            Some(name) => (name.step.clone(), name.metric.clone()),
            None => (String::new(), id.to_string()),
        };
        let values = values.into_iter().map(|(id, value)| (name(id), value));
        Ok(Self::Odd(Metrics(values.collect())))
    }

    /// For a digest.
    pub(super) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Odd(metrics) => metrics.bytes(),
            Self::Known(names, order, values) => {
                let mut out = Vec::new();
                for at in *order {
                    if let Some(value) = values[*at] {
                        out.extend(&names.by_id[*at].bytes);
                        out.extend(value.to_bits().to_le_bytes());
                    }
                }
                out
            }
        }
    }

    /// Puts those that are wanted into their steps.
    pub(super) fn put(self, steps: &mut [StepRecord]) -> Result<(), Problem> {
        let (names, order, values) = match self {
            Self::Odd(metrics) => return metrics.put(steps),
            Self::Known(names, order, values) => (names, order, values),
        };
        // All metrics of a step come together.
        let mut last: Option<(&str, usize)> = None;
        for at in order {
            let (name, Some(value)) = (&names.by_id[*at], values[*at]) else { continue };
            let position = match last {
                Some((step, position)) if step == name.step => position,
                _ => steps
                    .iter()
                    .position(|step| step.name == name.step)
                    .ok_or("has a metric without its step")?,
            };
            last = Some((&name.step, position));
            if name.is_wanted {
                steps[position].metrics.insert(name.metric.clone(), value);
            }
        }
        Ok(())
    }
}

/// Values of an attempt with the ids of their names.
fn stored(connection: &Connection, attempt: i64) -> rusqlite::Result<Vec<(i64, f64)>> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM metric_block WHERE id BETWEEN ? AND ?")?;
    let mut rows = statement.query([attempt * BLOCKS, attempt * BLOCKS + BLOCKS - 1])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let block: i64 = row.get::<_, i64>(0)? % BLOCKS;
        for column in 0..BLOCK {
            if let Some(value) = row.get::<_, Option<f64>>(column + 1)? {
                found.push((block * BLOCK as i64 + column as i64, value));
            }
        }
    }
    Ok(found)
}

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
            out.extend(named(step, metric));
            out.extend(value.to_bits().to_le_bytes());
        }
        out
    }

    /// Writes the rows of an attempt, and names that are new.
    pub(super) fn insert(
        &self,
        connection: &Connection,
        known: &mut Known,
        attempt: i64,
    ) -> rusqlite::Result<()> {
        let mut values = Vec::with_capacity(self.0.len());
        for ((step, metric), value) in &self.0 {
            values.push((known.id(connection, step, metric)?, *value));
        }
        insert_blocks(connection, attempt, &values)
    }
}

/// Ids of names.
#[derive(Debug)]
pub(super) struct Known(HashMap<(String, String), i64>);

impl Known {
    /// Reads all names.
    pub(super) fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let names = names(connection)?.into_iter();
        Ok(Self(names.map(|(id, step, metric)| ((step, metric), id)).collect()))
    }

    /// The id of a name, which is given one if it has none.
    fn id(&mut self, connection: &Connection, step: &str, metric: &str) -> rusqlite::Result<i64> {
        let key = (step.to_owned(), metric.to_owned());
        if let Some(id) = self.0.get(&key) {
            return Ok(*id);
        }
        let id = self.0.len() as i64;
        let mut add = connection.prepare_cached("INSERT INTO metric_name VALUES (?, ?, ?)")?;
        add.execute(params![id, step, metric])?;
        self.0.insert(key, id);
        Ok(id)
    }
}

/// Writes values with the ids of their names.
fn insert_blocks(
    connection: &Connection,
    attempt: i64,
    values: &[(i64, f64)],
) -> rusqlite::Result<()> {
    let mut blocks: BTreeMap<i64, [Value; BLOCK]> = BTreeMap::new();
    for (id, value) in values {
        let columns =
            blocks.entry(id / BLOCK as i64).or_insert_with(|| [const { Value::Null }; BLOCK]);
        columns[*id as usize % BLOCK] = Value::Real(*value);
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

/// Ids of names in another file by those of this one.
pub(super) struct Translation(HashMap<i64, i64>);

impl Translation {
    /// Gives the other file the names that it lacks.
    pub(super) fn of(from: &Connection, to: &Connection) -> rusqlite::Result<Self> {
        let mut known = Known::of(to)?;
        let named = names(from)?.into_iter();
        let pair =
            |(id, step, metric): (i64, String, String)| Ok((id, known.id(to, &step, &metric)?));
        Ok(Self(named.map(pair).collect::<rusqlite::Result<_>>()?))
    }

    /// Copies the values of an attempt.
    pub(super) fn copy(
        &self,
        from: &Connection,
        attempt: i64,
        to: &Connection,
        copy: i64,
    ) -> rusqlite::Result<()> {
        let translated = |(id, value): (i64, f64)| match self.0.get(&id) {
            Some(there) => Ok((*there, value)),
            // No value of a verified attempt lacks its name.
            None => Err(rusqlite::Error::IntegralValueOutOfRange(0, id)),
        };
        let values = stored(from, attempt)?.into_iter().map(translated);
        insert_blocks(to, copy, &values.collect::<rusqlite::Result<Vec<_>>>()?)
    }
}

/// All names, by id from 0.
fn names(connection: &Connection) -> rusqlite::Result<Vec<(i64, String, String)>> {
    let query = "SELECT id, step, metric FROM metric_name ORDER BY id";
    let mut statement = connection.prepare_cached(query)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}
