use super::*;

fn layer(kind: &str, devices: u32, fast: Option<Backing>) -> Layer {
    Layer::new(layer_kind(kind).unwrap(), Some(devices), fast, &Values::default())
}

fn ram() -> Backing {
    Backing::Ram { size: Bytes::gib(1), sector: Bytes(512) }
}

fn below(nodes: &[&str], sectors: u64) -> Vec<Below> {
    nodes.iter().map(|node| Below { node: (*node).to_owned(), sectors }).collect()
}

fn lines(actions: &[Action]) -> Vec<String> {
    let line = |action: &Action| match action {
        Action::Run { program, arguments, input } => {
            format!("{program} {} {input}", arguments.join(" ")).trim_end().to_owned()
        }
        Action::Set { path, value } => format!("{value} > {path}"),
    };
    actions.iter().map(line).collect()
}

#[test]
fn names_and_kinds_are_the_same_list() {
    let kinds = LAYER_KINDS.iter().map(|kind| kind.definition().name);
    let names: Vec<&str> = std::iter::once(NO_LAYER).chain(kinds).collect();
    assert_eq!(LAYER_NAMES, names);
    assert!(layer_kind(NO_LAYER).is_none());
    assert!(layer_kind("raid7").is_none());
}

#[test]
fn every_kind_says_all_of_itself() {
    for kind in LAYER_KINDS {
        let definition = kind.definition();
        let name = definition.name;
        assert!(definition.doc.ends_with('.'), "{name}");
        let devices = definition.least_devices..=definition.most_devices;
        assert!(devices.contains(&definition.usual_devices), "{name}");
        assert!(definition.kernel_config.starts_with("CONFIG_"), "{name}");
        for field in definition.fields {
            assert!(field.doc.ends_with('.'), "{name}.{}", field.name);
            assert!(field.default.is_none() || field.default_value().is_some(), "{name}");
        }
    }
}

#[test]
fn what_is_brought_up_last_is_taken_down_first() {
    for kind in LAYER_KINDS {
        let name = kind.definition().name;
        let layer = layer(name, kind.definition().usual_devices, Some(ram()));
        let devices = below(&["/dev/a", "/dev/b", "/dev/c", "/dev/d"], 1 << 20);
        let fast = &below(&["/dev/f"], 1 << 18)[0];
        let site = Site { layer: &layer, index: 3, below: &devices, fast: Some(fast) };
        let created = |actions: &[Action], word: &str| -> Vec<String> {
            let named = |action: &Action| match action {
                Action::Run { program: "dmsetup", arguments, .. } if arguments[0] == word => {
                    let name = arguments.iter().find(|text| text.starts_with("seekwell"));
                    Some(name.unwrap().clone())
                }
                _ => None,
            };
            actions.iter().filter_map(named).collect()
        };
        let mut up = created(&kind.make(&site), "create");
        up.reverse();
        assert_eq!(up, created(&kind.close(&site), "remove"), "{name}");
        up.reverse();
        assert_eq!(up, created(&kind.open(&site), "create"), "{name}");
        assert!(kind.node(&site).starts_with("/dev/"), "{name}");
        assert!(!kind.close(&site).is_empty(), "{name}");
    }
}

#[test]
fn the_arguments_of_mdadm_are_those_of_a_person() {
    let layer = layer("raid5", 3, None);
    let devices = below(&["/dev/vda", "/dev/vdb", "/dev/vdc"], 1 << 20);
    let site = Site { layer: &layer, index: 0, below: &devices, fast: None };
    let kind = layer.find().unwrap();
    assert_eq!(
        lines(&kind.make(&site)),
        [
            "mdadm --create /dev/md0 --run --quiet --homehost=any --name=seekwell-0 --assume-clean --level=5 --raid-devices=3 --metadata=1.2 --chunk=512K --bitmap=internal /dev/vda /dev/vdb /dev/vdc",
            "256 > /sys/block/md0/md/stripe_cache_size",
        ]
    );
    assert_eq!(
        kind.lasting(&site).steps[0].1,
        [
            "mdadm --create /dev/md0 --level=5 --raid-devices=3 --metadata=1.2 --chunk=512K --bitmap=internal /dev/vda /dev/vdb /dev/vdc"
        ]
    );
}

