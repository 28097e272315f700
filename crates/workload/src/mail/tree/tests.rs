use super::*;
use proptest::prelude::*;
use seekwell_model::units::Bytes;
use seekwell_model::workloads::CacheState;
use std::collections::BTreeSet;

fn params(files: u64, directories: u64, median: u64, spread: f64) -> MailParams {
    MailParams {
        compressible: 0,
        repeated: 0,
        verify: 0,
        files,
        directories,
        largest: None,
        median_size: Bytes(median),
        spread,
        tar: None,
        steps: Vec::new(),
        cache: CacheState::Cold,
        pipe: false,
    }
}

fn paths(tree: &Tree) -> Vec<String> {
    let mut buffer = String::new();
    (0..tree.len()).map(|file| tree.path(file, &mut buffer).to_owned()).collect()
}

proptest! {
    #[test]
    fn directories_share_the_files_and_the_first_is_the_largest(
        files in 1_u64..20_000, directories in 1_u64..300,
    ) {
        let sizes = directory_sizes(files, directories, 1.0);
        prop_assert_eq!(sizes.iter().sum::<u64>(), files);
        prop_assert_eq!(sizes.len() as u64, directories.min(files));
        prop_assert!(sizes.is_sorted_by(|before, after| before >= after), "{sizes:?}");
        prop_assert!(sizes.iter().all(|size| *size > 0));
    }

    #[test]
    fn every_file_has_a_path_of_its_own_and_its_directory_comes_first(
        files in 1_u64..400, directories in 1_u64..40, seed: u64,
    ) {
        let tree = Tree::seeded(&params(files, directories.min(files), 100, 1.0), seed);
        prop_assert_eq!(tree.totals().files, files);
        let (mut made, mut buffer) = (BTreeSet::new(), String::new());
        for file in 0..tree.len() {
            if let Some(directory) = tree.new_directory(file, &mut buffer) {
                prop_assert!(made.insert(directory.to_owned()), "made twice");
            }
            let path = tree.path(file, &mut buffer).to_owned();
            let (directory, _) = path.split_once('/').unwrap();
            prop_assert!(made.contains(directory), "{path}");
        }
        let all: BTreeSet<String> = paths(&tree).into_iter().collect();
        prop_assert_eq!(all.len() as u64, files);
        let bytes: u64 = (0..tree.len()).map(|file| tree.size(file)).sum();
        prop_assert_eq!(tree.totals().bytes, bytes);
    }
}

#[test]
fn sizes_have_the_asked_median_and_spread_and_are_cut() {
    let tree = Tree::seeded(&params(40_000, 20, 4096, 1.2), 1);
    let mut logs: Vec<f64> = (0..tree.len()).map(|file| (tree.size(file) as f64).ln()).collect();
    logs.sort_by(f64::total_cmp);
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let deviation =
        (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64).sqrt();
    let median = logs[logs.len() / 2].exp();
    // Standard errors over 40,000 files: 0.6 % of the mean, 0.4 % of the deviation.
    assert!((median / 4096.0 - 1.0).abs() < 0.03, "{median}");
    assert!((deviation / 1.2 - 1.0).abs() < 0.02, "{deviation}");

    let wild = Tree::seeded(&params(20_000, 1, 1 << 20, 4.0), 1);
    let sizes: Vec<u64> = (0..wild.len()).map(|file| wild.size(file)).collect();
    assert_eq!(sizes.iter().max(), Some(&LARGEST_FILE.0));
    assert!(sizes.iter().all(|size| *size >= 1));
}

#[test]
fn without_spread_all_files_are_equal() {
    let tree = Tree::seeded(&params(100, 3, 5_000, 0.0), 7);
    assert_eq!(tree.totals(), Totals { files: 100, bytes: 500_000 });
}

#[test]
fn a_seed_gives_the_same_tree() {
    let of = |seed| Tree::seeded(&params(500, 5, 4096, 1.2), seed);
    assert_eq!(of(3), of(3));
    assert_ne!(of(3), of(4));
    assert_eq!(paths(&of(3))[..2], ["f00000/1", "f00000/2"]);
}

/// The archive of the study at a hundredth: its files, its largest directory, its mean size.
#[test]
fn a_scaled_archive_has_the_shape_of_the_whole() {
    let mut values = seekwell_model::field::Values::default();
    values.set("scale", seekwell_model::field::Value::Number(0.01));
    let built = seekwell_model::workloads::mail::MAIL.params(&values).unwrap();
    let seekwell_model::workloads::WorkloadParams::Mail(params) = built else { panic!("not mail") };
    assert_eq!((params.files, params.directories, params.largest), (10_760, 400, Some(1_005)));
    let exponent = exponent_for(params.files, params.directories, 1_005);
    let sizes = directory_sizes(params.files, params.directories, exponent);
    assert_eq!(sizes.iter().sum::<u64>(), 10_760);
    assert!((1_000..=1_010).contains(&sizes[0]), "{}", sizes[0]);
    assert!(sizes.is_sorted_by(|a, b| a >= b));
    let mean = params.predicted_bytes().0 as f64 / params.files as f64;
    assert!((mean / 18_859.0 - 1.0).abs() < 0.001, "{mean}");
    // At this number of draws from a distribution with such a tail.
    let tree = Tree::seeded(&params, 1);
    let found = tree.totals().bytes as f64 / 10_760.0;
    assert!((found / 18_859.0 - 1.0).abs() < 0.25, "{found}");
}
