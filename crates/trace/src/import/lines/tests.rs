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
