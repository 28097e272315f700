use super::*;
use seekwell_model::units::{Bytes, Nanos};

fn nfs() -> Nfs {
    Nfs {
        version: "4.2".to_owned(),
        is_async: false,
        rsize: None,
        wsize: Some(Bytes::kib(256)),
        delay: Nanos(50_000),
        rate_mbit: 1000,
    }
}

fn own() -> Place {
    Place { settings: "/settings".into(), is_shared: false }
}

#[test]
fn the_record_names_the_link_the_export_and_the_mount() {
    let expected = [
        "ip link set dev lo mtu 1500 up",
        "tc qdisc replace dev lo root netem delay 50us rate 1000mbit limit 100000",
        "export rw,sync,wdelay,no_root_squash,no_subtree_check,fsid=0",
        "mount -t nfs4 -o hard,proto=tcp,sec=sys,vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1,wsize=262144",
    ];
    assert_eq!(described(&nfs()), expected);
}

#[test]
fn version_3_takes_its_handle_from_a_port_of_its_own() {
    let third = Nfs { version: "3".to_owned(), wsize: None, ..nfs() };
    assert_eq!(
        described(&third)[3],
        "mount -t nfs -o hard,proto=tcp,sec=sys,vers=3,addr=127.0.0.1,port=2049,nolock,mountproto=tcp,mountvers=3,mountaddr=127.0.0.1,mountport=20048"
    );
    let versions = |nfs: &Nfs| server_files(nfs, &own(), Path::new("/a")).remove(0).1;
    assert_eq!(versions(&third), "+3 +4 +4.1 +4.2\n");
    assert_eq!(versions(&nfs()), "-3 +4 +4.1 +4.2\n");
}

#[test]
fn a_handle_is_read_from_digits() {
    assert_eq!(bytes_of("\\x0100ff\n"), Some(vec![1, 0, 255]));
    for wrong in ["", "\\x", "\\x0", "0100", "\\xzz"] {
        assert_eq!(bytes_of(wrong), None, "{wrong}");
    }
}

#[test]
fn the_caches_get_the_export_as_words() {
    let written = |nfs: &Nfs| {
        let files = server_files(nfs, &own(), Path::new("/a b/c"));
        files.into_iter().find(|(file, _)| file.ends_with("nfsd.export/channel")).unwrap().1
    };
    assert_eq!(written(&nfs()), "seekwell /a\\040b/c 2147483647 9250 65534 65534 0\n");
    let unsafe_one = Nfs { is_async: true, ..nfs() };
    assert_eq!(written(&unsafe_one), "seekwell /a\\040b/c 2147483647 9266 65534 65534 0\n");
}

#[test]
fn the_largest_block_of_a_hosts_servers_stays() {
    let sets_it = |place: &Place| {
        let files = server_files(&nfs(), place, Path::new("/a"));
        files.iter().any(|(file, _)| *file == place.settings.join("max_block_size"))
    };
    assert!(sets_it(&own()));
    assert!(!sets_it(&Place { is_shared: true, ..own() }));
}
