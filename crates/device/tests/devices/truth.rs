//! The document of published figures is what the models do today.

use std::fs;
use std::path::Path;

use seekwell_device::{catalogue, truth};

/// Set to write the document instead of comparing it.
const UPDATE: &str = "SEEKWELL_UPDATE_DOCS";

#[test]
fn the_document_of_published_figures_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/devices.md");
    let generated = truth::document(catalogue().unwrap().values());
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert!(generated == committed, "docs/devices.md differs; run this test with {UPDATE}=1");
}
