use super::*;
use std::time::Duration;

fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number)).collect()
}

/// Binds in a thread of its own: a binding stays with its thread. Returns the CPU and what the thread may use then.
fn bound(cpus: &Path) -> (Option<OwnCpu>, Vec<usize>) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| (OwnCpu::bind(cpus), allowed()));
        thread.join().unwrap()
    })
}

#[test]
fn each_worker_gets_a_cpu_of_its_own_until_all_are_taken() {
    let all = allowed();
    if all.len() < 2 {
        return seekwell_testing::skip("each_worker_gets_a_cpu", "this machine has one CPU");
    }
    let folder = tempfile::tempdir().unwrap();
    let cpus = folder.path();
    for number in &all {
        std::fs::create_dir(cpus.join(format!("cpu{number}"))).unwrap();
    }
    let mut workers = Vec::new();
    for number in &all {
        let (own, may_use) = bound(cpus);
        let own = own.unwrap();
        assert_eq!((own.number, may_use), (*number, vec![*number]));
        workers.push(own);
    }
    let (none, may_use) = bound(cpus);
    assert!(none.is_none());
    assert_eq!(may_use, all, "the kernel places it");
    let free = workers.remove(1);
    let number = free.number;
    drop(free);
    // A process that another test is starting holds copies of all locks until it runs its program.
    let again = (0..1000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(10));
        bound(cpus).0
    });
    assert_eq!(again.map(|own| own.number), Some(number));
}

#[test]
fn the_folders_of_this_kernel_can_be_locked() {
    let first = *allowed().first().unwrap();
    // Another worker may have it just now.
    assert!(matches!(lock(Path::new(CPUS), first), Ok(_) | Err(io::Errno::AGAIN)));
}

#[test]
fn a_worker_with_one_cpu_is_bound_already() {
    let first = *allowed().first().unwrap();
    let bound = std::thread::spawn(move || {
        let mut set = CpuSet::new();
        set.set(first);
        sched_setaffinity(None, &set).unwrap();
        OwnCpu::bind(Path::new(CPUS)).is_none()
    });
    assert!(bound.join().unwrap());
}