#[test]
fn an_array_without_a_device_is_made_without_it_and_rebuilt_on_it() {
    let devices = below(&["/dev/vda", "/dev/vdb"], 1 << 20);
    let of = |state: &str| {
        let mut values = Values::default();
        values.set("state", Value::Text(state.to_owned()));
        Layer::new(layer_kind("raid1").unwrap(), None, None, &values)
    };
    for (state, open, added) in [
        ("degraded", "/dev/vda", None),
        ("rebuilding", "/dev/vda /dev/vdb", Some("mdadm --manage --quiet /dev/md0 --add /dev/vdb")),
    ] {
        let layer = of(state);
        let site = Site { layer: &layer, index: 0, below: &devices, fast: None };
        let kind = layer.find().unwrap();
        let made = lines(&kind.make(&site));
        assert!(made[0].ends_with(" --bitmap=internal /dev/vda missing"), "{}", made[0]);
        assert_eq!(made.get(1).map(String::as_str), added);
        let line = format!("mdadm --assemble /dev/md0 --run --quiet {open}");
        assert_eq!(lines(&kind.open(&site)), [line]);
        let forced = format!("mdadm --assemble /dev/md0 --run --quiet --force {open}");
        assert_eq!(lines(&kind.recover(&site)), [forced]);
        assert!(kind.lasting(&site).steps[0].1[0].ends_with(" /dev/vda /dev/vdb"));
    }
}

#[test]
fn an_array_whose_device_fails_in_a_cut_is_whole_before_it() {
    let devices = below(&["/dev/vda", "/dev/vdb", "/dev/vdc"], 1 << 20);
    let of = |state: &str| {
        let mut values = Values::default();
        values.set("state", Value::Text(state.to_owned()));
        Layer::new(layer_kind("raid5").unwrap(), Some(3), None, &values)
    };
    let (failing, whole) = (of("fails-in-cut"), of("whole"));
    let site = |layer| Site { layer, index: 0, below: &devices, fast: None };
    let kind = failing.find().unwrap();
    assert_eq!(kind.make(&site(&failing)), kind.make(&site(&whole)));
    assert_eq!(kind.open(&site(&failing)), kind.open(&site(&whole)));
    assert_eq!(kind.recover(&site(&whole)), kind.open(&site(&whole)));
    let recovered = "mdadm --assemble /dev/md0 --run --quiet --force /dev/vda /dev/vdb";
    assert_eq!(lines(&kind.recover(&site(&failing)))[0], recovered);
}

#[test]
fn tables_of_the_device_mapper_cover_whole_chunks() {
    let striped = layer("striped", 3, None);
    let devices = below(&["/dev/vda", "/dev/vdb", "/dev/vdc"], 1000);
    let site = Site { layer: &striped, index: 1, below: &devices, fast: None };
    assert_eq!(
        lines(&striped.find().unwrap().make(&site)),
        [
            "dmsetup create seekwell-1 --noudevsync 0 2688 striped 3 128 /dev/vda 0 /dev/vdb 0 /dev/vdc 0"
        ]
    );
    let cache = layer("cache", 1, Some(ram()));
    let fast = &below(&["/dev/vdb"], 1 << 20)[0];
    let site = Site { layer: &cache, index: 0, below: &devices[..1], fast: Some(fast) };
    // 8,192 chunks of 64 KiB: 5 MiB of metadata.
    assert_eq!(
        lines(&cache.find().unwrap().make(&site)),
        [
            "dmsetup create seekwell-0-meta --noudevsync 0 10240 linear /dev/vdb 0",
            "dd if=/dev/zero of=/dev/mapper/seekwell-0-meta bs=4096 count=1 conv=fsync,nocreat status=none",
            "dmsetup create seekwell-0-fast --noudevsync 0 1038336 linear /dev/vdb 10240",
            "dmsetup create seekwell-0 --noudevsync 0 1000 cache /dev/mapper/seekwell-0-meta /dev/mapper/seekwell-0-fast /dev/vda 128 1 writethrough smq 0",
        ]
    );
}

