use super::*;

fn manifest_of(lab: &str) -> Result<String, SessionError> {
    manifest_with(lab, &[])
}

fn manifest_with(lab: &str, options: &[&str]) -> Result<String, SessionError> {
    let pods = InCluster {
        image: "seekwell:1".to_owned(),
        workers: 2,
        claim: Some("shared".to_owned()),
        storage_class: None,
        options: options.iter().map(|&word| word.to_owned()).collect(),
    };
    manifest(&LabText::new("lab.toml", lab), pods)
}

const LAB: &str = r#"
[lab]
name = "Mail, here"
[[device]]
name = "disk"
model = "maxtor-6y080l0"
[[filesystem]]
type = "ext4"
[[workload]]
kind = "mail"
files = 60
[judge]
metric = "unpack.elapsed_durable"
rounds = 6
"#;

#[test]
fn the_text_of_the_lab_is_in_the_manifest_as_it_is() {
    let yaml = manifest_of(LAB).unwrap();
    let indented: String = LAB
        .lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") })
        .collect();
    assert!(yaml.contains(&format!("  lab.toml: |2+\n{indented}")), "{yaml}");
    assert!(yaml.contains("name: seekwell-mail-here\n"), "{yaml}");
    assert!(!yaml.contains("PersistentVolumeClaim"), "the claim is there already: {yaml}");
}

#[test]
fn a_lab_that_names_files_is_refused() {
    let message = |lab: &str| manifest_of(lab).unwrap_err().to_string();
    let device = message(&LAB.replace("maxtor-6y080l0", "mine/disk.toml@sata"));
    assert_eq!(
        device,
        "the lab names the file mine/disk.toml, and a manifest holds the text of the lab alone; use a device from \
         seekwell device list, or add the file to the image and run the lab there"
    );
    let wrong = message("[lab]\n");
    assert!(wrong.contains("lab.toml"), "{wrong}");
}

#[test]
fn a_lab_on_a_device_of_the_host_needs_a_model() {
    let lab = LAB.replace("model = \"maxtor-6y080l0\"", "loop = \"1GiB\"");
    assert_eq!(
        manifest_of(&lab).unwrap_err().to_string(),
        "disk is a device of the host, and pods run trials in guests; write model = \"NAME\" into the lab \
         (seekwell device list), or add --model NAME to the manifest's options"
    );
    let replaced = manifest_with(&lab, &["--model", "maxtor-6y080l0"]).unwrap();
    assert!(replaced.contains("maxtor-6y080l0"), "{replaced}");
    assert!(manifest_with(&lab, &["--place", "host"]).is_ok(), "the disks of the nodes");
}
