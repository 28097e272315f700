use super::*;

fn id(letter: char) -> String {
    letter.to_string().repeat(64)
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn names_of_docker_podman_and_kubernetes_lead_to_ids() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let docker = format!("var/lib/docker/containers/{}/config.v2.json", id('a'));
    put(root, &docker, r#"{"ID": "x", "Name": "/web"}"#);
    let list = format!(
        r#"[{{"id": "{}", "names": ["db", "pg"]}}, {{"id": "../../etc", "names": ["bad"]}}]"#,
        id('b')
    );
    put(root, "var/lib/containers/storage/overlay-containers/containers.json", &list);
    let own = format!(r#"[{{"id": "{}", "names": ["db"]}}]"#, id('c'));
    put(root, "home/u/.local/share/containers/storage/overlay-containers/containers.json", &own);
    put(root, &format!("var/log/containers/shop-0_prod_app-{}.log", id('d')), "");
    assert_eq!(ids(root, "web"), [id('a')]);
    assert_eq!(ids(root, "pg"), [id('b')]);
    assert_eq!(ids(root, "db"), [id('b'), id('c')]);
    for name in ["shop-0", "shop-0/app", "prod/shop-0/app"] {
        assert_eq!(ids(root, name), [id('d')], "{name}");
    }
    for name in ["bad", "app", "none", "/web"] {
        assert_eq!(ids(root, name), Vec::<String>::new(), "{name}");
    }
}

const OUTSIDE: &str = "\
21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 8:2 / /srv rw - xfs /dev/sdb rw
23 21 0:50 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw
24 21 0:21 / /proc rw - proc proc rw
";
const INSIDE: &str = "\
90 80 0:50 / / rw master:1 - overlay overlay rw
91 90 0:60 / /proc rw - proc proc rw
92 90 8:2 /volumes/my\\040data /data rw - xfs /dev/sdb rw
93 90 8:1 /var/lib/docker/containers/x/hosts /etc/hosts rw - ext4 /dev/sda1 rw
94 90 9:9 / /hidden rw - ext4 /dev/md9 rw
";

#[test]
fn directories_of_a_container_have_places_outside() {
    let mounts = joined(INSIDE, OUTSIDE);
    let pairs: Vec<_> =
        mounts.iter().map(|mount| (mount.inside.as_str(), mount.outside.as_str())).collect();
    let expected = [
        ("/", "/var/lib/docker/overlay2/x/merged"),
        ("/data", "/srv/volumes/my data"),
        ("/etc/hosts", "/var/lib/docker/containers/x/hosts"),
    ];
    assert_eq!(pairs, expected);
    let found = |path| inside(&mounts, path);
    assert_eq!(found("/srv/volumes/my data"), Some("/data".to_owned()));
    assert_eq!(found("/srv/volumes/my data/pg/1"), Some("/data/pg/1".to_owned()));
    assert_eq!(found("/var/lib/docker/overlay2/x/merged"), Some("/".to_owned()));
    assert_eq!(found("/var/lib/docker/overlay2/x/merged/tmp"), Some("/tmp".to_owned()));
    assert_eq!(found("/srv/volumes/my database"), None);
}
