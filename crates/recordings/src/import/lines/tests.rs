use super::*;

#[test]
fn a_compressed_file_is_refused_with_the_program_that_unpacks_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    for (magic, program) in COMPRESSED {
        std::fs::write(&path, [magic, b"rest"].concat()).unwrap();
        let said = open(&path).unwrap_err().to_string();
        assert!(said.contains("compressed") && said.contains(program), "{said}");
    }
    for text in ["", "a", "BZ is no head\n"] {
        std::fs::write(&path, text).unwrap();
        let mut read = String::new();
        open(&path).unwrap().read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
    }
}

#[test]
fn lines_are_the_same_in_a_buffer_of_any_size() {
    let long = "x".repeat(LONGEST as usize);
    let text = format!("a\n\nbc\r\n{long}\n{}\nlast", &long[1..]);
    let expected = [Some("a"), Some(""), Some("bc"), None, Some(&long[1..]), Some("last")];
    for capacity in [1, 2, 3, 5, 1 << 20] {
        let mut reader = io::BufReader::with_capacity(capacity, text.as_bytes());
        let (mut found, mut line): (Vec<Option<String>>, _) = (Vec::new(), Vec::new());
        while let Some(is_whole) = next(&mut reader, &mut line).unwrap() {
            found.push(is_whole.then(|| String::from_utf8_lossy(&line).into_owned()));
        }
        let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, expected, "{capacity}");
    }
}
