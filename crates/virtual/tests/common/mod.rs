//! What the tests with a real guest share.

#![allow(dead_code, reason = "each test and benchmark uses a part")]
#![allow(clippy::print_stderr, reason = "a test says which kernel it ran")]
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

use std::path::PathBuf;

use seekwell_virtual::kernel::{self, Kernel, KernelSet};

/// The kernel for tests: one in the user's cache that is made by today's recipe. `None`, counted as
/// a skip, when there is none. `SEEKWELL_TEST_KERNEL` names a program to use instead.
pub fn lab_kernel(test: &str) -> Option<Kernel> {
    lab_kernel_with(test, &|set| matches!(set, KernelSet::Full | KernelSet::Reduced))
}

/// As [`lab_kernel`], of a set that has what the test needs.
pub fn lab_kernel_with(test: &str, needed: &dyn Fn(KernelSet) -> bool) -> Option<Kernel> {
    if let Some(path) = std::env::var_os("SEEKWELL_TEST_KERNEL") {
        return Some(Kernel {
            id: "0000000000000000".to_owned(),
            version: String::new(),
            set: if needed(KernelSet::Reduced) { KernelSet::Reduced } else { KernelSet::Layers },
            source: String::new(),
            recipe: String::new(),
            path: PathBuf::from(path),
        });
    }
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?
        .join("seekwell/kernels");
    let kernels = kernel::list(&cache).unwrap_or_default();
    let found = kernels.into_iter().find(|kernel| kernel.is_current() && needed(kernel.set));
    match &found {
        Some(kernel) => eprintln!("lab kernel {} ({})", kernel.id, kernel.set),
        None => {
            let set = if needed(KernelSet::Reduced) { "" } else { " --set layers" };
            let reason =
                format!("no lab kernel of this version is built (seekwell kernel build{set})");
            seekwell_testing::skip(test, &reason);
        }
    }
    found
}
