//! The program that the tests run in a guest: first process, and small workloads.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::exit,
    reason = "it is part of the tests; what fails in it must be seen in the guest's log"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

const DIRECT: i32 = 0o40000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if seekwell_virtual::guest::is_first_process() {
        let error = seekwell_virtual::guest::serve().err();
        panic!("the guest could not serve: {error:?}");
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["echo"] => {
            let mut input = Vec::new();
            std::io::stdin().read_to_end(&mut input).unwrap();
            std::io::stdout().write_all(&input).unwrap();
        }
        ["reads", device, count] => reads(device, count.parse().unwrap()),
        ["syscalls", count] => syscalls(count.parse().unwrap()),
        ["status", code] => std::process::exit(code.parse().unwrap()),
        ["spin"] => loop {
            std::hint::spin_loop();
        },
        other => panic!("unknown: {other:?}"),
    }
}

fn reads(device: &str, count: u64) {
    let file = OpenOptions::new().read(true).custom_flags(DIRECT).open(device).unwrap();
    let size = device_bytes(device);
    let memory = vec![0_u8; 8192];
    let start = memory.as_ptr().addr().next_multiple_of(4096) - memory.as_ptr().addr();
    let mut memory = memory;
    let buffer = &mut memory[start..start + 4096];
    let mut state = 1_u64;
    let before = fs::read_to_string("/proc/uptime").unwrap();
    for _ in 0..count {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let block = (state >> 20) % (size / 4096);
        file.read_exact_at(buffer, block * 4096).unwrap();
    }
    let after = fs::read_to_string("/proc/uptime").unwrap();
    println!("{count} reads {} -> {}", before.trim(), after.trim());
}

fn device_bytes(device: &str) -> u64 {
    let name = device.trim_start_matches("/dev/");
    let mut text = String::new();
    File::open(format!("/sys/block/{name}/size")).unwrap().read_to_string(&mut text).unwrap();
    text.trim().parse::<u64>().unwrap() * 512
}

fn syscalls(count: u64) {
    let file = File::open("/dev/null").unwrap();
    let mut byte = [0];
    for _ in 0..count {
        (&file).read(&mut byte).unwrap();
    }
}
