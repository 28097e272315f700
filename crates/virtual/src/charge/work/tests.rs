use super::*;
use std::os::unix::fs::PermissionsExt;

const BENCHMARK: &str = "\
# Tests are approximate using memory only (no storage IO).
# Algorithm |       Key |      Encryption |      Decryption
    aes-xts        512b      2000.0 MiB/s      3000.0 MiB/s
";

#[test]
fn the_cipher_takes_the_mean_time_of_both_directions() {
    let (ns, source) = cipher_in(BENCHMARK).unwrap();
    // 976,563 by 2400 MiB/s.
    assert_eq!(ns, 407);
    assert_eq!(source, "`cryptsetup benchmark`, aes-xts with 512 bits: 2000 and 3000 MiB/s");
    for other in [
        "",
        "    aes-xts        256b      2000.0 MiB/s      3000.0 MiB/s\n",
        "    aes-xts        512b               N/A               N/A\n",
        "    aes-xts        512b         0.0 MiB/s      3000.0 MiB/s\n",
    ] {
        assert_eq!(cipher_in(other), None, "{other}");
    }
}

#[test]
fn parity_is_the_speed_of_xor_and_else_that_of_raid_6() {
    let xor = "6,101,1,-;xor: measuring software checksum speed\n\
               6,102,1,-;xor: using function: avx (40960 MB/sec)\n";
    let raid6 = "6,103,1,-;raid6: avx2x4   gen() 31213 MB/s\n\
                 6,104,1,-;raid6: using algorithm avx2x4 gen() 31213 MB/s\n\
                 6,105,1,-;raid6: .... xor() 9874 MB/s, rmw enabled\n";
    let (ns, source) = parity_in(&format!("{raid6}{xor}")).unwrap();
    assert_eq!((ns, source.as_str()), (25, "the kernel's xor, avx: 40960 MB/s"));
    let automatic = "6,1,1,-;xor: automatically using best checksumming function   avx\n";
    let (ns, source) = parity_in(&format!("{automatic}{raid6}")).unwrap();
    assert_eq!(ns, 31);
    assert!(
        source.starts_with("the kernel's RAID 6, avx2x4: 31213 MB/s; its log has no"),
        "{source}"
    );
    assert_eq!(parity_in(automatic), None);
    assert_eq!(parity_in("xor: using function: avx (0 MB/sec)\n"), None);
}

#[test]
fn what_cannot_be_had_is_said_and_not_charged() {
    let absent = Path::new("/no/such/log");
    let times = measure_work(&|_| None, absent);
    let names: Vec<&str> = times.iter().map(|time| time.name).collect();
    assert_eq!(names, WorkCharge::default().named().map(|(name, _)| name));
    for WorkTime { name, found } in &times {
        let reason = found.as_ref().unwrap_err();
        assert!(!reason.is_empty() && !reason.ends_with('.'), "{name}: {reason}");
    }
    assert_eq!(charge_of(&times), WorkCharge::default());
    let said = times[0].found.as_ref().unwrap_err();
    assert_eq!(said, "cryptsetup is not installed: apt-get install cryptsetup-bin");
}

#[test]
fn programs_and_log_of_a_machine_are_asked() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("cryptsetup");
    std::fs::write(&program, format!("#!/bin/sh\ncat <<'DONE'\n{BENCHMARK}DONE\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let log = folder.path().join("kmsg");
    std::fs::write(&log, "6,102,1,-;xor: using function: avx (40960 MB/sec)\n").unwrap();
    let tool = |name: &str| (name == "cryptsetup").then(|| program.clone());
    let times = measure_work(&tool, &log);
    let charge = charge_of(&times);
    assert_eq!((charge.cipher, charge.parity), (407, 25));
    assert_eq!((charge.hash, charge.compress, charge.decompress), (0, 0, 0));
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    assert!(measure_work(&tool, &empty)[2].found.is_err());
}

#[test]
fn lzop_is_timed_where_it_is_installed() {
    let Some(program) = seekwell_testing::tool("lzop") else {
        return seekwell_testing::skip("lzop_is_timed", "lzop is not installed");
    };
    let [compress, decompress] = lzo(&|_| Some(program.clone()));
    for found in [compress, decompress] {
        let (ns, source) = found.unwrap();
        assert!(ns > 0 && source.starts_with("lzop"), "{ns} {source}");
    }
}

#[test]
fn a_speed_that_cannot_be_is_no_charge_of_nothing() {
    assert_eq!(per_kib(1_048_576_000.0), Some(977));
    assert_eq!(per_kib(0.0), None);
    assert_eq!(per_kib(-1.0), None);
    assert_eq!(per_kib(f64::INFINITY), None);
    assert_eq!(per_kib(f64::NAN), None);
}
