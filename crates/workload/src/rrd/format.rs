//! The file format of round-robin databases, version 0003, as rrdtool writes it on 64-bit
//! little-endian machines: its structures are dumped as the C compiler lays them out.
//!
//! | part | bytes |
//! | --- | --- |
//! | head: cookie, version, float cookie, sources, archives, seconds per step, 10 parameters | 128 |
//! | each source: name 20, type 20, 10 parameters | 120 |
//! | each archive: function 20 (+ 4), rows, steps per row, 10 parameters | 120 |
//! | live head: time of the last update, its microseconds | 16 |
//! | each source: last value as text 30 (+ 2), 10 numbers | 112 |
//! | each archive and source: 10 numbers | 80 |
//! | each archive: its current row | 8 |
//! | each archive: its rows of one float per source | |
//!
//! Source: `rrd_format.h` of rrdtool 1.7, whose comments define it.

/// Magic at the start of a file.
const COOKIE: &[u8; 4] = b"RRD\0";
/// A number whose bytes tell how the machine writes floats.
const FLOAT_COOKIE: f64 = 8.642135e130;
/// An unknown value: what 0/0 gives on x86, where rrdtool takes it from.
pub const UNKNOWN_BITS: u64 = 0xFFF8_0000_0000_0000;
const HEAD_BYTES: usize = 128;
const DEFINITION_BYTES: usize = 120;
const LIVE_BYTES: usize = 16;
const SOURCE_STATE_BYTES: usize = 112;
const ARCHIVE_STATE_BYTES: usize = 80;
/// Bytes of the text of the last value, its final zero included.
pub const LAST_VALUE_BYTES: usize = 30;
/// A text of the format: a name, a type, a function.
const TEXT_BYTES: usize = 20;
/// Most sources and archives that are taken from a file: a hostile one could name any number.
const MOST: u64 = 1 << 20;

/// Type of a data source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The value itself.
    Gauge,
    /// A counter that only rises, and wraps at 32 or 64 bits.
    Counter,
}

/// Function by which an archive combines several values into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consolidation {
    /// Their mean.
    Average,
    /// The largest.
    Max,
}

/// A data source.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Name.
    pub name: String,
    /// Meaning of its values.
    pub kind: SourceKind,
    /// After so many seconds without an update its value is unknown.
    pub heartbeat_s: u64,
    /// Smallest rate that is taken; NaN is any.
    pub min: f64,
    /// Largest rate that is taken; NaN is any.
    pub max: f64,
}

/// An archive.
#[derive(Clone, Debug, PartialEq)]
pub struct Archive {
    /// Function that consolidates values.
    pub function: Consolidation,
    /// Rows.
    pub rows: u64,
    /// Primary data points per row.
    pub steps: u64,
    /// Part of them that may be unknown.
    pub unknown: f64,
}

/// Definition of a file: everything that no update changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Seconds of a primary data point.
    pub step_s: u64,
    /// Data sources.
    pub sources: Vec<Source>,
    /// Archives.
    pub archives: Vec<Archive>,
}

/// Errors of bytes that are no file of this format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatError {
    /// It is something else, or uses something beyond plain sources and archives.
    Foreign,
    /// Length in bytes of a file that is shorter than its header says.
    Short(u64),
}

impl SourceKind {
    const ALL: [Self; 2] = [Self::Gauge, Self::Counter];

    /// As the file has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Gauge => "GAUGE",
            Self::Counter => "COUNTER",
        }
    }
}

impl Consolidation {
    const ALL: [Self; 2] = [Self::Average, Self::Max];

    /// As the file has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Average => "AVERAGE",
            Self::Max => "MAX",
        }
    }
}

/// Offsets of the parts of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// Live head.
    pub live: usize,
    /// State of the sources.
    pub sources: usize,
    /// State of the archives.
    pub archives: usize,
    /// Current rows.
    pub rows: usize,
    /// Rows of the first archive: the length of everything before.
    pub data: usize,
    /// Rows of each archive.
    pub archive_data: Vec<u64>,
    /// Length of the file.
    pub length: u64,
}

