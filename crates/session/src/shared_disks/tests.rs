use super::*;
use seekwell_cluster::Work;

fn spool(folder: &tempfile::TempDir) -> Spool {
    let lab = seekwell_fixtures::lab(
        "unpack.elapsed",
        seekwell_model::lab::Effort::Rounds(3),
        vec![seekwell_fixtures::mail()],
    );
    let plan = seekwell_fixtures::plan(lab, vec![seekwell_fixtures::stack("ext4", "none")], 3);
    let (environment, settings) = (serde_json::json!({}), serde_json::json!({}));
    Spool::create(&folder.path().join("x.nodes"), &Work { plan, environment, settings }).unwrap()
}

fn writer(node: &str) -> Writer {
    let [disk, node, boot, task] = ["naa.6001405", node, node, node].map(str::to_owned);
    Writer { disk, node, boot, task }
}

#[test]
fn a_disk_that_another_node_writes_to_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(&folder);
    let of_node = || SharedDisks { spool: spool.clone(), writers: Vec::new() };
    let (mut first, mut second) = (of_node(), of_node());
    let path = Path::new("/dev/disk/by-id/scsi-SAN");
    first.add(path, writer("node1")).unwrap();
    let refused = second.add(path, writer("node2")).unwrap_err();
    assert_eq!(refused.kind(), crate::error::Kind::Refused);
    let expected = format!(
        "/dev/disk/by-id/scsi-SAN is not written: node1 writes to this disk (naa.6001405) for the same run, as worker \
         node1; give each node a disk of its own; if that worker is dead, remove {}",
        spool.file_of(&writer("node1")).display()
    );
    assert_eq!(refused.to_string(), expected);
    drop(second);
    let mut third = of_node();
    third.add(path, writer("node3")).unwrap_err();
    drop(first);
    third.add(path, writer("node3")).unwrap();
}
