//! Text that puts the pick in force: lines, systemd mount units, or Ansible tasks.

use super::{ACTIVATE, FSTAB, Permanent, RULES, SYSCTL, SYSCTL_FILE, UDEV, of_label};
use crate::answer_text::answer;
use crate::sentence::verdict_sentences;
use crate::text::harmless;
use crate::view::RunView;
use serde_json::{Value, json};

#[cfg(test)]
mod tests;

/// Form of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Commands and lines of configuration files.
    Lines,
    /// Mount units in place of lines for `/etc/fstab`.
    Systemd,
    /// A list of tasks; what destroys data runs only with the tag `once`.
    Ansible,
}

/// Text that puts the pick in force, with the way back; `None` without a pick. Nothing of it is run.
#[must_use]
pub fn applied(view: &RunView, form: Applied) -> Option<String> {
    if view.is_recording() {
        return None;
    }
    let one = of_label(view, answer(view).pick.as_ref()?)?;
    let title = match form {
        Applied::Ansible => {
            "tasks for Ansible; those that run once, such as mkfs, need --tags once,all"
        }
        Applied::Lines | Applied::Systemd => "for you to read and run",
    };
    let mut out = comment(&format!("{}: {title}", one.stack));
    out.extend(verdict_sentences(view).first().iter().flat_map(|sentence| comment(sentence)));
    out.extend(one.notes.iter().flat_map(|note| comment(&format!("Note: {note}"))));
    for (purpose, lines) in &one.steps {
        let lines: Vec<String> = lines.iter().map(|line| harmless(line)).collect();
        out.push(String::new());
        match form {
            Applied::Systemd if FSTAB.contains(purpose) => {
                out.extend(lines.iter().flat_map(|line| unit(line)));
            }
            Applied::Ansible => out.extend(tasks(purpose, &lines)),
            Applied::Lines | Applied::Systemd => {
                out.extend(comment(purpose));
                out.extend(lines);
            }
        }
    }
    out.push(String::new());
    out.extend(back(&one, form).iter().flat_map(|text| comment(&format!("To go back: {text}"))));
    Some(out.join("\n") + "\n")
}

fn comment(text: &str) -> Vec<String> {
    harmless(text).lines().map(|line| format!("# {line}")).collect()
}

/// The way back; a unit in place of a line is disabled.
fn back(one: &Permanent, form: Applied) -> Vec<String> {
    let fstab = one.steps.iter().filter(|(purpose, _)| FSTAB.contains(purpose));
    let units = fstab.flat_map(|(_, lines)| lines).filter_map(|line| Mount::of(line));
    let units: Vec<String> = units.map(|mount| mount.unit_name()).collect();
    let of_unit = |text: &String| match text.strip_prefix("remove the line from /etc/fstab") {
        Some(rest) if form == Applied::Systemd && !units.is_empty() => {
            let names = units.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(" ");
            format!("systemctl disable --now {names}, and remove the files{rest}")
        }
        _ => text.clone(),
    };
    one.back.iter().map(of_unit).collect()
}

/// The fields of a line of fstab(5), without their escapes.
struct Mount {
    what: String,
    place: String,
    kind: String,
    options: String,
    pass: String,
}

impl Mount {
    fn of(line: &str) -> Option<Self> {
        let plain = |field: &str| {
            let octal = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
            octal.iter().fold(field.to_owned(), |text, (code, plain)| text.replace(code, plain))
        };
        let mut fields = line.split(' ').map(plain);
        let [what, place, kind, options] = [(); 4].map(|()| fields.next());
        Some(Self {
            what: what?,
            place: place?,
            kind: kind?,
            options: options?,
            pass: fields.nth(1)?,
        })
    }

    /// As `systemd-escape --path` makes it from the mount point.
    fn unit_name(&self) -> String {
        let escape = |c: char| match c {
            '/' => "-".to_owned(),
            c if c.is_ascii_alphanumeric() || "_.:".contains(c) => c.to_string(),
            c => {
                let mut bytes = [0; 4];
                c.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\x{byte:02x}")).collect()
            }
        };
        format!("{}.mount", self.place.trim_matches('/').chars().map(escape).collect::<String>())
    }
}

/// The mount unit of a line for `/etc/fstab`.
fn unit(line: &str) -> Vec<String> {
    let Some(mount) = Mount::of(line) else { return vec![line.to_owned()] };
    // A percent sign begins a specifier.
    let value = |text: &str| text.replace('%', "%%");
    let target = if mount.kind.starts_with("nfs") { "remote-fs.target" } else { "local-fs.target" };
    let mut lines = comment(&format!(
        "/etc/systemd/system/{name}, then systemctl daemon-reload and systemctl enable --now '{name}'",
        name = mount.unit_name()
    ));
    lines.extend([
        "[Mount]".to_owned(),
        format!("What={}", value(&mount.what)),
        format!("Where={}", value(&mount.place)),
        format!("Type={}", mount.kind),
        format!("Options={}", value(&mount.options)),
        String::new(),
        "[Install]".to_owned(),
        format!("WantedBy={target}"),
    ]);
    lines
}

/// Tasks that run only when asked for: most destroy what is on the disk.
const ONCE: [&str; 2] = ["never", "once"];

/// The tasks of a step; lines for another machine and for each boot are left as they are. JSON is YAML, and needs no
/// rules for what a text may hold.
fn tasks(purpose: &str, lines: &[String]) -> Vec<String> {
    let file = |dest: &str| {
        let content = lines.join("\n") + "\n";
        vec![
            json!({ "name": purpose, "ansible.builtin.copy": { "dest": dest, "mode": "0644", "content": content } }),
        ]
    };
    let each = |task: &dyn Fn(&String) -> Value| lines.iter().map(task).collect();
    let all: Vec<Value> = match purpose {
        UDEV => file(RULES),
        SYSCTL => file(SYSCTL_FILE),
        ACTIVATE => each(&|line| json!({ "name": line, "ansible.builtin.command": line })),
        purpose if FSTAB.contains(&purpose) => {
            lines.iter().filter_map(|line| mounted(line)).collect()
        }
        purpose if purpose.starts_with("line") || purpose.starts_with("after every boot") => {
            return comment(purpose)
                .into_iter()
                .chain(lines.iter().flat_map(|line| comment(line)))
                .collect();
        }
        purpose => each(
            &|line| json!({ "name": format!("{purpose}: {line}"), "ansible.builtin.shell": line, "tags": ONCE }),
        ),
    };
    all.iter().map(|task| format!("- {task}")).collect()
}

fn mounted(line: &str) -> Option<Value> {
    let Mount { what, place, kind, options, pass } = Mount::of(line)?;
    let task = json!({
        "src": what, "path": place, "fstype": kind, "opts": options, "passno": pass, "state": "mounted",
    });
    Some(json!({ "name": format!("mount {place}"), "ansible.posix.mount": task }))
}
