//! Memory of a guest that the guest has cut off: a mapping beyond its file's new end must not end this
//! process.
//!
//! Touching such memory raises SIGBUS. The handler puts an empty page there, so that the access ends, and
//! marks the mapping, so that whoever made the access learns of it. Every other SIGBUS is left to who
//! handled it before.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Most mappings at once: four for each guest of a machine of 256 CPUs.
const MOST: usize = 1024;

const PAGE_BYTES: usize = 4096;

/// A mapping that is watched; free while `end` is 0.
struct Watched {
    taken: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
    lost: AtomicBool,
}

static ALL: [Watched; MOST] = [const {
    Watched {
        taken: AtomicBool::new(false),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        lost: AtomicBool::new(false),
    }
}; MOST];

/// The previous handler of the signal; no value while ours is not installed.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// The watch over one mapping.
#[derive(Debug)]
pub(super) struct Watch(usize);

impl Watch {
    /// Watches the bytes from `start` on.
    pub(super) fn new(start: usize, bytes: usize) -> io::Result<Self> {
        handle()?;
        let free = |place: &Watched| {
            place.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let full = || io::Error::other("too many mappings of guests' memory at once");
        let index = ALL.iter().position(free).ok_or_else(full)?;
        let place = &ALL[index];
        place.lost.store(false, Ordering::Relaxed);
        place.start.store(start, Ordering::Release);
        // Last: with an end it is seen.
        place.end.store(start + bytes, Ordering::Release);
        Ok(Self(index))
    }

    /// Returns true if an access met a page that is gone.
    pub(super) fn is_lost(&self) -> bool {
        ALL[self.0].lost.load(Ordering::Acquire)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let place = &ALL[self.0];
        place.end.store(0, Ordering::Release);
        place.taken.store(false, Ordering::Release);
    }
}

/// Installs the handler, once.
fn handle() -> io::Result<()> {
    static RESULT: OnceLock<Result<(), i32>> = OnceLock::new();
    let install = || {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: asks only; the pointer is to memory of the right size.
        if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL));
        }
        // SAFETY: the call has filled it.
        let before = BEFORE.get_or_init(|| unsafe { before.assume_init() });
        let mut action = *before;
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler has the signature that SA_SIGINFO asks for, and calls nothing that a signal
        // handler may not.
        match unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)),
        }
    };
    RESULT.get_or_init(install).map_err(io::Error::from_raw_os_error)
}

/// Touches atomics and maps a page: nothing that a signal handler may not do.
extern "C" fn on_signal(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a valid siginfo to a handler with SA_SIGINFO, and SIGBUS has an address.
    let address = unsafe { (*info).si_addr() }.addr();
    let inside = |place: &&Watched| {
        let end = place.end.load(Ordering::Acquire);
        (place.start.load(Ordering::Acquire)..end).contains(&address)
    };
    let Some(place) = ALL.iter().find(inside) else { return pass_on(signal, info, context) };
    let page = ptr::without_provenance_mut(address - address % PAGE_BYTES);
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: replaces one page inside a mapping of this module's owner, to which no reference exists;
    // what was there cannot be accessed any more.
    let mapped = unsafe { libc::mmap(page, PAGE_BYTES, protection, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return pass_on(signal, info, context);
    }
    place.lost.store(true, Ordering::Release);
}

/// Passes the signal to the previous handler.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    let before = BEFORE.get();
    let known = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    let takes_info = before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0);
    if known != libc::SIG_DFL && known != libc::SIG_IGN && takes_info {
        // SAFETY: it was installed with SA_SIGINFO, so this is its signature.
        let handler = unsafe { std::mem::transmute::<usize, Handler>(known) };
        return handler(signal, info, context);
    }
    // SAFETY: sets the default action; the instruction is tried again after return, and ends the process.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}
