use super::*;

#[test]
fn the_kernel_tells_where_its_members_are() {
    let Ok(bytes) = std::fs::read(VMLINUX) else {
        let test = "the_kernel_tells_where_its_members_are";
        return seekwell_testing::skip(test, "the kernel has no BTF");
    };
    let btf = Btf::parse(&bytes).unwrap();
    // The first member, one after it, and one in a structure of its own inside an unnamed union.
    assert_eq!(btf.offset("path", "mnt"), Some(0));
    assert_eq!(btf.offset("path", "dentry"), Some(8));
    assert_eq!(btf.offset("qstr", "name"), Some(8));
    assert!(btf.offset("dentry", "d_name") > btf.offset("dentry", "d_parent"));
    assert_eq!(btf.offset("dentry", "no such member"), None);
    assert!(btf.typedef("btf_trace_sys_enter").is_some());
}

#[test]
fn damaged_types_are_an_error() {
    let Ok(bytes) = std::fs::read(VMLINUX) else {
        return seekwell_testing::skip("damaged_types_are_an_error", "the kernel has no BTF");
    };
    assert!(Btf::parse(&[]).is_err());
    assert!(Btf::parse(&bytes[..bytes.len() / 2]).is_err());
    let mut wrong = bytes[..4096].to_vec();
    wrong[0] = 0;
    assert!(Btf::parse(&wrong).is_err());
}

#[test]
fn the_kernel_tells_the_parameters_of_its_tracepoints() {
    let Ok(bytes) = std::fs::read(VMLINUX) else {
        let test = "the_kernel_tells_the_parameters_of_its_tracepoints";
        return seekwell_testing::skip(test, "the kernel has no BTF");
    };
    let btf = Btf::parse(&bytes).unwrap();
    // The tracepoint's own, the registers and the number.
    assert_eq!(btf.parameters("btf_trace_sys_enter"), Some(3));
    assert!(btf.takes("btf_trace_sys_enter", "pt_regs"));
    assert!(!btf.takes("btf_trace_sys_enter", "task_struct"));
    assert_eq!(btf.parameters("no such tracepoint"), None);
}
