use super::*;
use crate::fixture;
use crate::{BenchTarget, bench};
use seekwell_model::field::{Value, Values};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::aging::{AGE, DEFRAGMENT, LAYOUT};
use seekwell_model::workloads::{WorkloadKind, WorkloadParams};
use std::path::{Path, PathBuf};
use std::process::Command;

fn params(kind: &WorkloadKind, pairs: &[(&'static str, Value)]) -> WorkloadParams {
    let mut values = Values::default();
    for (name, value) in pairs {
        values.set(name, value.clone());
    }
    kind.params(&values).unwrap()
}

/// A filesystem in memory, unmounted when dropped.
struct Mounted {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A process that another test forks holds our descriptors until it runs its program.
        for _ in 0..100 {
            if Command::new("umount").arg(&self.path).output().unwrap().status.success() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("cannot unmount {}", self.path.display());
    }
}

fn ext4(test: &str) -> Option<Mounted> {
    mounted(test, &["mkfs.ext4", "-q", "-F"], 64 << 20)
}

fn mounted(test: &str, mkfs: &[&str], bytes: u64) -> Option<Mounted> {
    if !seekwell_testing::root() || !Path::new("/dev/loop-control").exists() {
        seekwell_testing::skip(test, "needs root and loop devices");
        return None;
    }
    let Some(program) = seekwell_testing::tool(mkfs[0]) else {
        seekwell_testing::skip(test, &format!("{} is not installed", mkfs[0]));
        return None;
    };
    let kind = mkfs[0].trim_start_matches("mkfs.");
    let known = std::fs::read_to_string("/proc/filesystems").unwrap();
    if !known.lines().any(|line| line.ends_with(&format!("\t{kind}"))) {
        seekwell_testing::skip(test, &format!("this kernel does not mount {kind}"));
        return None;
    }
    let folder =
        tempfile::tempdir_in(if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" })
            .unwrap();
    let (image, path) = (folder.path().join("image"), folder.path().join("mounted"));
    std::fs::File::create(&image).unwrap().set_len(bytes).unwrap();
    let made = Command::new(program).args(&mkfs[1..]).arg(&image).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    std::fs::create_dir(&path).unwrap();
    let mounted = Command::new("mount").args(["-o", "loop"]).args([&image, &path]).status();
    assert!(mounted.unwrap().success());
    Some(Mounted { _folder: folder, path })
}

fn context(directory: &Path) -> StepContext<'_> {
    StepContext { seed: 3, device_bytes: 64 << 20, ..fixture::context(directory) }
}

fn run(params: &WorkloadParams, directory: &Path) -> StepOutcome {
    crate::steps(params).remove(0).run(&context(directory)).unwrap()
}

#[test]
fn an_aged_ext4_is_full_and_fragmented_and_defragmenting_mends_it() {
    let test = "an_aged_ext4_is_full_and_fragmented_and_defragmenting_mends_it";
    let Some(filesystem) = ext4(test) else { return };
    let aged = run(
        &params(
            &AGE,
            &[
                ("fullness", Value::Integer(70)),
                ("extents", Value::Number(2.0)),
                ("churn", Value::Number(5.0)),
                ("median_size", Value::Size(Bytes::kib(256))),
            ],
        ),
        &filesystem.path,
    );
    let used = aged.metrics["used_share"];
    assert!((0.68..0.75).contains(&used), "{used}");
    assert_eq!(aged.warnings, []);
    assert!(aged.metrics["extents_per_file"] >= 1.8, "{:?}", aged.metrics);
    assert!(aged.metrics["extent_distance"] > 0.0);
    assert!(aged.metrics["free_extents"] > 1.0);
    let looked = run(&params(&LAYOUT, &[]), &filesystem.path);
    assert_eq!(looked.metrics["extents_per_file"], aged.metrics["extents_per_file"]);
    let free: f64 = ["free_under_64k", "free_under_1m", "free_under_16m", "free_from_16m"]
        .iter()
        .map(|name| looked.metrics[*name])
        .sum();
    let facts = rustix::fs::statvfs(&filesystem.path).unwrap();
    let told = (facts.f_bfree * facts.f_frsize) as f64;
    // Blocks that ext4 keeps for growing its own tables are free to one of the two alone.
    assert!(free <= told && free > 0.9 * told, "{free} {told}");
    if seekwell_testing::tool("e4defrag").is_none() {
        return seekwell_testing::skip(test, "e4defrag is not installed");
    }
    let mended = run(&params(&DEFRAGMENT, &[]), &filesystem.path);
    assert_eq!(mended.metrics["extents_per_file_before"], aged.metrics["extents_per_file"]);
    assert!(mended.metrics["extents_per_file"] < 0.8 * aged.metrics["extents_per_file"]);
}

#[test]
fn the_median_is_of_the_files_that_are_looked_at() {
    let test = "the_median_is_of_the_files_that_are_looked_at";
    let Some(filesystem) = ext4(test) else { return };
    for name in ["a", "b", "c"] {
        std::fs::write(filesystem.path.join(name), [7; 5000]).unwrap();
    }
    let below = filesystem.path.join("rra/deep");
    std::fs::create_dir_all(&below).unwrap();
    interleave(&below);
    let all = run(&params(&LAYOUT, &[]), &filesystem.path);
    assert_eq!((all.metrics["files"], all.metrics["extents_p50"]), (5.0, 1.0));
    let only = [("below", Value::Text("rra".to_owned()))];
    let found = run(&params(&LAYOUT, &only), &filesystem.path);
    assert_eq!(found.metrics["files"], 2.0);
    assert!(found.metrics["extents_p50"] > 4.0, "{:?}", found.metrics);
    let nowhere = [("below", Value::Text("nowhere".to_owned()))];
    let mut step = crate::steps(&params(&LAYOUT, &nowhere)).remove(0);
    let error = step.run(&context(&filesystem.path)).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn of_an_even_number_of_files_the_median_is_the_smaller_in_the_middle() {
    let p50 = |counts: &[(u64, u64)]| {
        let files = counts.iter().map(|(_, files)| files).sum();
        let files_by_extents = counts.iter().copied().collect();
        Layout { files, extents: Some(0), files_by_extents, ..Layout::default() }.extents_p50()
    };
    assert_eq!(p50(&[]), None);
    assert_eq!(p50(&[(3, 1)]), Some(3));
    assert_eq!(p50(&[(1, 2), (9, 2)]), Some(1));
    assert_eq!(p50(&[(1, 2), (9, 3)]), Some(9));
    let unknown = Layout { files: 1, extents: None, ..Layout::default() };
    assert_eq!(unknown.extents_p50(), None);
}

/// Two files whose pieces alternate become files of few pieces, or the kernel that lacks the
/// filesystem is said.
#[test]
fn xfs_btrfs_and_f2fs_are_put_in_order_by_their_own_means() {
    const KINDS: [(&[&str], u64, Option<&str>); 3] = [
        (&["mkfs.xfs", "-q", "-f"], 320 << 20, Some("xfs_fsr")),
        (&["mkfs.btrfs", "-q", "-f"], 256 << 20, Some("btrfs")),
        (&["mkfs.f2fs", "-q", "-f"], 128 << 20, None),
    ];
    let test = "xfs_btrfs_and_f2fs_are_put_in_order_by_their_own_means";
    for (mkfs, bytes, tool) in KINDS {
        let test = format!("{test} ({})", mkfs[0]);
        if let Some(tool) = tool.filter(|tool| seekwell_testing::tool(tool).is_none()) {
            seekwell_testing::skip(&test, &format!("{tool} is not installed"));
            continue;
        }
        let Some(filesystem) = mounted(&test, mkfs, bytes) else { continue };
        interleave(&filesystem.path);
        let mended = run(&params(&DEFRAGMENT, &[]), &filesystem.path);
        let (before, after) =
            (mended.metrics["extents_per_file_before"], mended.metrics["extents_per_file"]);
        assert!(before >= 4.0 && after <= 0.5 * before, "{}: {before} to {after}", mkfs[0]);
    }
}

/// Writes two files in turn, each piece onto the device before the next.
fn interleave(folder: &Path) {
    use std::io::Write as _;
    let create = |name: &str| std::fs::File::create(folder.join(name)).unwrap();
    let mut files = [create("one"), create("other")];
    for number in 0..64_u8 {
        for file in &mut files {
            file.write_all(&[number; 16 << 10]).unwrap();
            file.sync_all().unwrap();
        }
    }
}

#[test]
fn a_fullness_that_cannot_be_reached_is_told() {
    let Some(filesystem) = ext4("a_fullness_that_cannot_be_reached_is_told") else { return };
    std::fs::create_dir(filesystem.path.join("own")).unwrap();
    let aged = params(&AGE, &[("fullness", Value::Integer(98)), ("churn", Value::Number(0.0))]);
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let mut stopped = context(&filesystem.path);
    stopped.stop = Some(stop);
    assert!(crate::steps(&aged)[0].run(&stopped).unwrap().stopped);
    let error = crate::steps(&aged)[0].run(&context(&filesystem.path)).unwrap_err().to_string();
    assert!(error.starts_with("cannot make the directory "), "{error}");
}

#[test]
fn what_has_no_tool_is_told_in_words() {
    let Some(small) = crate::fixture::small_tmpfs("what_has_no_tool_is_told_in_words") else {
        return;
    };
    let target = BenchTarget { path: small.path(), writable: None, length: None };
    let error = bench(&params(&DEFRAGMENT, &[]), target, 1, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "step defragment cannot defragment tmpfs: it has no tool that works on a mounted \
         filesystem; use it on ext4, xfs, btrfs, f2fs"
    );
    let looked = bench(&params(&LAYOUT, &[]), target, 1, None).unwrap();
    assert_eq!(looked.steps[0].metrics.get("free_extents"), None);
}

#[test]
fn the_nearest_mount_above_a_directory_counts_and_the_last_of_two_on_one_place() {
    let text = "\
1 0 8:1 / / rw - ext4 /dev/a rw
2 1 8:2 / /mnt/a rw - xfs /dev/b rw
3 1 8:3 / /mnt/a\\040b rw shared:1 - btrfs /dev/c rw
4 1 8:4 / /mnt/a rw - f2fs /dev/d rw
";
    let kind = |path: &str| defragment::type_in(text, Path::new(path));
    assert_eq!(kind("/home").as_deref(), Some("ext4"));
    assert_eq!(kind("/mnt/a/x").as_deref(), Some("f2fs"));
    assert_eq!(kind("/mnt/a b/x").as_deref(), Some("btrfs"));
    assert_eq!(kind("/mnt/ab").as_deref(), Some("ext4"));
}
