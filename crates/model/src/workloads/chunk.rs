//! `chunk`: written a character at a time, then read and written as a whole, again and again.

use super::io::{COMPRESSIBLE_FIELD, REPEATED_FIELD, is_zero, percent};
use super::{FieldConflict, OperationCost, StepOutline, WorkloadKind, WorkloadParams};
use crate::field::{Field, Values, field};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of `chunk`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkParams {
    /// Size of the chunk.
    pub size: Bytes,
    /// Number of times that it is read and written as a whole.
    pub repeats: u64,
    /// One system call per character instead of a buffer as the C library has.
    pub unbuffered: bool,
    /// Percentage of what is written that is zeros.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compressible: u8,
    /// Percentage of the 4 KiB of the chunk that repeat each other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: u8,
}

/// Name of the step that writes characters.
pub const CHARACTERS: &str = "chunk-characters";
/// Name of the step that reads and writes the whole.
pub const WHOLE: &str = "chunk-whole";

/// One chunk of data, again and again.
pub const CHUNK: WorkloadKind = WorkloadKind {
    name: "chunk",
    doc: "Writes a chunk a character at a time and calls fsync; then reads it with one read() and writes it with one write(), again and again.",
    fields: &[
        field!("size": size(Bytes(1), Bytes::gib(1)), default "\"128MiB\"",
            "Size of the chunk; it is held in memory once."),
        field!("repeats": integer(1, 1_000_000_000), default "10",
            "How often the chunk is read and written as a whole."),
        field!("unbuffered": Bool, default "false",
            "One system call per character. Otherwise characters are collected in a buffer of 4 KiB, as putc of the C library does."),
        COMPRESSIBLE_FIELD,
        Field {
            doc: "Percentage of the 4 KiB blocks of the chunk that have the same data. Deduplication can save it.",
            ..REPEATED_FIELD
        },
    ],
    on_raw: false,
    programs: &[],
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    Ok(WorkloadParams::Chunk(ChunkParams {
        size: values.bytes("size"),
        repeats: values.count("repeats"),
        unbuffered: values.bool("unbuffered"),
        compressible: percent(values, "compressible"),
        repeated: percent(values, "repeated"),
    }))
}

impl ChunkParams {
    /// Characters, then the whole.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let outline = |name: &str, bytes: Option<u64>, operations: u64, metrics: &[&str]| {
            let common = ["ops", "app_bytes", "mb_per_s", "mb_per_s_durable"];
            StepOutline {
                bytes: bytes.map(Bytes),
                operations: Some(operations),
                operation: OperationCost::Character,
                ..StepOutline::new(name, &[&common[..], metrics].concat())
            }
        };
        let (size, twice) = (self.size.0, self.repeats.saturating_mul(2));
        vec![
            outline(CHARACTERS, Some(size), size, &["cpu_ns_per_op"]),
            outline(WHOLE, size.checked_mul(twice), twice, &["chunk_read", "chunk_write"]),
        ]
    }
}
