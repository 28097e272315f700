//! Operations and flags of the kernel by their names in traces.

use crate::record::{BlockRecord, LIBAIO, OperationRecord};
use seekwell_trace::calls::{CallId, DATA_ALONE};
use seekwell_trace::{Operation, Request, RequestFlags};

/// The call of an operation, and true for those with offset and length. `None` for the network, timers
/// and the like. Codes of `include/uapi/linux/io_uring.h` and `aio_abi.h`.
pub(super) fn asynchronous(code: u32) -> Option<(CallId, bool)> {
    let (name, has_place) = match code.checked_sub(LIBAIO) {
        Some(0 | 7) => ("aio_read", true),
        Some(1 | 8) => ("aio_write", true),
        Some(2 | 3) => ("aio_fsync", false),
        Some(_) => return None,
        None => match code {
            1 | 4 | 22 | 49 | 60 => ("io_uring_read", true),
            2 | 5 | 23 | 61 => ("io_uring_write", true),
            3 => ("io_uring_fsync", false),
            8 | 17..=19 | 21 | 24 | 28 | 30 | 35..=39 | 41..=44 | 55 => ("io_uring_file", false),
            _ => return None,
        },
    };
    CallId::named(name).map(|id| (id, has_place))
}

/// Flags of an operation: `RWF_` of those with a place; of others their code, and of syncs if they leave metadata out.
pub(super) fn operation_flags(record: &OperationRecord, has_place: bool) -> Option<u64> {
    let own = u64::from(record.flags);
    let flags = if has_place { own } else { u64::from(record.code) | ((own & 1) * DATA_ALONE) };
    (flags > 0).then_some(flags)
}

/// Operations of `include/linux/blk_types.h`, `enum req_op`.
fn operation(flags: u32) -> Operation {
    match flags & 0xff {
        0 => Operation::Read,
        1 | 7 => Operation::Write,
        2 => Operation::Flush,
        3 | 5 | 9 => Operation::Discard,
        _ => Operation::Other,
    }
}

/// Flags of `include/linux/blk_types.h`, `enum req_flag_bits`.
fn request_flags(flags: u32) -> RequestFlags {
    let known = [
        (11, RequestFlags::SYNC),
        (12, RequestFlags::META),
        (17, RequestFlags::FUA),
        (18, RequestFlags::PREFLUSH),
        (19, RequestFlags::AHEAD),
    ];
    let set = known.iter().filter(|(bit, _)| flags >> bit & 1 == 1);
    set.fold(RequestFlags::default(), |all, (_, flag)| all.with(*flag))
}

/// The row of a request that began so long after the start of the trace.
pub(super) fn request(block: &BlockRecord, start_ns: u64) -> Request {
    Request {
        start_ns,
        duration_ns: Some(block.end_ns.saturating_sub(block.start_ns)),
        process: Some(block.process),
        device: block.device,
        operation: operation(block.flags),
        flags: request_flags(block.flags),
        // A flush alone has no place; the kernel says so by all ones.
        sector: if block.sector == u64::MAX { 0 } else { block.sector },
        bytes: block.bytes.into(),
        depth: Some(block.depth),
    }
}
