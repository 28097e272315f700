use super::*;

#[test]
fn threads_of_the_kernel_are_told_from_programs() {
    let thread = "78 (md0_raid1) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 12";
    let program = "91 (a) b (c)) S 1 91 91 0 -1 4194304 85 0 0 0 0 0 0 0 20 0 1 0 30";
    assert!(!is_program(thread));
    assert!(is_program(program));
    assert!(!is_program(""));
    let own = std::fs::read_to_string("/proc/self/stat").unwrap();
    assert!(is_program(&own), "{own}");
}
