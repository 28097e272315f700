use super::*;
use crate::fixture;
use crate::records::{Records, outcomes_of};
use seekwell_model::power_cut::STEP;
use seekwell_model::stack::{Export, Overlay, WriteBack};
use seekwell_model::units::Bytes;

/// A stack on a loop device.
fn stack(kind: &str, mount: &[&str]) -> Stack {
    let mut stack = fixture::stack("s");
    stack.device.backing =
        Backing::Loop { size: Bytes::mib(64), directory: None, sector: Bytes(512) };
    stack.filesystem.kind = kind.to_owned();
    stack.filesystem.mount = mount.iter().map(|option| (*option).to_owned()).collect();
    stack
}

fn in_force(cache: &str, mount: &str) -> InForce {
    let mut found = InForce { mount: Some(mount.to_owned()), ..InForce::default() };
    found.device.queue.write_cache = Some(cache.to_owned());
    found
}

fn class(stack: &Stack, in_force: Option<&InForce>) -> DurabilityClass {
    of_stack(stack, in_force, &[]).class
}

#[test]
fn the_defaults_of_journalling_filesystems_keep_what_was_synced() {
    for kind in ["ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2", "bcachefs", "raw"] {
        let found = of_stack(&stack(kind, &["noatime"]), None, &[]);
        assert_eq!(found.class, DurabilityClass::Synced, "{kind}");
        assert!(found.reasons.is_empty());
    }
}

#[test]
fn what_weakens_the_promise_is_named() {
    use DurabilityClass::{EveryWrite, Unordered, Unsafe};
    let cases: [(&str, &[&str], DurabilityClass, &str); 8] = [
        ("ext4", &["nobarrier"], Unsafe, "mounted nobarrier"),
        ("ext4", &["noatime,barrier=0"], Unsafe, "mounted barrier=0"),
        ("f2fs", &["fsync_mode=nobarrier"], Unsafe, "fsync_mode=nobarrier"),
        ("btrfs", &["nobarrier"], Unsafe, "mounted nobarrier"),
        ("ext2", &[], Unordered, "no journal"),
        ("vfat", &[], Unordered, "no journal"),
        ("ext4", &["data=writeback"], Unordered, "old blocks"),
        ("ext4", &["sync"], EveryWrite, "mounted sync"),
    ];
    for (kind, mount, expected, reason) in cases {
        let found = of_stack(&stack(kind, mount), None, &[]);
        assert_eq!(found.class, expected, "{kind} {mount:?}");
        assert!(found.reasons.iter().any(|text| text.contains(reason)), "{found:?}");
    }
    let weakest = of_stack(&stack("ext2", &["nobarrier"]), None, &[]);
    assert_eq!((weakest.class, weakest.reasons.len()), (Unsafe, 2));
}

#[test]
fn a_feature_after_which_the_checker_finds_damage_is_named() {
    let mut young = stack("ext4", &[]);
    young.filesystem.mkfs = ["-O", "fast_commit,64bit"].map(str::to_owned).to_vec();
    let found = of_stack(&young, None, &[]);
    assert_eq!(found.class, DurabilityClass::Unordered);
    assert!(found.reasons[0].starts_with("e2fsck finds damage after 22 of 1,600"), "{found:?}");
    let mut class_of = |mkfs: &[&str]| {
        young.filesystem.mkfs = mkfs.iter().map(ToString::to_string).collect();
        class(&young, None)
    };
    assert_eq!(class_of(&["-Ofast_commit"]), DurabilityClass::Unordered);
    for mkfs in [
        &["-O", "^fast_commit"][..],
        &["-Ofast_commit", "-O", "^fast_commit"],
        &["-L", "fast_commit"],
    ] {
        assert_eq!(class_of(mkfs), DurabilityClass::Synced, "{mkfs:?}");
    }
}

