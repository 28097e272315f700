use super::*;
use crate::fixture::{self, Machine};

#[test]
fn dirty_and_writeback_are_read_in_bytes() {
    let machine = Machine::new();
    machine.write(
        "proc/meminfo",
        "MemTotal: 100 kB\nDirty:             12 kB\nWriteback:          3 kB\nWritebackTmp: 9 kB",
    );
    let found = unwritten(&machine.system()).unwrap();
    assert_eq!(found, Unwritten { dirty: Bytes::kib(12), writeback: Bytes::kib(3) });
}

#[test]
fn a_missing_line_is_an_error_and_never_zero() {
    let machine = Machine::new();
    machine.write("proc/meminfo", "MemTotal: 100 kB\nWriteback: 3 kB");
    assert!(matches!(unwritten(&machine.system()), Err(Error::Format { .. })));
}

#[test]
fn caches_of_the_machine_are_dropped_through_the_sysctl() {
    let machine = Machine::new();
    machine.write("proc/sys/vm/drop_caches", "0");
    drop_caches(&machine.system()).unwrap();
    assert_eq!(fs::read_to_string(machine.path("proc/sys/vm/drop_caches")).unwrap(), "3\n");
}

#[test]
fn a_device_is_flushed_and_its_buffers_dropped() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("a_device_is_flushed", "needs root to attach a loop device");
    }
    let (_image, device) = fixture::ram_device(1);
    std::io::Write::write_all(&mut device.file(), &[1; 4096]).unwrap();
    flush_device(device.file()).unwrap();
    drop_device_buffers(device.file()).unwrap();
    sync_filesystem(std::fs::File::open("/").unwrap()).unwrap();
}

#[test]
fn a_pipe_has_nothing_to_flush() {
    let (reader, _writer) = rustix::pipe::pipe().unwrap();
    assert!(flush_device(&reader).is_err());
    assert!(drop_device_buffers(&reader).is_err());
}
