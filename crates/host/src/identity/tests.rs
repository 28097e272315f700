use super::*;
use crate::fixture::Machine;

fn read(machine: &Machine, name: &str) -> Identity {
    let system = machine.system();
    Identity::read(&system, &Device::by_name(&system, name).unwrap(), None)
}

fn machine() -> Machine {
    let mut machine = Machine::new();
    machine.disk("sdb", "8:16", 4096);
    machine.partition("sdb", "sdb1", "8:17", 64, 1024);
    machine
}

#[test]
fn a_disk_says_who_it_is_in_different_places() {
    // NVMe and MMC.
    let nvme = machine();
    nvme.attribute("sdb", "device/model", "WD Blue         ");
    nvme.attribute("sdb", "device/serial", " 21AB ");
    nvme.attribute("sdb", "device/firmware_rev", "233010WD");
    nvme.attribute("sdb", "wwid", "eui.001b");
    let found = read(&nvme, "sdb");
    assert_eq!(found.model.as_deref(), Some("WD Blue"));
    assert_eq!(found.serial.as_deref(), Some("21AB"));
    assert_eq!(found.firmware.as_deref(), Some("233010WD"));
    assert_eq!(found.wwid.as_deref(), Some("eui.001b"));

    // virtio.
    let virtio = machine();
    virtio.attribute("sdb", "serial", "VIRT1");
    assert_eq!(read(&virtio, "sdb").serial.as_deref(), Some("VIRT1"));

    // SCSI and SATA.
    let sata = machine();
    sata.attribute("sdb", "device/rev", "01.0");
    let page = sata.path("sys/class/block/sdb/device/vpd_pg80");
    std::fs::write(page, b"\0\x80\0\x0c    WD-12345").unwrap();
    let found = read(&sata, "sdb");
    assert_eq!(
        (found.serial.as_deref(), found.firmware.as_deref()),
        (Some("WD-12345"), Some("01.0"))
    );

    // What only udev knows.
    let usb = machine();
    usb.write(
        "run/udev/data/b8:16",
        "S:disk/by-id/x\nE:ID_SERIAL=long\nE:ID_SERIAL_SHORT=0123\nE:ID_MODEL=Stick",
    );
    let found = read(&usb, "sdb");
    assert_eq!((found.serial.as_deref(), found.model.as_deref()), (Some("0123"), Some("Stick")));
}

#[test]
fn a_partition_has_the_serial_number_of_its_disk_and_its_own_place() {
    let machine = machine();
    machine.attribute("sdb", "device/serial", "S1");
    let found = read(&machine, "sdb1");
    assert_eq!(found.serial.as_deref(), Some("S1"));
    assert_eq!(found.partition, Some((1, 64)));
    assert_eq!(found.sectors(), 1024);
    assert_eq!(found.diskseq, Some(7));
}

#[test]
fn nodes_know_a_shared_disk_by_one_name() {
    let machine = machine();
    assert_eq!(read(&machine, "sdb").name_everywhere(), None);
    machine.attribute("sdb", "device/serial", "0000");
    assert_eq!(read(&machine, "sdb").name_everywhere(), None, "no serial number");
    machine.attribute("sdb", "device/serial", "S1");
    assert_eq!(read(&machine, "sdb").name_everywhere().as_deref(), Some("disk S1"));
    machine.attribute("sdb", "device/model", "SAN");
    assert_eq!(read(&machine, "sdb").name_everywhere().as_deref(), Some("SAN S1"));
    machine.attribute("sdb", "device/wwid", "naa.6001405");
    for name in ["sdb", "sdb1"] {
        assert_eq!(read(&machine, name).name_everywhere().as_deref(), Some("naa.6001405"));
    }
}

#[test]
fn a_disk_without_a_name_says_that() {
    insta::assert_snapshot!(read(&machine(), "sdb"), @"a device without a model name and without a serial number, 4096 sectors, sdb");
}

#[test]
fn the_stable_path_is_the_one_that_people_can_read() {
    let machine = machine();
    let system = machine.system();
    let node = machine.path("dev/sdb");
    assert_eq!(stable_path(&system, &node), None);
    let link = |name: &str| {
        let path = machine.path("dev/disk").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&node, &path).unwrap();
        path
    };
    let by_path = link("by-path/pci-0000:00");
    assert_eq!(stable_path(&system, &node), Some(by_path));
    let wwn = link("by-id/wwn-0x5000");
    assert_eq!(stable_path(&system, &node), Some(wwn));
    let ata = link("by-id/ata-WDC_1");
    assert_eq!(stable_path(&system, &node), Some(ata));
}
