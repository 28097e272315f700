//! Real filesystems through power cuts, a few of each; `make power-cuts` makes thousands.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod common;

use common::cuts::{Bed, Story, Survival, model, survive};
use seekwell_virtual::{Content, CutError, DiskSetup, End};

/// A place to try a filesystem; `None`, counted as a skip, when something is missing.
fn bed(test: &str, kind: &str) -> Option<Bed> {
    let kernel = common::lab_kernel(test)?;
    match Bed::new(kernel, kind) {
        Ok(bed) => Some(bed),
        Err(tool) => {
            seekwell_testing::skip(test, &format!("{tool} is not installed"));
            None
        }
    }
}

fn not_whole(found: &[Survival]) -> Vec<&Survival> {
    found.iter().filter(|survival| survival.verdict != "whole").collect()
}

/// `device` is the disk and, behind a comma, that of its journal.
fn survives(test: &str, kind: &str, options: &str, device: &str) {
    let Some(bed) = bed(test, kind) else { return };
    let story = Story::record(&bed, kind, options, device, 1, 40);
    assert_eq!(story.journal_recording.is_some(), device.contains(','));
    if let Some(journal) = &story.journal_recording {
        assert!(journal.completions().len() > 100, "{}", journal.completions().len());
    }
    let events = story.draw(20);
    let found = survive(&bed, &story, &events);
    assert_eq!(found.len(), events.len());
    assert!(not_whole(&found).is_empty(), "{:#?}", not_whole(&found));
    let lost: u64 = found.iter().map(|survival| survival.lost_sectors).sum();
    assert!(lost > 0, "no cut lost anything, so nothing was tried");
    let promises: u64 = found.iter().map(|survival| survival.told.parse::<u64>().unwrap()).sum();
    assert!(promises > 20, "{promises} promises");
}

#[test]
fn ext4_survives_power_cuts() {
    survives("ext4_survives_power_cuts", "ext4", "-", "ide-40gb-2005");
}

#[test]
fn xfs_survives_power_cuts() {
    survives("xfs_survives_power_cuts", "xfs", "-", "sata-2tb-5400");
}

#[test]
fn btrfs_survives_power_cuts() {
    survives("btrfs_survives_power_cuts", "btrfs", "-", "ssd-sata-250gb");
}

/// On disk and stick at once: the journal of the study of external journals. (With data=ordered Linux 6.12
/// loses a synced append now and then: see the bench `power_cuts`.)
#[test]
fn ext4_with_its_journal_on_a_stick_survives_power_cuts() {
    let test = "ext4_with_its_journal_on_a_stick_survives_power_cuts";
    survives(test, "ext4", "data=journal", "ide-40gb-2005,usb2-stick-128mb");
}

#[test]
fn without_barriers_synced_data_is_lost() {
    let test = "without_barriers_synced_data_is_lost";
    let Some(bed) = bed(test, "ext4") else { return };
    let story = Story::record(&bed, "ext4", "nobarrier", "ide-40gb-2005", 1, 40);
    let found = survive(&bed, &story, &story.draw(20));
    assert!(!not_whole(&found).is_empty(), "{found:#?}");
}

/// The cut made afterwards is the cut of a guest whose power failed.
#[test]
fn a_recording_tells_what_the_guests_own_power_cut_leaves() {
    let test = "a_recording_tells_what_the_guests_own_power_cut_leaves";
    let Some(bed) = bed(test, "ext4") else { return };
    let device = "ide-40gb-2005";
    let story = Story::record(&bed, "ext4", "-", device, 1, 20);
    let event = story.draw(9)[7];
    let mut settings = bed.settings(1);
    settings.limits.power_cut_after = Some(event);
    let disk = DiskSetup::empty("data", model(device, 1), &settings);
    let outcome = bed.run("endure /dev/vda ext4 - 20", b"", vec![disk], settings);
    assert_eq!(outcome.end, End::PowerCut);
    let cut = story.cut(&bed, event);
    let [disk] = &outcome.disks[..] else { panic!("one disk") };
    assert_eq!(disk.lost.as_ref(), Some(&cut.lost));
    assert_eq!(disk.parts.damaged, cut.lost.damaged);
    assert_eq!(outcome.virtual_ns, cut.at_ns);
    assert_eq!(outcome.output, story.outcome.output_by(cut.at_ns));
    assert!(first_difference(&disk.parts.content, &cut.content).is_none());
    let beyond = story.recording.completions().len() as u64 + 1;
    let content = Content::new(cut.content.sectors(), bed.keeping());
    let error = story.recording.cut(model(device, 1), content, beyond).unwrap_err();
    assert!(matches!(error, CutError::Beyond { .. }), "{error}");
}

/// The first sector of the filesystem, of 512 MiB, that differs.
fn first_difference(one: &Content, other: &Content) -> Option<u64> {
    const STEP: u64 = 2048;
    let read = |content: &Content, sector| {
        let mut bytes = vec![0; STEP as usize * 512];
        content.read(sector, &mut bytes).unwrap();
        bytes
    };
    (0..1 << 20).step_by(STEP as usize).find(|sector| read(one, *sector) != read(other, *sector))
}
