//! Processes that a command of the workload left running.

/// Ends them: as process 1 of its namespace this process is the parent of all that is left. Anywhere
/// else there is nothing that tells them from the rest.
pub(crate) fn end_strays() {
    if std::process::id() != 1 {
        return;
    }
    // SAFETY: kill takes numbers; -1 is every other process of this PID namespace.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    // SAFETY: waitpid with a null status only reaps.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {}
}
