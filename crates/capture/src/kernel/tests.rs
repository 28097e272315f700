use super::*;

/// Types of a kernel, as `Documentation/bpf/btf.rst` has them.
#[derive(Default)]
struct Types {
    types: Vec<u32>,
    strings: Vec<u8>,
    count: u32,
}

impl Types {
    fn string(&mut self, text: &str) -> u32 {
        let at = u32::try_from(self.strings.len()).unwrap();
        self.strings.extend(text.as_bytes());
        self.strings.push(0);
        at
    }

    /// Adds a type; returns its number.
    fn add(&mut self, name: &str, kind: u32, of: u32, more: &[[u32; 2]]) -> u32 {
        let name = self.string(name);
        self.types.extend([name, kind << 24 | u32::try_from(more.len()).unwrap(), of]);
        self.types.extend(more.as_flattened());
        self.count += 1;
        self.count
    }

    fn structure(&mut self, name: &str, members: &[(&str, u32)]) -> u32 {
        let placed: Vec<_> = members.iter().map(|(name, at)| (self.string(name), at * 8)).collect();
        let name = self.string(name);
        self.types.extend([name, 4 << 24 | u32::try_from(members.len()).unwrap(), 0]);
        self.types.extend(placed.iter().flat_map(|(name, bits)| [*name, 0, *bits]));
        self.count += 1;
        self.count
    }

    /// A tracepoint whose first parameter, after its own, is a pointer to `structure`.
    fn tracepoint(&mut self, name: &str, structure: u32) {
        let pointer = self.add("", 2, structure, &[]);
        let form = self.add("", 13, 0, &[[0, 0], [0, pointer]]);
        let pointer = self.add("", 2, form, &[]);
        self.add(&format!("btf_trace_{name}"), 8, pointer, &[]);
    }

    fn bytes(&self) -> Vec<u8> {
        let (types, strings) = (4 * self.types.len(), self.strings.len());
        let head = [1 << 16 | 0xeb9f, 24, 0, types, types, strings];
        let head = head.map(|word| u32::try_from(word).unwrap());
        let words = head.iter().chain(&self.types).flat_map(|word| word.to_ne_bytes());
        words.chain(self.strings.iter().copied()).collect()
    }
}

/// A kernel with these members, each 4 bytes after the one before, and `block_rq_issue` with a pointer
/// to `issued`.
fn kernel(members: &[Member], issued: &str) -> Vec<u8> {
    let mut types = Types::default();
    let mut structures: Vec<&str> = members.iter().map(|(structure, _)| *structure).collect();
    structures.sort_unstable();
    structures.dedup();
    for structure in structures {
        let at = (0_u32..).step_by(4);
        let own = members.iter().zip(at).filter(|((of, _), _)| *of == structure);
        let own: Vec<_> = own.map(|((_, member), at)| (*member, at)).collect();
        types.structure(structure, &own);
    }
    let issued = types.structure(issued, &[]);
    types.tracepoint("block_rq_issue", issued);
    types.bytes()
}

fn offsets() -> Vec<u32> {
    (0..36).map(|nth| 4 * nth).collect()
}

#[test]
fn linux_5_8_has_the_disk_in_the_request_the_state_without_underscores_and_the_queue_first() {
    let members = MEMBERS.map(|(member, before)| before.unwrap_or(member));
    assert!(
        members.contains(&("request", "rq_disk")) && members.contains(&("task_struct", "state"))
    );
    let bytes = kernel(&members, "request_queue");
    let found = Kernel::of(&Btf::parse(&bytes).unwrap()).unwrap();
    assert_eq!(found.offsets, offsets());
    assert!(found.disk_in_request && !found.has_uring() && !found.has_faults());
    let programs = ["sys_enter", "block_rq_issue", "block_rq_issue/after_queue"];
    assert_eq!(programs.map(|program| found.has(program)), [true, false, true]);
    let others = ["io_uring_submit_sqe", "io_uring_complete", "page_fault_user"];
    assert_eq!(others.map(|program| found.has(program)), [false; 3]);
    // The members, four words and those of io_uring.
    assert_eq!(found.constants(Select::System).len(), 4 * (36 + 3 + 10));
}

#[test]
fn later_kernels_have_the_request_first_and_the_disk_in_its_queue() {
    let members = MEMBERS.map(|(member, _)| member);
    let bytes = kernel(&members, "request");
    let found = Kernel::of(&Btf::parse(&bytes).unwrap()).unwrap();
    assert_eq!((found.offsets.clone(), found.disk_in_request), (offsets(), false));
    let programs = ["sys_enter", "block_rq_issue", "block_rq_issue/after_queue"];
    assert_eq!(programs.map(|program| found.has(program)), [true, true, false]);
}

#[test]
fn a_kernel_without_a_member_in_any_form_is_an_error_that_names_it() {
    let members = MEMBERS.map(|(member, _)| member);
    for missing in ["live", "disk"] {
        let left: Vec<_> = members.into_iter().filter(|(_, name)| *name != missing).collect();
        let bytes = kernel(&left, "request");
        let error = Kernel::of(&Btf::parse(&bytes).unwrap()).unwrap_err().to_string();
        assert!(error.contains(&format!("member {missing} of struct")), "{error}");
    }
}
