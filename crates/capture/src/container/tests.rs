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

/// Makes cgroups below a folder, and finds one by a name.
fn found_below(cgroups: &[&str], name: &str) -> Result<PathBuf, String> {
    let folder = tempfile::tempdir().unwrap();
    for cgroup in cgroups {
        std::fs::create_dir_all(folder.path().join(cgroup)).unwrap();
    }
    match cgroup_below(folder.path(), name) {
        Ok(path) => Ok(path.strip_prefix(folder.path()).unwrap().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn units_are_found_as_systemd_names_their_cgroups() {
    let cgroups = [
        "init.scope",
        "system.slice/cron.service",
        "system.slice/system-postgresql.slice/postgresql@15-main.service",
        "system.slice/system-serial\\x2dgetty.slice/serial-getty@ttyS0.service",
        "user.slice/user-1000.slice/user@1000.service/app.slice/sync.service",
    ];
    let found = |name: &str| found_below(&cgroups, name).unwrap();
    assert_eq!(found("cron"), Path::new(cgroups[1]));
    assert_eq!(found("cron.service"), Path::new(cgroups[1]));
    assert_eq!(found("init.scope"), Path::new(cgroups[0]));
    assert_eq!(found("postgresql@15-main"), Path::new(cgroups[2]));
    assert_eq!(found("sync"), Path::new(cgroups[4]));
    // A template has no cgroup of its own; all that is made of it is in one.
    for name in ["postgresql", "postgresql.service", "postgresql@"] {
        assert_eq!(found(name), Path::new("system.slice/system-postgresql.slice"), "{name}");
    }
    let slice = Path::new(cgroups[3]).parent().unwrap();
    assert_eq!(found("serial-getty"), slice);
    let said = found_below(&cgroups, "postgres").unwrap_err();
    assert!(
        said.starts_with(
            "no cgroup of postgres below /sys/fs/cgroup, but of postgresql@15-main.service; "
        ),
        "{said}"
    );
    let said = found_below(&cgroups, "mysql").unwrap_err();
    assert!(
        said.starts_with("no cgroup of mysql below /sys/fs/cgroup; name a running unit"),
        "{said}"
    );
}

#[test]
fn containers_are_found_as_their_programs_name_their_cgroups() {
    let burstable = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7.slice";
    let cgroups = [
        format!("system.slice/docker-{}.scope", id('a')),
        format!("docker/{}", id('b')),
        format!("machine.slice/libpod-{}.scope/container", id('c')),
        format!("{burstable}/cri-containerd-{}.scope", id('d')),
        format!("kubepods/besteffort/pod8/{}", id('e')),
        format!("{burstable}/crio-{}.scope", id('f')),
    ];
    let all: Vec<&str> = cgroups.iter().map(String::as_str).collect();
    for (letter, cgroup) in "abdef".chars().zip([0, 1, 3, 4, 5].map(|at| &cgroups[at])) {
        let short = &id(letter)[..DIGITS];
        assert_eq!(found_below(&all, short), Ok(cgroup.into()), "{short}");
    }
    let scope = Path::new(&cgroups[2]).parent().unwrap();
    assert_eq!(found_below(&all, &id('c')), Ok(scope.to_owned()));
    assert!(found_below(&all, &id('a')[..DIGITS - 1]).is_err(), "too short to be an id");
}

#[test]
fn the_root_of_cgroups_is_that_of_version_2() {
    let one = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    assert_eq!(root_in(one), Some("/sys/fs/cgroup".into()));
    let both = "30 20 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
                31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                32 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
    assert_eq!(root_in(both), Some("/sys/fs/cgroup/unified".into()));
    assert_eq!(root_in("30 20 0:26 / /mnt rw - cgroup2 cgroup2 rw\n"), None);
}
