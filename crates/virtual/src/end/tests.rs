use super::*;

fn exited(code: i32) -> ExitStatus {
    ExitStatus::from_raw(code << 8)
}

fn killed(signal: i32) -> ExitStatus {
    ExitStatus::from_raw(signal)
}

const PANIC: &str = "[ 0.1] x\n[    0.2] Kernel panic - not syncing: VFS: no root  \nStack:\n";

#[test]
fn the_ways_to_end_are_told_apart() {
    assert_eq!(of_exit(exited(0), Some(3), ""), End::Finished { status: 3 });
    assert_eq!(of_exit(exited(0), None, ""), End::PoweredOff);
    assert_eq!(of_exit(exited(1), None, ""), End::Exited(1));
    assert_eq!(of_exit(killed(11), Some(0), ""), End::Crash(11));
    let panic = End::Panic("VFS: no root".to_owned());
    assert_eq!(of_exit(killed(6), None, PANIC), panic);
    assert_eq!(of_exit(exited(0), Some(0), PANIC), panic, "a panic is never a success");
}

#[test]
fn only_a_command_that_succeeded_is_a_success() {
    assert!(End::Finished { status: 0 }.is_success());
    assert!(!End::Finished { status: 1 }.is_success());
    assert!(!End::PoweredOff.is_success());
}

#[test]
fn the_message_says_what_to_think_of_it() {
    let text = End::KernelSpins(6012).to_string();
    assert!(text.starts_with("its kernel used 60 s of CPU time while virtual time stood still; "));
    assert!(text.ends_with("end the step by count instead of time, or write cache = \"direct\""));
    let text = End::ProgramSpins(6012).to_string();
    let expected = "a program computed for 60 s of CPU time without a system call; virtual time advances only in system calls";
    assert_eq!(text, expected);
}

#[test]
fn last_lines_are_the_last() {
    assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
    assert_eq!(last_lines("a\n", 5), "a");
    assert_eq!(last_lines("", 5), "");
}