#[test]
fn nothing_is_promised_for_a_server_that_does_not_say() {
    let mut remote = stack("nfs", &[]);
    remote.filesystem.export = Some(Export {
        from: "nas:/srv/bench".to_owned(),
        version: "4.2".to_owned(),
        rsize: None,
        wsize: None,
    });
    let found = of_stack(&remote, None, &[]);
    assert_eq!(found.class, DurabilityClass::Unsafe);
    assert_eq!(
        found.reasons,
        ["nas:/srv/bench may be exported async, or from memory: its server does not say"]
    );
}

#[test]
fn what_is_in_memory_is_gone() {
    let mut ram = stack("ext4", &[]);
    ram.device.backing = Backing::Ram { size: Bytes::mib(64), sector: Bytes(512) };
    assert_eq!(class(&ram, None), DurabilityClass::Volatile);
    let mut zram = stack("ext4", &[]);
    let kind = seekwell_model::layers::layer_kind("zram").unwrap();
    let layer = seekwell_model::layers::Layer::new(kind, None, None, &Default::default());
    zram.layers.parts.push(layer);
    assert_eq!(class(&zram, None), DurabilityClass::Volatile);
    let mut overlay = stack("ext4", &[]);
    overlay.filesystem.overlay =
        Some(Overlay { upper: Some(Bytes::mib(64)), write_back: WriteBack::End });
    assert_eq!(class(&overlay, None), DurabilityClass::Volatile);
    let mut journal = stack("ext4", &[]);
    journal.journal.external = Some(Backing::Ram { size: Bytes::mib(64), sector: Bytes(512) });
    assert_eq!(class(&journal, None), DurabilityClass::Unsafe);
}

#[test]
fn flushes_matter_only_where_there_is_a_volatile_cache() {
    let lazy = stack("ext4", &["nobarrier"]);
    let through = in_force("write through", "rw,nobarrier");
    assert_eq!(class(&lazy, Some(&through)), DurabilityClass::Synced);
    assert_eq!(class(&lazy, Some(&in_force("write back", "rw"))), DurabilityClass::Unsafe);
    // The kernel says "write through" because the lab told it to: that is no news of the device.
    let mut told = lazy;
    told.device.settings.write_cache = Some(WriteCache::WriteThrough);
    assert_eq!(class(&told, Some(&through)), DurabilityClass::Unsafe);
    told.filesystem.mount.clear();
    assert_eq!(class(&told, Some(&in_force("write through", "rw"))), DurabilityClass::Unsafe);
}

#[test]
fn what_was_in_force_counts_as_well() {
    let asked = stack("ext4", &[]);
    assert_eq!(
        class(&asked, Some(&in_force("write back", "rw,nobarrier"))),
        DurabilityClass::Unsafe
    );
}

fn cut(survived: u64, lost_synced: u64, unmountable: u64, damaged: u64) -> CutCounts {
    let cuts = survived + lost_synced + unmountable + damaged;
    CutCounts { cuts, survived, lost_synced, unmountable, damaged, losses: None }
}

#[test]
fn a_loss_in_a_power_cut_outweighs_every_rule() {
    use DurabilityClass::{Synced, Unordered, Unsafe};
    let synced = || of_stack(&stack("ext4", &[]), None, &[]);
    let cases = [
        (cut(100, 0, 0, 0), Synced, vec![]),
        (
            cut(99, 1, 0, 0),
            Unsafe,
            vec!["1 of 100 power cuts lost data that a sync had returned for"],
        ),
        (
            cut(99, 0, 1, 0),
            Unsafe,
            vec!["1 of 100 power cuts left a filesystem that cannot be used"],
        ),
        (
            cut(98, 0, 0, 2),
            Unordered,
            vec!["2 of 100 power cuts left damage that the checker finds"],
        ),
    ];
    for (counts, class, reasons) in cases {
        let found = with_cuts(synced(), Some(counts));
        assert_eq!(
            (found.class, found.reasons),
            (class, reasons.into_iter().map(str::to_owned).collect())
        );
        assert_eq!(found.cuts, Some(counts));
        assert_eq!(found.known, Some(Synced), "the rules alone");
    }
    let volatile = StackDurability { class: DurabilityClass::Volatile, ..synced() };
    assert_eq!(with_cuts(volatile, Some(cut(0, 9, 0, 0))).class, DurabilityClass::Volatile);
    assert_eq!(with_cuts(synced(), None), synced());
}

