//! `power_cuts COUNT [KIND...]`: each filesystem through COUNT power cuts; writes one line of CSV per cut
//! to standard output and a summary to standard error. Fails when a filesystem does not survive.
//! `FROM..TO` instead of COUNT, in hundreds, makes a part of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    reason = "a measurement that cannot be made must not look like one"
)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use common::cuts::{Bed, Story, Survival, survive};

/// The devices whose power fails, in turn: what a filesystem can be asked to survive on.
const DEVICES: [&str; 3] = ["ide-40gb-2005", "sata-2tb-5400", "ssd-sata-250gb"];

/// The disk of the study of external journals, with the journal on each of its sticks.
const ON_STICKS: [&str; 2] = ["ide-40gb-2005,usb2-stick-128mb", "ide-40gb-2005,usb2-stick-512mb"];

/// Cuts made in one recorded guest.
const CUTS_PER_STORY: usize = 100;

/// Work of each writer in a recorded guest.
const ROUNDS: u64 = 150;

const KINDS: [&str; 4] = ["ext4", "xfs", "btrfs", STICKS];

/// ext4 with its journal on a stick.
const STICKS: &str = "sticks";

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let count = |word: &str| word.parse::<usize>().expect("COUNT is a number");
    let cuts = match words.first().map(|word| word.split_once("..").ok_or(word)) {
        Some(Ok((from, to))) => count(from)..count(to),
        Some(Err(word)) => 0..count(word),
        None => 0..1000,
    };
    let kinds: Vec<&str> = match words.get(1..) {
        Some(kinds) if !kinds.is_empty() => kinds.iter().map(String::as_str).collect(),
        _ => KINDS.to_vec(),
    };
    println!(
        "filesystem,options,device,seed,event,events,at_ns,lost_sectors,damaged_sectors,verdict,told"
    );
    let mut broken = 0;
    for kind in kinds {
        broken += match kind {
            STICKS => on_sticks(&cuts),
            _ => whole((kind, "-", &DEVICES), cuts.clone()).1,
        };
        if kind == "ext4" {
            loses(("ext4", "nobarrier", &DEVICES), 0..cuts.len().div_ceil(10));
        }
    }
    std::process::exit(i32::from(broken > 0));
}

/// Returns the number of cuts with data=journal that lost data. With data=ordered some are not, which is the
/// kernel's: fsync trusts the commit of a transaction that still runs to flush the disk
/// (`jbd2_trans_will_send_data_barrier`), and with the journal on another device the commit does so only
/// when it has data of its own (`t_need_data_flush`); an append within a block that is there has none.
fn on_sticks(cuts: &Range<usize>) -> usize {
    whole(("ext4", "data=ordered", &ON_STICKS), cuts.clone());
    let broken = whole(("ext4", "data=journal", &ON_STICKS), cuts.clone()).1;
    // With data=journal a stick without a cache of its own has all of it.
    loses(("ext4", "data=ordered,nobarrier", &ON_STICKS), 0..cuts.len().div_ceil(5));
    broken
}

/// Fails when cuts of what is known not to survive are survived.
fn loses(what: (&str, &str, &[&str]), wanted: Range<usize>) {
    let (cuts, broken) = whole(what, wanted);
    assert!(
        broken > 0,
        "{cuts} cuts without barriers, and nothing was lost: the test sees nothing"
    );
}

/// Runs all cuts of one filesystem with its mount options, on devices in turn, a guest on each CPU; how many cuts, and how many were not survived.
fn whole((kind, options, devices): (&str, &str, &[&str]), wanted: Range<usize>) -> (usize, usize) {
    let begun = Instant::now();
    let (next, found) = (AtomicUsize::new(wanted.start / CUTS_PER_STORY), Mutex::new(Vec::new()));
    let cpus = std::thread::available_parallelism().unwrap().get();
    std::thread::scope(|scope| {
        for cpu in 0..cpus {
            let (next, found) = (&next, &found);
            scope.spawn(move || {
                let kernel =
                    common::lab_kernel("power_cuts").expect("no lab kernel: seekwell kernel build");
                let mut bed =
                    Bed::new(kernel, kind).unwrap_or_else(|tool| panic!("{tool} is missing"));
                bed.cpu = Some(cpu);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let left =
                        wanted.end.saturating_sub(number * CUTS_PER_STORY).min(CUTS_PER_STORY);
                    if left == 0 {
                        break;
                    }
                    let device = devices[number % devices.len()];
                    let story =
                        Story::record(&bed, kind, options, device, number as u64 + 1, ROUNDS);
                    let survivals = survive(&bed, &story, &story.draw(left));
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.push((number, story.times_ns.len(), survivals));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|(number, ..)| *number);
    let (mut cuts, mut broken, mut promises) = (0, 0, 0);
    for (number, events, survivals) in found {
        for survival in survivals {
            let place = (kind, options, devices[number % devices.len()], number + 1, events);
            print(place, &survival);
            cuts += 1;
            broken += usize::from(survival.verdict != "whole");
            promises += survival.told.parse().unwrap_or(0_u64);
        }
    }
    eprintln!(
        "{kind} {options}: {cuts} cuts, {broken} not survived, {promises} promises looked for, {:.0} s",
        begun.elapsed().as_secs_f64()
    );
    (cuts, broken)
}

fn print((kind, options, device, seed, events): (&str, &str, &str, usize, usize), cut: &Survival) {
    let Survival { event, at_ns, lost_sectors, damaged_sectors, verdict, told, .. } = cut;
    let told = told.replace(['"', ','], " ");
    println!(
        "{kind},\"{options}\",\"{device}\",{seed},{event},{events},{at_ns},{lost_sectors},{damaged_sectors},{verdict},\"{told}\""
    );
}
