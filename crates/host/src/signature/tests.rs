use super::*;
use std::process::Command;

/// A folder with two keys `a` and `b`, and a file; `None` without ssh-keygen.
fn ground(test: &str) -> Option<tempfile::TempDir> {
    let Some(keygen) = seekwell_testing::tool(PROGRAM) else {
        seekwell_testing::skip(test, "ssh-keygen is not installed");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let made = Command::new(&keygen)
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(folder.path().join(name))
            .status()
            .unwrap();
        assert!(made.success());
    }
    std::fs::write(folder.path().join("file"), b"what was measured").unwrap();
    Some(folder)
}

fn checked(folder: &Path, key: &str, file: &Path) -> Checked {
    let signature = path_of(&folder.join("file"));
    check(&System::host(), &folder.join(key), file, &signature).unwrap()
}

#[test]
fn a_signature_is_good_for_its_bytes_and_its_key_alone() {
    let Some(folder) = ground("a_signature_is_good_for_its_bytes_and_its_key_alone") else {
        return;
    };
    let folder = folder.path();
    let file = folder.join("file");
    let signature = sign(&System::host(), &folder.join("a"), &file).unwrap();
    std::fs::write(path_of(&file), signature).unwrap();
    assert_eq!(checked(folder, "a.pub", &file), Checked::Good);
    assert!(matches!(checked(folder, "b.pub", &file), Checked::Bad(_)));
    let whole = std::fs::read(&file).unwrap();
    for position in 0..whole.len() {
        let mut edited = whole.clone();
        edited[position] ^= 1;
        let path = folder.join("edited");
        std::fs::write(&path, edited).unwrap();
        assert!(matches!(checked(folder, "a.pub", &path), Checked::Bad(_)), "byte {position}");
    }
}

#[test]
fn a_private_key_in_place_of_the_public_one_is_refused_in_words() {
    let test = "a_private_key_in_place_of_the_public_one_is_refused_in_words";
    let Some(folder) = ground(test) else { return };
    let folder = folder.path();
    let error = check(&System::host(), &folder.join("a"), &folder.join("file"), folder);
    assert!(error.unwrap_err().to_string().contains(".pub"));
}
