use super::*;

#[test]
fn this_process_is_seen_with_its_directory_and_threads() {
    let own = std::process::id();
    let here = std::env::current_dir().unwrap();
    assert_eq!(seen(own).directory, Some(here.to_string_lossy().into_owned()));
    assert!(family(own).contains(&(own, own)));
    assert!(seen(own).descriptors.iter().any(|open| open.fd == 0));
}

#[test]
fn a_thread_of_the_kernel_is_told_from_a_program() {
    assert!(!is_of_kernel(std::process::id()));
    // Number 2 is the first of them, but in a namespace of processes.
    let name = std::fs::read_to_string("/proc/2/comm").unwrap_or_default();
    if name.trim_end() != "kthreadd" {
        return seekwell_testing::skip("a_thread_of_the_kernel", "no kthreadd is seen here");
    }
    assert!(is_of_kernel(2));
}
