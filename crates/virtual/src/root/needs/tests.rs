use super::*;

#[test]
fn a_script_needs_its_interpreter() {
    let found = needs(Path::new("/x"), b"#! /usr/bin/env python3\nprint()").unwrap();
    assert_eq!(found.interpreter, Some(PathBuf::from("/usr/bin/env")));
    assert!(found.libraries.is_empty());
}

#[test]
fn data_needs_nothing_and_a_broken_program_is_an_error() {
    assert_eq!(needs(Path::new("/x"), b"hello").unwrap(), Needs::default());
    assert_eq!(needs(Path::new("/x"), b"").unwrap(), Needs::default());
    let error = needs(Path::new("/x"), b"\x7fELF and nothing else").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(error.to_string().starts_with("/x is not a program on this machine"), "{error}");
}

#[test]
fn this_very_program_needs_the_c_library_and_a_loader() {
    let path = std::env::current_exe().unwrap();
    let found = needs(&path, &fs::read(&path).unwrap()).unwrap();
    assert!(found.libraries.iter().any(|name| name.starts_with("libc.so")), "{found:?}");
    let loader = found.interpreter.unwrap();
    assert!(loader.to_string_lossy().contains("ld-linux"), "{loader:?}");
    for library in &found.libraries {
        assert!(find_library(library, &found.search, &system_directories()).is_some(), "{library}");
    }
}

#[test]
fn a_program_may_say_where_its_libraries_are() {
    let origin = Path::new("/opt/tool/bin");
    assert_eq!(expand("$ORIGIN/../lib", origin), Path::new("/opt/tool/bin/../lib"));
    assert_eq!(expand("${ORIGIN}", origin), origin);
    assert_eq!(expand("/usr/lib", origin), Path::new("/usr/lib"));
}

#[test]
fn the_loaders_configuration_is_followed() {
    let top = tempfile::tempdir().unwrap();
    let place = |name: &str| top.path().join(name);
    fs::create_dir(place("d")).unwrap();
    let include = place("d").join("*.conf");
    let loops = place("main");
    let text = format!(
        "# comment\n/one # first\ninclude {}\ninclude {}\nhwcap 0\n",
        include.display(),
        loops.display()
    );
    fs::write(place("main"), text).unwrap();
    fs::write(place("d").join("b.conf"), "/three\n").unwrap();
    fs::write(place("d").join("a.conf"), "/two\n").unwrap();
    fs::write(place("d").join("c.txt"), "/never\n").unwrap();
    let mut directories = Vec::new();
    read_configuration(&place("main"), &mut directories, 0);
    let first: Vec<_> = directories.iter().take(3).map(|path| path.to_str().unwrap()).collect();
    assert_eq!(first, ["/one", "/two", "/three"]);
    assert!(!directories.contains(&PathBuf::from("/never")));
}
