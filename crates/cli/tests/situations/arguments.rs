//! Options of mkfs and mount that read or write files of the host or name other devices, in every form in which
//! the program would take them.

use super::{Place, difference, snapshot, try_family};
use seekwell_model::filesystems::FILESYSTEMS;
use std::fs;

/// A filesystem and the line of the lab that has the option.
type Situation = (&'static str, String);

/// Each refused option, glued to its value, before it, after harmless ones and, of long ones, shortened.
fn of_mkfs() -> Vec<Situation> {
    let mut all = Vec::new();
    for definition in FILESYSTEMS {
        for refused in definition.options.refused {
            let (flag, suboption) = match refused.option.split_once(' ') {
                Some((flag, suboption)) => (flag, Some(suboption)),
                None => (refused.option, None),
            };
            let value = suboption.map_or("CANARY".to_owned(), |name| format!("{name}=CANARY"));
            let glued = if flag.starts_with("--") { "=" } else { "" };
            let mut forms = vec![
                format!("[\"{flag}\", \"{value}\"]"),
                format!("[\"{flag}{glued}{value}\"]"),
                format!("[\"-L\", \"x\", \"{flag}\", \"{value}\"]"),
            ];
            if let Some(name) = suboption {
                forms.push(format!("[\"{flag}\", \"size=64m,{name}=CANARY\"]"));
            }
            if flag.starts_with("--") && flag.len() > 6 {
                let short = &flag[..flag.len() - 2];
                forms.push(format!("[\"{short}\", \"{value}\"]"));
                forms.push(format!("[\"{short}={value}\"]"));
            }
            all.extend(forms.into_iter().map(|form| (definition.name, format!("mkfs = {form}"))));
        }
    }
    all
}

/// Mount options that name other devices, and those that labs may not give on any filesystem.
fn of_mount() -> Vec<Situation> {
    let mut all = Vec::new();
    for definition in FILESYSTEMS.iter().filter(|definition| !definition.is_raw()) {
        for name in definition.refused_mount {
            for form in [
                format!("[\"{name}=CANARY\"]"),
                format!("[\"noatime,{name}=CANARY\"]"),
                format!("[\"noatime\", \"{name}=CANARY\"]"),
            ] {
                all.push((definition.name, format!("mount = {form}")));
            }
        }
    }
    all
}

#[test]
fn options_that_reach_files_of_the_host_are_refused_by_name() {
    let all: Vec<Situation> = of_mkfs().into_iter().chain(of_mount()).collect();
    assert!(all.len() > 60, "{}", all.len());
    try_family("arguments", all, |(kind, line)| {
        attempt(kind, line).map_err(|why| format!("{kind} with {line}: {why}"))
    });
}

fn attempt(kind: &str, line: &str) -> Result<(), String> {
    let place = Place::new();
    let line = line.replace("CANARY", place.canary().to_str().unwrap());
    let text = format!(
        "[lab]\nname = \"lab\"\n[[device]]\nname = \"d\"\nram = \"512MiB\"\n[[filesystem]]\n\
         type = \"{kind}\"\n{line}\n[[workload]]\nkind = \"mail\"\nfiles = 50\n"
    );
    fs::write(place.home().join("lab.toml"), text).unwrap();
    let before = snapshot(&place.others());
    for command in ["plan", "run"] {
        let told = place.run(&[command, "lab.toml"])?;
        if let Some(what) = difference(&before, &snapshot(&place.others()), true) {
            return Err(what);
        }
        if told.code != 1 || !told.text.contains("lab.toml:") {
            return Err(format!("{command} ends with {}: {:.300}", told.code, told.text));
        }
    }
    Ok(())
}
