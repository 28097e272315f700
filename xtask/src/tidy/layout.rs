//! Positions of code and names of modules.

use syn::visit::{self, Visit};
use syn::{Item, ItemMod};

use super::rust_file::{Purpose, RustFile, marks_test};
use super::{Finding, Rule};

const VAGUE: [&str; 6] = ["util", "utils", "helper", "helpers", "misc", "utilities"];

pub(super) fn check(file: &RustFile<'_>, findings: &mut Vec<Finding>) {
    if file.purpose == Purpose::Production {
        check_mod_rs(file, findings);
    }
    check_name(file, findings);
    let mut modules = Modules { file, findings };
    modules.visit_file(&file.syntax);
}

fn check_mod_rs(file: &RustFile<'_>, findings: &mut Vec<Finding>) {
    if !file.path.ends_with("/mod.rs") {
        return;
    }
    let declares = |item: &&Item| match item {
        Item::Use(_) => true,
        Item::Mod(module) => module.content.is_none(),
        _ => false,
    };
    if let Some(item) = file.syntax.items.iter().find(|item| !declares(item)) {
        let line = syn::spanned::Spanned::span(item).start().line;
        let what = "logic in a mod.rs".to_owned();
        findings.push(Finding::new(Rule::ModRs, file.path, line, "", what));
    }
}

fn check_name(file: &RustFile<'_>, findings: &mut Vec<Finding>) {
    let names = file.path.split('/').map(|part| part.trim_end_matches(".rs"));
    for name in names.filter(|name| VAGUE.contains(name)) {
        findings.push(vague(file.path, 1, name));
    }
}

fn vague(path: &str, line: usize, name: &str) -> Finding {
    Finding::new(Rule::VagueName, path, line, name, format!("a module named `{name}`"))
}

struct Modules<'f, 't> {
    file: &'f RustFile<'t>,
    findings: &'f mut Vec<Finding>,
}

impl<'ast> Visit<'ast> for Modules<'_, '_> {
    fn visit_item_mod(&mut self, node: &'ast ItemMod) {
        let name = node.ident.to_string();
        let line = node.ident.span().start().line;
        if node.content.is_some() {
            if VAGUE.contains(&name.as_str()) {
                self.findings.push(vague(self.file.path, line, &name));
            }
            if self.file.purpose != Purpose::Test && node.attrs.iter().any(marks_test) {
                let what = format!("unit tests `{name}` inside a production file");
                let finding = Finding::new(Rule::InlineTests, self.file.path, line, &name, what);
                self.findings.push(finding);
            }
        }
        visit::visit_item_mod(self, node);
    }
}
