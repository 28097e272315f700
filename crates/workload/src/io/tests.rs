use super::*;
use seekwell_model::workloads::Durability;
use seekwell_model::workloads::io::{EngineKind, FileContent, Pattern};

fn setting(place: Place, file_size: Option<u64>) -> Setting {
    let params = IoParams {
        kind: "seek".to_owned(),
        step: "seek".to_owned(),
        size: Bytes(512),
        count: Some(1),
        time: None,
        threads: 1,
        curve: Vec::new(),
        depth: 1,
        engine: EngineKind::Psync,
        pattern: Pattern::Random,
        read_percent: 100,
        cache: CacheState::Direct,
        rate: None,
        file_size: file_size.map(Bytes),
        fsync_every: 0,
        content: FileContent::Random,
        compressible: 0,
        repeated: 0,
        verify: 0,
        durability: Durability::default(),
    };
    Setting { params, place }
}

fn raw(device_bytes: u64) -> StepContext<'static> {
    StepContext {
        directory: None,
        device: Path::new("/dev/null"),
        device_file: None,
        raw: true,
        seed: 0,
        stop: None,
        device_bytes,
        sector_bytes: 512,
        scratch: None,
        acknowledged: None,
    }
}

#[test]
fn workloads_side_by_side_use_both_ends_of_a_raw_device() {
    let span = |place| setting(place, Some(2_000)).raw_span(&raw(10_000)).unwrap();
    // Whole sectors: 1536 of 2000 bytes, and 9728 of 10000.
    assert_eq!(span(Place::Main), Span { offset: 0, length: 1_536 });
    assert_eq!(span(Place::Beside(0)), Span { offset: 9_728 - 1_536, length: 1_536 });
    let whole = setting(Place::Main, None).raw_span(&raw(10_000)).unwrap();
    assert_eq!(whole, Span { offset: 0, length: 9_728 });
}

#[test]
fn workloads_side_by_side_have_files_of_their_own() {
    let path = |place| setting(place, None).path(Path::new("/mnt"));
    assert_eq!(path(Place::Main), Path::new("/mnt/seek.data"));
    assert_eq!(path(Place::Beside(1)), Path::new("/mnt/beside-1-seek.data"));
}

#[test]
fn neither_directory_nor_raw_device_is_an_error() {
    let context = StepContext { raw: false, ..raw(0) };
    let told = setting(Place::Main, None).directory(&context).unwrap_err().to_string();
    assert_eq!(told, "step seek has neither a directory nor a raw device; mount one, or use raw");
}
