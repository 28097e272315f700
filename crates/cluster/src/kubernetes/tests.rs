use super::*;
use std::collections::BTreeMap;
use std::path::Path;

fn manifest() -> Manifest {
    Manifest {
        lab: "Mail: ext4 or xfs?".to_owned(),
        text: "[lab]\nname = \"Mail: ext4 or xfs?\"\n".to_owned(),
        options: vec!["--model=wd-raptor-wd740gd".to_owned(), "it's".to_owned()],
        image: "registry.example/seekwell:1".to_owned(),
        workers: 40,
        claim: None,
        storage_class: Some("nfs".to_owned()),
    }
}

/// The file shows the whole manifest; `SEEKWELL_GOLDEN=1` writes it anew.
#[test]
fn a_manifest_is_written_as_the_golden_file_has_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/manifest.yaml");
    let yaml = manifest().yaml();
    if std::env::var_os("SEEKWELL_GOLDEN").is_some() {
        std::fs::write(&path, &yaml).unwrap();
    }
    assert_eq!(yaml, std::fs::read_to_string(path).unwrap());
}

#[test]
fn names_are_host_names_of_pods() {
    let name = |lab: &str| Manifest { lab: lab.to_owned(), ..manifest() }.name();
    assert_eq!(name("Mail: ext4 or xfs?"), "seekwell-mail-ext4-or-xfs");
    assert_eq!(name("äö"), "seekwell");
    let long = name(&"long name ".repeat(20));
    assert_eq!(long, "seekwell-long-name-long-name-long-name-long-name-lon");
    assert!(long.len() + "-10000".len() <= 63);
}

#[test]
fn manifests_follow_the_rules_of_kubernetes() {
    let with_claim = Manifest { claim: Some("shared".to_owned()), ..manifest() };
    for manifest in [manifest(), with_claim] {
        assert_eq!(mistakes(&manifest.objects()), Vec::<String>::new());
    }
}

/// The schemas of Kubernetes itself, where the program that has them is installed.
#[test]
fn a_validator_finds_no_mistake() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/manifest.yaml");
    let ran = std::process::Command::new("kubernetes-validate").arg("--strict").arg(path).output();
    let Ok(output) = ran else {
        let why = "kubernetes-validate (of Python) is not installed";
        return seekwell_testing::skip("a_validator_finds_no_mistake", why);
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Each rule of the check finds its mistake.
#[test]
fn the_check_finds_mistakes() {
    let broken = |path: &str, value: Value| {
        let mut objects = manifest().objects();
        let job = objects.last_mut().unwrap();
        let (table, key) = path.rsplit_once('/').unwrap();
        job.pointer_mut(table).unwrap()[key] = value;
        mistakes(&objects)
    };
    let pod = "/spec/template/spec";
    let cases = [
        ("/spec/completion", json!(1), "Job.spec.completion: unknown field"),
        ("/spec/completions", json!("41"), "Job.spec.completions: not a number"),
        ("/spec/completionMode", json!("indexed"), "Job.spec.completionMode: \"indexed\""),
        ("/metadata/name", json!("Mail"), "Job.metadata.name: \"Mail\" is no name"),
        (
            &format!("{pod}/restartPolicy"),
            json!("OnFailure"),
            "Job: podFailurePolicy needs restartPolicy Never",
        ),
        (&format!("{pod}/volumes"), json!([]), "Job: volume lab is mounted and not there"),
    ];
    for (path, value, expected) in cases {
        let found = broken(path, value);
        assert!(found.iter().any(|one| one == expected), "{path}: {found:?}");
    }
    let mut objects = manifest().objects();
    objects.remove(1);
    assert_eq!(mistakes(&objects), ["Job: claim seekwell-mail-ext4-or-xfs is not there"]);
}

/// Type of a field.
#[derive(Clone, Copy)]
enum Of {
    Text,
    Name,
    Number,
    Flag,
    Quantity,
    Texts,
    Numbers,
    /// A text out of these.
    One(&'static [&'static str]),
    /// A table or a list of tables with these fields.
    Table(&'static [(&'static str, Of)]),
    List(&'static [(&'static str, Of)]),
    /// Any texts by name.
    Map,
    Quantities,
}