impl Offsets {
    /// State of a source.
    #[must_use]
    pub fn source(&self, source: usize) -> usize {
        self.sources + source * SOURCE_STATE_BYTES
    }

    /// State of a source in an archive.
    #[must_use]
    pub fn state(&self, sources: usize, archive: usize, source: usize) -> usize {
        self.archives + (archive * sources + source) * ARCHIVE_STATE_BYTES
    }
}

/// A number of 8 bytes.
#[must_use]
pub fn get_u64(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

/// A float.
#[must_use]
pub fn get_f64(bytes: &[u8], at: usize) -> f64 {
    f64::from_bits(get_u64(bytes, at))
}

/// Writes a number of 8 bytes.
pub fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Writes a float; one that is unknown always has the same bytes.
pub fn put_f64(bytes: &mut [u8], at: usize, value: f64) {
    put_u64(bytes, at, if value.is_nan() { UNKNOWN_BITS } else { value.to_bits() });
}

/// A text up to its zero.
#[must_use]
pub fn get_text(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len())]
}

/// Writes a text with zeros to the end of its field; what is too long is cut.
pub fn put_text(field: &mut [u8], text: &[u8]) {
    let length = text.len().min(field.len() - 1);
    field[..length].copy_from_slice(&text[..length]);
    field[length..].fill(0);
}

impl Definition {
    /// Offsets of the parts.
    #[must_use]
    pub fn offsets(&self) -> Offsets {
        let (sources, archives) = (self.sources.len(), self.archives.len());
        let live = HEAD_BYTES + DEFINITION_BYTES * (sources + archives);
        let source_states = live + LIVE_BYTES;
        let archive_states = source_states + SOURCE_STATE_BYTES * sources;
        let rows = archive_states + ARCHIVE_STATE_BYTES * sources * archives;
        let data = rows + 8 * archives;
        let mut end = data as u64;
        let mut archive_data = Vec::with_capacity(archives);
        for archive in &self.archives {
            archive_data.push(end);
            end = end.saturating_add(archive.rows.saturating_mul(8 * sources as u64));
        }
        Offsets {
            live,
            sources: source_states,
            archives: archive_states,
            rows,
            data,
            archive_data,
            length: end,
        }
    }

    /// A new file whose values are all unknown, as if last updated at `last_update_s` seconds
    /// since 1970.
    #[must_use]
    pub fn new_file(&self, last_update_s: u64) -> Vec<u8> {
        let offsets = self.offsets();
        let mut file = vec![0; offsets.data];
        self.put_definitions(&mut file);
        put_u64(&mut file, offsets.live, last_update_s);
        let unknown_s = last_update_s % self.step_s;
        for source in 0..self.sources.len() {
            let at = offsets.source(source);
            put_text(&mut file[at..at + LAST_VALUE_BYTES], b"U");
            put_u64(&mut file, at + 32, unknown_s);
            put_f64(&mut file, at + 40, f64::NAN);
        }
        let done = last_update_s - unknown_s;
        for (index, archive) in self.archives.iter().enumerate() {
            let unknown = done % (self.step_s * archive.steps) / self.step_s;
            for source in 0..self.sources.len() {
                let at = offsets.state(self.sources.len(), index, source);
                put_f64(&mut file, at, f64::NAN);
                put_u64(&mut file, at + 8, unknown);
            }
            put_u64(&mut file, offsets.rows + 8 * index, archive.rows - 1);
        }
        let length = usize::try_from(offsets.length).unwrap_or(offsets.data);
        let nan = UNKNOWN_BITS.to_le_bytes();
        while file.len() < length {
            file.extend_from_slice(&nan);
        }
        file
    }

