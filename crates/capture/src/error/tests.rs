use super::CaptureError;
use std::io::{Error, ErrorKind};

#[test]
fn where_there_is_no_capture_the_way_by_strace_is_named() {
    let refused = |kind: ErrorKind| CaptureError::bpf("load a program")(Error::from(kind));
    let all = [
        CaptureError::NotBuilt,
        CaptureError::Architecture,
        CaptureError::Btf("it is not there"),
        CaptureError::Kernel("task_struct.files".to_owned()),
        refused(ErrorKind::PermissionDenied),
        refused(ErrorKind::InvalidInput),
    ];
    for error in all {
        let said = error.to_string();
        let way = "record with `strace -f -ttt -T -yy -o FILE` and `seekwell trace import strace`";
        assert!(said.ends_with(way), "{said}");
    }
    let said = refused(ErrorKind::PermissionDenied).to_string();
    assert!(said.contains("needs root or the capabilities CAP_BPF, CAP_PERFMON"), "{said}");
}