// The fields that manifests use, from the reference of the API (batch/v1, core/v1 of Kubernetes 1.31). This is a check of
// structure of our own: it knows no other fields, and no cluster has seen the manifest.
const META: &[(&str, Of)] = &[("name", Of::Name), ("labels", Of::Map)];
const CLAIM: &[(&str, Of)] = &[
    ("accessModes", Of::Texts),
    ("resources", Of::Table(&[("requests", Of::Quantities)])),
    ("storageClassName", Of::Text),
];
const CONTAINER: &[(&str, Of)] = &[
    ("name", Of::Name),
    ("image", Of::Text),
    ("command", Of::Texts),
    ("env", Of::List(&[("name", Of::Text), ("value", Of::Text)])),
    ("workingDir", Of::Text),
    ("resources", Of::Table(&[("requests", Of::Quantities), ("limits", Of::Quantities)])),
    (
        "securityContext",
        Of::Table(&[
            ("allowPrivilegeEscalation", Of::Flag),
            ("capabilities", Of::Table(&[("drop", Of::Texts)])),
            ("readOnlyRootFilesystem", Of::Flag),
        ]),
    ),
    (
        "volumeMounts",
        Of::List(&[("name", Of::Name), ("mountPath", Of::Text), ("readOnly", Of::Flag)]),
    ),
];
const VOLUME: &[(&str, Of)] = &[
    ("name", Of::Name),
    ("configMap", Of::Table(&[("name", Of::Name)])),
    ("persistentVolumeClaim", Of::Table(&[("claimName", Of::Name)])),
    ("emptyDir", Of::Table(&[("medium", Of::One(&["", "Memory"])), ("sizeLimit", Of::Quantity)])),
];
const POD: &[(&str, Of)] = &[
    ("restartPolicy", Of::One(&["Never", "OnFailure"])),
    ("automountServiceAccountToken", Of::Flag),
    (
        "securityContext",
        Of::Table(&[
            ("runAsNonRoot", Of::Flag),
            ("runAsUser", Of::Number),
            ("runAsGroup", Of::Number),
            ("fsGroup", Of::Number),
            ("fsGroupChangePolicy", Of::One(&["OnRootMismatch", "Always"])),
            ("seccompProfile", Of::Table(&[("type", Of::One(&["RuntimeDefault", "Unconfined"]))])),
        ]),
    ),
    ("containers", Of::List(CONTAINER)),
    ("volumes", Of::List(VOLUME)),
];
const FAILURES: &[(&str, Of)] = &[
    ("action", Of::One(&["Ignore", "FailJob", "FailIndex", "Count"])),
    ("onPodConditions", Of::List(&[("type", Of::Text), ("status", Of::Text)])),
    ("onExitCodes", Of::Table(&[("operator", Of::One(&["In", "NotIn"])), ("values", Of::Numbers)])),
];
const JOB: &[(&str, Of)] = &[
    ("completionMode", Of::One(&["Indexed", "NonIndexed"])),
    ("completions", Of::Number),
    ("parallelism", Of::Number),
    ("backoffLimit", Of::Number),
    ("podFailurePolicy", Of::Table(&[("rules", Of::List(FAILURES))])),
    (
        "successPolicy",
        Of::Table(&[(
            "rules",
            Of::List(&[("succeededIndexes", Of::Text), ("succeededCount", Of::Number)]),
        )]),
    ),
    ("template", Of::Table(&[("metadata", Of::Table(META)), ("spec", Of::Table(POD))])),
];
const HEAD: [(&str, Of); 3] =
    [("apiVersion", Of::Text), ("kind", Of::Text), ("metadata", Of::Table(META))];

/// Mistakes in the objects of a manifest: fields, types, values, and names of things that are not there.
fn mistakes(objects: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for object in objects {
        let kind = object["kind"].as_str().unwrap_or_default();
        let (version, rest): (&str, (&str, Of)) = match kind {
            "ConfigMap" => ("v1", ("data", Of::Map)),
            "PersistentVolumeClaim" => ("v1", ("spec", Of::Table(CLAIM))),
            "Job" => ("batch/v1", ("spec", Of::Table(JOB))),
            other => {
                found.push(format!("{other:?} is no kind"));
                continue;
            }
        };
        if object["apiVersion"] != version {
            found.push(format!("{kind}: its version is {version}"));
        }
        table(kind, object, &[HEAD.as_slice(), &[rest]].concat(), &mut found);
    }
    found.extend(missing(objects));
    found
}