    fn put_definitions(&self, file: &mut [u8]) {
        file[..4].copy_from_slice(COOKIE);
        file[4..9].copy_from_slice(b"0003\0");
        put_f64(file, 16, FLOAT_COOKIE);
        put_u64(file, 24, self.sources.len() as u64);
        put_u64(file, 32, self.archives.len() as u64);
        put_u64(file, 40, self.step_s);
        let mut at = HEAD_BYTES;
        for source in &self.sources {
            put_text(&mut file[at..at + TEXT_BYTES], source.name.as_bytes());
            put_text(&mut file[at + 20..at + 40], source.kind.word().as_bytes());
            put_u64(file, at + 40, source.heartbeat_s);
            put_f64(file, at + 48, source.min);
            put_f64(file, at + 56, source.max);
            at += DEFINITION_BYTES;
        }
        for archive in &self.archives {
            put_text(&mut file[at..at + TEXT_BYTES], archive.function.word().as_bytes());
            put_u64(file, at + 24, archive.rows);
            put_u64(file, at + 32, archive.steps);
            put_f64(file, at + 40, archive.unknown);
            at += DEFINITION_BYTES;
        }
    }

    /// Reads the definition from the start of a file of `length` bytes.
    ///
    /// # Errors
    /// [`FormatError`]; nothing is trusted.
    pub fn read(begin: &[u8], length: u64) -> Result<Self, FormatError> {
        if begin.len() < HEAD_BYTES {
            return Err(FormatError::Short(HEAD_BYTES as u64));
        }
        if &begin[..4] != COOKIE || get_f64(begin, 16).to_bits() != FLOAT_COOKIE.to_bits() {
            return Err(FormatError::Foreign);
        }
        let (sources, archives) = (get_u64(begin, 24), get_u64(begin, 32));
        let step_s = get_u64(begin, 40);
        let fits = [sources, archives].iter().all(|count| (1..=MOST).contains(count));
        if get_text(&begin[4..9]) != b"0003" || !fits || step_s == 0 {
            return Err(FormatError::Foreign);
        }
        let needed = HEAD_BYTES as u64 + DEFINITION_BYTES as u64 * (sources + archives);
        if (begin.len() as u64) < needed {
            return Err(FormatError::Short(needed));
        }
        let definition = |index: u64| {
            let at = HEAD_BYTES + DEFINITION_BYTES * index as usize;
            &begin[at..at + DEFINITION_BYTES]
        };
        let definition = Self {
            step_s,
            sources: (0..sources)
                .map(|index| read_source(definition(index)))
                .collect::<Option<_>>()
                .ok_or(FormatError::Foreign)?,
            archives: (0..archives)
                .map(|index| read_archive(definition(sources + index)))
                .collect::<Option<_>>()
                .ok_or(FormatError::Foreign)?,
        };
        match definition.offsets().length {
            needed if needed > length => Err(FormatError::Short(needed)),
            _ => Ok(definition),
        }
    }
}

fn read_source(bytes: &[u8]) -> Option<Source> {
    let word = get_text(&bytes[20..40]);
    Some(Source {
        name: String::from_utf8_lossy(get_text(&bytes[..20])).into_owned(),
        kind: SourceKind::ALL.into_iter().find(|kind| kind.word().as_bytes() == word)?,
        heartbeat_s: get_u64(bytes, 40),
        min: get_f64(bytes, 48),
        max: get_f64(bytes, 56),
    })
}

fn read_archive(bytes: &[u8]) -> Option<Archive> {
    let word = get_text(&bytes[..20]);
    let function = Consolidation::ALL.into_iter().find(|one| one.word().as_bytes() == word)?;
    let (rows, steps) = (get_u64(bytes, 24), get_u64(bytes, 32));
    let archive = Archive { function, rows, steps, unknown: get_f64(bytes, 40) };
    (rows > 0 && steps > 0).then_some(archive)
}
