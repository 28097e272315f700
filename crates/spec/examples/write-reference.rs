//! Writes `docs/lab-reference.md` from the definitions of the lab format.

use seekwell_spec::reference::lab_reference_markdown;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab-reference.md");
    std::fs::write(file, lab_reference_markdown())
}
