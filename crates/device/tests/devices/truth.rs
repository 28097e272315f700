//! The document of published figures is what the models do today.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use seekwell_device::truth::{self, Row};
use seekwell_device::{DeviceFile, catalogue};

/// Set to write the document instead of comparing it.
const UPDATE: &str = "SEEKWELL_UPDATE_DOCS";

#[test]
fn the_document_of_published_figures_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/devices.md");
    let devices: Vec<DeviceFile> = catalogue().unwrap().into_values().collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some(file) = devices.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.push((file.name(), truth::rows(file)));
        }
        found
    };
    let mut rows: BTreeMap<&str, Vec<Row>> = std::thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    for file in &devices {
        let measured = rows.get(file.name()).map_or(0, Vec::len);
        assert_eq!(measured, file.published().len(), "{}: a figure without a row", file.name());
    }
    let generated = truth::document(
        devices.iter().map(|file| (file, rows.remove(file.name()).unwrap_or_default())),
    );
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert!(generated == committed, "docs/devices.md differs; run this test with {UPDATE}=1");
}