#[test]
fn a_layer_over_several_needs_the_devices_of_all() {
    // Three devices, each enciphered, joined to a RAID 5 with a cache.
    let parts =
        vec![layer("crypt", 1, None), layer("raid5", 3, None), layer("cache", 1, Some(ram()))];
    let layers = Layers { name: "all".to_owned(), parts };
    assert_eq!(layers.devices(), 3);
    assert_eq!(layers.fast().len(), 1);
    let cached = Layers {
        name: "each".to_owned(),
        parts: vec![layer("cache", 1, Some(ram())), layer("raid1", 2, None)],
    };
    assert_eq!((cached.devices(), cached.fast().len()), (2, 2));
    let size = |backing: &Backing| backing.size();
    let usable = layers.usable(Bytes::gib(1), &size).unwrap();
    assert_eq!(usable, Bytes(2 * (Bytes::gib(1).0 - Bytes::mib(16).0)));
    let nodes = below(&["/dev/DISK-1", "/dev/DISK-2", "/dev/DISK-3"], 1 << 21);
    let (steps, top) = lasting(&layers, &nodes, &below(&["/dev/FAST-DISK"], 1 << 18)).unwrap();
    assert_eq!(steps.len(), 5);
    assert_eq!(top, "/dev/seekwell/data");
    let nodes: Vec<&str> = steps.iter().map(|step| step.node.as_str()).collect();
    let volumes = ["/dev/mapper/data", "/dev/mapper/data1", "/dev/mapper/data2"];
    assert_eq!(nodes, [&volumes[..], &["/dev/md0", "/dev/seekwell/data"]].concat());
    assert_eq!(steps[2].steps[0].1[1], "cryptsetup open /dev/DISK-3 data2");
    assert!(steps[3].steps[0].1[0].ends_with(&volumes.join(" ")));
}

/// Lines with the name of another layer would stop half-way, on disks that are already destroyed.
#[test]
fn no_two_layers_that_last_have_the_same_name() {
    for kind in LAYER_KINDS {
        let definition = kind.definition();
        let fast = matches!(definition.fast, Fast::Must(_)).then(ram);
        let part = layer(definition.name, 1.max(definition.least_devices), fast);
        let devices = part.devices * 2;
        let parts = vec![part, layer("crypt", 1, None), layer("integrity", 1, None)];
        let parts = [parts, vec![layer("striped", 2, None), layer("thin", 1, None)]].concat();
        let layers = Layers { name: "all".to_owned(), parts };
        let names: Vec<String> = (0..devices).map(|number| format!("/dev/DISK-{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let fast = below(&["/dev/FAST-0", "/dev/FAST-1"], 1 << 18);
        let (found, _) = lasting(&layers, &below(&names, 1 << 21), &fast).unwrap();
        let nodes: std::collections::BTreeSet<&str> =
            found.iter().map(|one| one.node.as_str()).collect();
        assert_eq!((found.len(), nodes.len()), (8, 8), "{}: {nodes:?}", definition.name);
        let made =
            ["pvcreate", "vgcreate", "cryptsetup open", "integritysetup open", "mdadm --create"];
        let mut lines: Vec<&String> = found.iter().flat_map(|one| &one.steps[0].1).collect();
        lines.retain(|line| made.iter().any(|start| line.starts_with(start)));
        let distinct: std::collections::BTreeSet<&String> = lines.iter().copied().collect();
        assert_eq!(distinct.len(), lines.len(), "{lines:?}");
    }
}

#[test]
fn labs_and_run_files_without_layers_are_as_before() {
    let text = r#"{"name":"none","parts":[]}"#;
    assert_eq!(serde_json::to_string(&Layers::default()).unwrap(), text);
    assert!(Layers::default().is_default());
    let named = Layers { name: "plain".to_owned(), parts: Vec::new() };
    assert!(named.is_empty() && !named.is_default());
}

/// Steps of every kind with its default options, as they are told in `permanent`.
#[test]
fn every_kind_tells_how_it_is_made_to_last() {
    let mut text = String::new();
    for kind in LAYER_KINDS {
        let definition = kind.definition();
        let fast = matches!(definition.fast, Fast::Must(_)).then(ram);
        let layer = layer(definition.name, definition.usual_devices, fast.clone());
        let nodes = ["/dev/DISK1", "/dev/DISK2", "/dev/DISK3", "/dev/DISK4"];
        let devices = below(&nodes[..definition.usual_devices as usize], 1 << 21);
        let ssd = fast.map(|_| below(&["/dev/SSD"], 1 << 18).remove(0));
        let site = Site { layer: &layer, index: 0, below: &devices, fast: ssd.as_ref() };
        let lasting = kind.lasting(&site);
        text.push_str(&format!("{}: {}\n", definition.name, lasting.node));
        for (purpose, lines) in &lasting.steps {
            text.push_str(&format!("  {purpose}\n"));
            lines.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
        }
    }
    assert_eq!(text, include_str!("lasting.txt"), "{text}");
}
