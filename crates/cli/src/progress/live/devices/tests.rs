use super::*;

#[test]
fn loop_devices_on_nameless_images_of_this_run_are_found() {
    let block = tempfile::tempdir().unwrap();
    let device = |name: &str, backing: &str| {
        let folder = block.path().join(name).join("loop");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("backing_file"), backing).unwrap();
    };
    device("loop7", "/scratch/here/#123 (deleted)\n");
    device("loop3", "/scratch/here/#124 (deleted)\n");
    device("loop0", "/scratch/here/snap.img\n");
    device("loop1", "/scratch/here/deeper/#125 (deleted)\n");
    std::fs::create_dir(block.path().join("sda")).unwrap();
    let state = State { scratch: "/scratch/here".into(), ..State::default() };
    assert_eq!(names(block.path(), &state), ["loop3", "loop7"]);
    let elsewhere = State { backend: "virtual".to_owned(), ..state };
    assert!(names(block.path(), &elsewhere).is_empty());
}
