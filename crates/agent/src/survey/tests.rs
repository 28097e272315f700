use super::*;

#[test]
fn a_survey_has_every_file_with_the_sums_of_its_sectors() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("a")).unwrap();
    let data: Vec<u8> = (0..700_u32).map(|byte| byte as u8).collect();
    fs::write(top.path().join("a/b"), &data).unwrap();
    let mut found = Vec::new();
    visit(top.path(), &mut |file| found.push(file)).unwrap();
    let path = |below: &str| format!("{}{below}", top.path().display());
    let mut padded = data[512..].to_vec();
    padded.resize(512, 0);
    let sectors = vec![sum(&data[..512]), sum(&padded)];
    let expected = [
        FoundFile { path: path(""), bytes: None, sectors: vec![] },
        FoundFile { path: path("/a"), bytes: None, sectors: vec![] },
        FoundFile { path: path("/a/b"), bytes: Some(700), sectors },
    ];
    assert_eq!(found, expected);
    assert_ne!(sum(&data[..512]), sum(&padded));
}
