use super::*;

#[test]
fn counts_are_read_by_file_and_line() {
    let text = "SF:crates/host/src/guard.rs\nFN:1,one\nDA:3,0\nDA:4,12\nend_of_record\n\
                SF:/elsewhere/b.rs\nDA:3,1\nDA:3,2\n";
    let found = lines(Path::new("/tree"), text).unwrap();
    let expected = [
        ("/elsewhere/b.rs", vec![(3, 3)]),
        ("/tree/crates/host/src/guard.rs", vec![(3, 0), (4, 12)]),
    ];
    let found: Vec<(&str, Vec<(u64, u64)>)> = found
        .iter()
        .map(|(file, lines)| (file.to_str().unwrap(), lines.clone().into_iter().collect()))
        .collect();
    assert_eq!(found, expected);
    assert!(lines(Path::new("/tree"), "DA:three,1").is_err());
    assert!(lines(Path::new("/tree"), "DA:3").is_err());
}

#[test]
fn adjacent_lines_are_one_span() {
    assert_eq!(spans(&[]), [""; 0]);
    assert_eq!(spans(&[3, 4, 5, 9, 11, 12]), ["3-5", "9", "11-12"]);
}
