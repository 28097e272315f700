//! Amounts as text.

/// Bytes in the largest unit that leaves a readable number.
pub(crate) fn bytes(count: u64) -> String {
    for (unit, size) in [("TiB", 1_u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
    {
        if count >= size {
            let value = count as f64 / size as f64;
            return if count.is_multiple_of(size) {
                format!("{} {unit}", count / size)
            } else {
                format!("{value:.1} {unit}")
            };
        }
    }
    format!("{count} B")
}