fn table(path: &str, value: &Value, fields: &[(&str, Of)], found: &mut Vec<String>) {
    let known: BTreeMap<&str, Of> = fields.iter().copied().collect();
    let Some(members) = value.as_object() else {
        return found.push(format!("{path}: not a table"));
    };
    for (name, member) in members {
        let path = format!("{path}.{name}");
        match known.get(name.as_str()) {
            Some(kind) => field(&path, member, *kind, found),
            None => found.push(format!("{path}: unknown field")),
        }
    }
}

fn field(path: &str, value: &Value, kind: Of, found: &mut Vec<String>) {
    let all = |is: fn(&Value) -> bool| {
        value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(is))
    };
    let texts = |is: fn(&str) -> bool| {
        value.as_object().is_some_and(|map| map.values().all(|one| one.as_str().is_some_and(is)))
    };
    let wrong = match kind {
        Of::Table(fields) => return table(path, value, fields, found),
        Of::List(fields) => {
            let items = value.as_array().map_or(&[][..], Vec::as_slice);
            return items.iter().for_each(|item| table(path, item, fields, found));
        }
        Of::Text => (!value.is_string()).then(|| "not a text".to_owned()),
        Of::Name => {
            value.as_str().is_none_or(|name| !is_name(name)).then(|| format!("{value} is no name"))
        }
        Of::Number => (!value.is_u64()).then(|| "not a number".to_owned()),
        Of::Flag => (!value.is_boolean()).then(|| "neither true nor false".to_owned()),
        Of::Quantity => {
            value.as_str().is_none_or(|text| !is_quantity(text)).then(|| "no quantity".to_owned())
        }
        Of::Texts => (!all(Value::is_string)).then(|| "not a list of texts".to_owned()),
        Of::Numbers => (!all(Value::is_u64)).then(|| "not a list of numbers".to_owned()),
        Of::One(words) => {
            value.as_str().is_none_or(|word| !words.contains(&word)).then(|| value.to_string())
        }
        Of::Map => (!texts(|_| true)).then(|| "not a table of texts".to_owned()),
        Of::Quantities => (!texts(is_quantity)).then(|| "not a table of quantities".to_owned()),
    };
    found.extend(wrong.map(|wrong| format!("{path}: {wrong}")));
}

/// A label of DNS.
fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|byte| letter(*byte) || *byte == b'-')
        && letter(bytes[0])
        && letter(bytes[bytes.len() - 1])
}

fn is_quantity(text: &str) -> bool {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    digits.parse::<u64>().is_ok()
        && ["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "Ti"].contains(&unit)
}

/// Rules about several fields at once.
fn missing(objects: &[Value]) -> Vec<String> {
    let name_of = |kind: &str| {
        objects.iter().find(|one| one["kind"] == kind).map(|one| one["metadata"]["name"].clone())
    };
    let Some(job) = objects.iter().find(|object| object["kind"] == "Job") else {
        return vec!["no Job".to_owned()];
    };
    let mut found = Vec::new();
    let pod = &job["spec"]["template"]["spec"];
    if pod["restartPolicy"] != "Never" {
        found.push("Job: podFailurePolicy needs restartPolicy Never".to_owned());
    }
    let empty = Vec::new();
    let list = |value: &Value| value.as_array().unwrap_or(&empty).clone();
    let volumes = list(&pod["volumes"]);
    for mount in list(&pod["containers"][0]["volumeMounts"]) {
        if !volumes.iter().any(|volume| volume["name"] == mount["name"]) {
            found.push(format!(
                "Job: volume {} is mounted and not there",
                mount["name"].as_str().unwrap_or_default()
            ));
        }
    }
    for volume in &volumes {
        let claim = &volume["persistentVolumeClaim"]["claimName"];
        if claim.is_string()
            && *claim != "shared"
            && name_of("PersistentVolumeClaim").as_ref() != Some(claim)
        {
            found.push(format!("Job: claim {} is not there", claim.as_str().unwrap_or_default()));
        }
        let map = &volume["configMap"]["name"];
        if map.is_string() && name_of("ConfigMap").as_ref() != Some(map) {
            found.push("Job: its ConfigMap is not there".to_owned());
        }
    }
    found
}