#[test]
fn the_power_cuts_of_all_trials_of_a_stack_are_added() {
    let plan = fixture::plan(&["a", "b"], seekwell_model::lab::Effort::Rounds(6));
    let mut records = Records::new();
    for round in 0..2 {
        for trial in crate::order::round_order(plan.lab.seed, 2, round) {
            let mut record = fixture::record(1.0);
            let lost = f64::from(1 - trial.candidate);
            let counted = [5.0, 5.0 - lost, lost, 0.0, 0.0];
            let names = ["", "_survived", "_lost_synced", "_unmountable", "_damaged"]
                .map(|end| format!("cuts{end}"));
            record.steps[0].name = STEP.to_owned();
            record.steps[0].metrics.extend(names.into_iter().zip(counted));
            records.insert(trial.index, (trial, record));
        }
    }
    let found = of_plan(&plan, &outcomes_of(&plan, &records));
    let lost = found.iter().map(|one| one.cuts.map(|cuts| (cuts.cuts, cuts.lost_synced)));
    assert_eq!(lost.collect::<Vec<_>>(), [Some((10, 2)), Some((10, 0))]);
}

#[test]
fn each_stack_is_judged_by_what_was_in_force_in_its_own_trials() {
    let mut plan = fixture::plan(&["a", "b"], seekwell_model::lab::Effort::Rounds(6));
    plan.stacks.fill(stack("ext4", &[]));
    let mut records = Records::new();
    for trial in crate::order::round_order(plan.lab.seed, 2, 0) {
        let mut record = fixture::record(1.0);
        // The second stack alone was mounted without barriers.
        let mount = ["rw,relatime", "rw,nobarrier"][trial.candidate as usize];
        record.in_force.mount = Some(mount.to_owned());
        records.insert(trial.index, (trial, record));
    }
    let classes: Vec<DurabilityClass> = of_plan(&plan, &outcomes_of(&plan, &records))
        .into_iter()
        .map(|found| found.class)
        .collect();
    assert_ne!(classes[0], classes[1]);
    assert_eq!(classes[1], DurabilityClass::Unsafe);
}

#[test]
fn a_journal_whose_flushes_leave_the_data_in_their_cache_is_unsafe() {
    let mut ext4 = stack("ext4", &[]);
    ext4.journal.external = Some(ext4.device.backing.clone());
    let of = |stack: &Stack, cache: &str, [writes, flushes, journal_flushes, seconds]: [u64; 4]| {
        let apart = [Apart { writes, flushes, journal_flushes, seconds: seconds as f64 }];
        of_stack(stack, Some(&in_force(cache, "rw")), &apart)
    };
    let found = of(&ext4, "write back", [408, 2, 379, 5]);
    assert_eq!(found.class, DurabilityClass::Unsafe);
    assert!(found.reasons[0].starts_with("379 flushes of the journal's device and 2"), "{found:?}");
    // Flushed as often as needed, nothing written but names, too few to tell, commits of the kernel alone, or no cache.
    for (cache, requests) in [
        ("write back", [9000, 0, 240, 600]),
        ("write back", [564, 154, 307, 5]),
        ("write back", [100, 2, 379, 5]),
        ("write back", [10, 0, 19, 5]),
        ("write through", [408, 0, 379, 5]),
    ] {
        let found = of(&ext4, cache, requests);
        assert_eq!(found.class, DurabilityClass::Synced, "{cache} {requests:?}");
    }
    // The data go through the journal.
    ext4.journal.data = Some(DataMode::Journal);
    assert_eq!(of(&ext4, "write back", [408, 2, 379, 5]).class, DurabilityClass::Synced);
}
