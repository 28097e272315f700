use super::*;
use crate::fixture::with_own_mounts;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const TIMEOUT: Duration = Duration::from_secs(10);

fn shell(folder: &Path, line: &str) -> String {
    let output = Command::new("sh").args(["-ec", line]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Names, kinds, modes, sizes, times, link counts and content of a tree.
fn picture(folder: &Path) -> String {
    shell(
        folder,
        "find . -mindepth 1 ! -type d -printf '%p %y %m %s %U:%G %T@ %n %l\n' | sort; \
                   find . -mindepth 1 -type d -printf '%p %m %U:%G\n' | sort; \
                   find . -type f | sort | xargs -r cksum",
    )
}

/// Every kind of change that a workload can make.
const CHANGES: &str = "
    echo new > new; chmod 4750 new; chown 12:34 new
    echo changed >> kept; touch -d 2001-02-03T04:05:06 kept
    rm removed; rm -r folder/removed-tree
    rm -r replaced; echo now-a-file > replaced
    rm was-file; mkdir was-file; echo x > was-file/inside
    rm -r emptied; mkdir emptied; echo only > emptied/only
    mv folder/old-name folder/new-name
    ln new hard; ln -s new soft; ln -sfn elsewhere link
    mkdir -p deep/er/est; echo bottom > deep/er/est/file; chmod 700 deep/er
    mkfifo pipe; mknod node c 1 3
    dd if=/dev/urandom of=big bs=64k count=5 2>/dev/null
    mv renamed-dir moved-dir 2>/dev/null || { cp -a renamed-dir moved-dir; rm -r renamed-dir; }
";

const BEFORE: &str = "
    echo kept > kept; echo r > removed; mkdir -p folder/removed-tree/a replaced/b emptied/c renamed-dir
    echo o > folder/old-name; echo e > emptied/c/e; echo w > was-file; ln -s target link
    echo i > renamed-dir/inside
";

#[test]
fn what_is_written_back_is_what_was_seen_in_the_overlay() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "what_is_written_back_is_what_was_seen",
            "needs root to mount an overlay",
        );
    }
    with_own_mounts(|| {
        let folder = tempfile::tempdir().unwrap();
        let part = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let (lower, work, target) = (part("lower"), part("work"), part("target"));
        shell(&lower, BEFORE);
        let untouched = picture(&lower);
        let mounted = mount(&lower, &work, &target, Bytes::mib(16)).unwrap();
        assert_eq!(mounted.target(), target);
        shell(&target, CHANGES);
        let seen = picture(&target);
        assert_eq!(picture(&lower), untouched, "nothing reaches the lower filesystem before");

        // Mounted again, it is the same: so a step can start cold.
        let layer = mounted.unmount(TIMEOUT).unwrap();
        let mounted = layer.mount(&lower, &target).unwrap();
        assert_eq!(picture(&target), seen);

        let layer = mounted.unmount(TIMEOUT).unwrap();
        layer.write_back(&lower).unwrap();
        assert_eq!(picture(&lower), seen);
        layer.drop_layer(TIMEOUT).unwrap();
        assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
    });
}

#[test]
fn what_is_never_written_back_is_gone() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "what_is_never_written_back_is_gone",
            "needs root to mount an overlay",
        );
    }
    with_own_mounts(|| {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["lower", "work", "target"].map(|name| folder.path().join(name));
        for path in &paths {
            fs::create_dir(path).unwrap();
        }
        let mounted = mount(&paths[0], &paths[1], &paths[2], Bytes::mib(1)).unwrap();
        fs::write(paths[2].join("file"), "lost").unwrap();
        // The layer has the size that was asked for.
        assert!(fs::write(paths[2].join("large"), vec![1; 2 << 20]).is_err());
        mounted.unmount(TIMEOUT).unwrap().drop_layer(TIMEOUT).unwrap();
        assert_eq!(fs::read_dir(&paths[0]).unwrap().count(), 0);
    });
}

#[test]
fn a_layer_on_the_filesystem_keeps_its_content() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "a_layer_on_the_filesystem_keeps_its_content",
            "needs root to mount an overlay",
        );
    }
    with_own_mounts(|| {
        let folder = tempfile::tempdir().unwrap();
        // An overlay cannot hold the upper layer of another one.
        let (base, target) = (folder.path().join("base"), folder.path().join("target"));
        for path in [&base, &target] {
            fs::create_dir(path).unwrap();
        }
        new_mount("tmpfs", &[], &base).unwrap();
        for expected in [0, 1] {
            let mounted = mount_within(&base, &target).unwrap();
            assert_eq!(fs::read_dir(&target).unwrap().count(), expected);
            fs::write(target.join("file"), "kept").unwrap();
            mounted.unmount(TIMEOUT).unwrap().drop_layer(TIMEOUT).unwrap();
        }
        assert_eq!(fs::read_to_string(base.join("upper/file")).unwrap(), "kept");
        assert_eq!(fs::read_dir(base.join("lower")).unwrap().count(), 0);
        unmount(&base, TIMEOUT).unwrap();
    });
}

#[test]
fn an_overlay_that_cannot_be_mounted_leaves_nothing() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "an_overlay_that_cannot_be_mounted",
            "needs root to mount an overlay",
        );
    }
    with_own_mounts(|| {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        fs::create_dir(&work).unwrap();
        let missing = folder.path().join("missing");
        mount(&missing, &work, folder.path(), Bytes::mib(1)).unwrap_err();
        assert_eq!(fs::read_dir(&work).unwrap().count(), 0, "the tmpfs is gone");
        assert_eq!(fs::metadata(&work).unwrap().permissions().mode() & 0o777, 0o755);
    });
}
