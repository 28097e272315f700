//! Processes that a command of the workload left running.

use seekwell_host::guard;
use seekwell_host::sysfs::System;
use seekwell_model::stack::Stack;

#[cfg(test)]
mod tests;

/// `PF_KTHREAD` of the kernel, in the flags of `/proc/PID/stat`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Ends them: as process 1 of its namespace this process is the parent of all that is left. Anywhere
/// else there is nothing that tells them from the rest.
pub(crate) fn end_strays(stack: &Stack) {
    if std::process::id() != 1 {
        return;
    }
    if stack.layers.is_empty() || !guard::is_first_process(&System::host()) {
        // SAFETY: kill takes numbers; -1 is every other process of this PID namespace.
        unsafe { libc::kill(-1, libc::SIGKILL) };
        reap();
        return;
    }
    // In a guest the threads of md are in this namespace too, and such a signal puts an array into its
    // mode for shutting down, in which it no longer waits for anything. Only there does /proc have the
    // numbers of this namespace.
    while end_processes() {
        reap();
    }
}

fn reap() {
    // SAFETY: waitpid with a null status only reaps.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {}
}

/// Sends the signal to every process that is no thread of the kernel; false when there is none.
fn end_processes() -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    let mut found = false;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.parse::<i32>().ok());
        let Some(pid) = number.filter(|pid| *pid > 1) else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if is_program(&stat) {
            found = true;
            // SAFETY: kill takes numbers; this one is of a process of this PID namespace.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
    found
}

/// Returns true if a line of `/proc/PID/stat` is that of a program, not of the kernel's threads.
fn is_program(stat: &str) -> bool {
    // The name before may contain anything, also brackets.
    let flags = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(6));
    flags
        .and_then(|flags| flags.parse::<u64>().ok())
        .is_some_and(|flags| flags & KERNEL_THREAD == 0)
}
