use super::*;

#[test]
fn a_kernel_of_another_version_is_none() {
    let list = "kernel  set  version  source\n\
        00ff  full  6.12.1  /a.tar.xz  (made by another version)\n\
        11ee  reduced  6.12.1  /a.tar.xz\n";
    assert_eq!(current(list), Some("11ee  reduced  6.12.1  /a.tar.xz"));
    assert_eq!(current(list.split_inclusive('\n').take(2).collect::<String>().as_str()), None);
    assert_eq!(current(""), None);
}

#[test]
fn a_kernel_with_layers_alone_is_none() {
    let layers = "kernel  set  version  source\n22ff  layers  6.12.1  /a.tar.xz\n";
    assert_eq!(current(layers), None);
    let both = format!("{layers}33aa  full  6.12.1  /a.tar.xz\n");
    assert_eq!(current(&both), Some("33aa  full  6.12.1  /a.tar.xz"));
}
