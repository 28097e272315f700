use super::*;

#[test]
fn nodes_of_mapped_devices_are_waited_for_before_they_are_used() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let wipe = words("if=/dev/zero of=/dev/mapper/seekwell-1-meta bs=4096");
    assert_eq!(mapped_nodes(&wipe, "").collect::<Vec<_>>(), ["/dev/mapper/seekwell-1-meta"]);
    let table = "0 8 thin-pool /dev/mapper/a /dev/mapper/b 128 0\n";
    let create = words("create seekwell-1-pool");
    assert_eq!(
        mapped_nodes(&create, table).collect::<Vec<_>>(),
        ["/dev/mapper/a", "/dev/mapper/b"]
    );
    assert_eq!(mapped_nodes(&words("--stop /dev/md7"), "").count(), 0);
}
