use super::*;

fn object() -> Option<object::File<'static>> {
    (!OBJECT.0.is_empty()).then(|| object::File::parse(&OBJECT.0).unwrap())
}

/// The reason why Linux 5.8 does not know an instruction.
fn newer(instruction: &[u8; 8]) -> Option<&'static str> {
    let [operation, registers, offset @ .., a, b, c, d] = *instruction;
    let (class, source) = (operation & 7, registers >> 4);
    let (mode, kind) = (operation & 0xe0, operation & 0xf0);
    let number = i32::from_ne_bytes([a, b, c, d]);
    match class {
        0 if operation != 0x18 => Some("a load from a packet"),
        1 | 2 if mode != 0x60 => Some("a load that extends the sign"),
        3 if mode == 0xc0 && number != 0 => Some("an atomic operation that is no addition"),
        4 | 7 if offset != [0, 0] || (class == 7 && kind == 0xd0) => Some("signed arithmetic"),
        // The last helper of 5.8 is `csum_level`.
        5 if operation == 0x85 && (source != 0 || !(1..=135).contains(&number)) => Some("a call"),
        6 if kind == 0 => Some("a long jump"),
        _ => None,
    }
}

#[test]
fn the_programs_use_nothing_that_is_newer_than_linux_5_8() {
    let Some(object) = object() else {
        let test = "the_programs_use_nothing_that_is_newer_than_linux_5_8";
        return seekwell_testing::skip(test, "the build had no clang");
    };
    let mut count = 0;
    for section in object.sections().filter(|section| section.kind() == object::SectionKind::Text) {
        let code = section.data().unwrap();
        let mut is_second = false;
        for (at, instruction) in code.as_chunks::<8>().0.iter().enumerate() {
            // The second half of a load of 64 bits is no instruction.
            let found = if is_second { None } else { newer(instruction) };
            is_second = !is_second && instruction[0] == 0x18;
            assert_eq!(found, None, "{:?}, instruction {at}", section.name());
            count += 1;
        }
    }
    assert!(count > 1000, "{count}");
    // An atomic exchange, a signed division and a call of another program.
    assert!(newer(&[0xdb, 0x16, 0, 0, 0xe1, 0, 0, 0]).is_some());
    assert!(newer(&[0x37, 0x01, 1, 0, 2, 0, 0, 0]).is_some());
    assert!(newer(&[0x85, 0x10, 0, 0, 2, 0, 0, 0]).is_some());
}

#[test]
fn the_programs_of_earlier_kernels_are_accepted() {
    let test = "the_programs_of_earlier_kernels_are_accepted";
    let (Some(object), Ok(vmlinux), true) =
        (object(), std::fs::read(VMLINUX), seekwell_testing::root())
    else {
        return seekwell_testing::skip(
            test,
            "needs root, clang at the build and a kernel with BTF",
        );
    };
    let btf = Btf::parse(&vmlinux).unwrap();
    let mut earlier = Kernel::of(&btf).unwrap();
    earlier.disk_in_request = true;
    let loaded = match Loaded::with_maps(&object, &earlier, Select::Chosen, 4096) {
        Err(error @ CaptureError::Bpf { .. }) => {
            return seekwell_testing::skip(test, &error.to_string());
        }
        loaded => loaded.unwrap(),
    };
    // Here the tracepoint has no second argument; another one of requests has.
    let cases = [
        ("block_rq_issue/after_queue", "block_rq_remap"),
        ("block_rq_complete", "block_rq_complete"),
    ];
    for (program, tracepoint) in cases {
        let section = object.section_by_name(&format!("tp_btf/{program}")).unwrap();
        loaded.code(&btf, &object, &section, tracepoint).unwrap().load().unwrap();
    }
}

/// Number of this thread.
fn own_thread() -> u32 {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// Records of type 1, calls, of this thread while it makes some.
fn calls_of(loaded: &mut Loaded, thread: u32) -> usize {
    for _ in 0..100 {
        let _ = std::fs::metadata("/");
    }
    let mut count = 0;
    for ring in &mut loaded.rings {
        ring.drain(|record| {
            let word = |at: usize| u32::from_ne_bytes(record[at..at + 4].try_into().unwrap());
            count += usize::from(word(0) == 1 && word(28) == thread);
        });
    }
    count
}

#[test]
fn a_thread_whose_place_is_taken_is_recorded_until_it_is_left() {
    let test = "a_thread_whose_place_is_taken_is_recorded_until_it_is_left";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to load eBPF programs");
    }
    let mut loaded = match load(Select::Chosen, 1 << 20, false) {
        Ok(loaded) => loaded,
        Err(
            error
            @ (CaptureError::NotBuilt | CaptureError::Btf { .. } | CaptureError::Architecture),
        ) => {
            return seekwell_testing::skip(test, &error.to_string());
        }
        Err(error) => panic!("{error}"),
    };
    let (own, other) = (own_thread(), own_thread() + PLACES);
    for is_taken in [false, true] {
        if is_taken {
            loaded.choose(other).unwrap();
        }
        loaded.choose(own).unwrap();
        loaded.attach().unwrap();
        assert!(calls_of(&mut loaded, own) >= 100, "{is_taken}");
        loaded.leave(own).unwrap();
        calls_of(&mut loaded, own);
        assert_eq!(calls_of(&mut loaded, own), 0, "{is_taken}");
        loaded.detach();
    }
    // What is at the place is still there.
    assert_eq!(loaded.place(own).unwrap().1, other);
}

#[test]
fn places_and_threads_are_those_of_the_programs() {
    let Some(object) = object() else {
        let test = "places_and_threads_are_those_of_the_programs";
        return seekwell_testing::skip(test, "the build had no clang");
    };
    let maps = object.section_by_name("maps").unwrap();
    let at = object.symbol_by_name("threads").unwrap().address() as usize;
    let words = maps.data().unwrap()[at..at + 16].as_chunks::<4>().0;
    let [_, _, bytes, places] = [0, 1, 2, 3].map(|nth| u32::from_ne_bytes(words[nth]));
    assert_eq!((bytes as usize, places), (THREAD_BYTES, PLACES));
}
