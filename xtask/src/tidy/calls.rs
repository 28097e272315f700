//! Calls that only some crates may make, found in the tokens because the arguments of macros are not
//! parsed.

use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};

use super::rust_file::{Purpose, RustFile};
use super::{Finding, Rule};

/// Rooms that talk to the terminal and the environment: the command line, this tool, and what tests
/// share.
const DOORS: [&str; 3] = ["cli", "xtask", "testing"];

const PANICKING: [(&str, &str); 4] = [
    ("unwrap", "clippy::unwrap_used"),
    ("unwrap_err", "clippy::unwrap_used"),
    ("expect", "clippy::expect_used"),
    ("expect_err", "clippy::expect_used"),
];

const PRINTING_MACROS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
const STREAMS: [&str; 3] = ["stdin", "stdout", "stderr"];

/// Functions behind the door, by the last module of their path.
const GUARDED: [(&str, &[&str]); 4] = [
    ("process", &["exit", "abort"]),
    ("runtime", &["exit_group", "exit_thread"]),
    ("libc", &["exit", "_exit", "abort", "getenv", "secure_getenv", "setenv", "putenv"]),
    (
        "env",
        &[
            "var", "var_os", "vars", "vars_os", "set_var", "remove_var", "args", "args_os",
            "temp_dir", "home_dir", "set_current_dir",
        ],
    ),
];

pub(super) fn check(file: &RustFile<'_>, findings: &mut Vec<Finding>) {
    for allow in file.allows.iter().filter(|allow| !allow.reasoned) {
        let what = format!("`{}` is switched off without a reason", allow.lint);
        let item = allow.lint.as_str();
        findings.push(Finding::new(Rule::AllowReason, file.path, allow.line, item, what));
    }
    for allow in file.allows.iter().filter(|allow| allow.lint == "missing_docs") {
        if file.purpose == Purpose::Production {
            let what = "`missing_docs` is switched off".to_owned();
            findings.push(Finding::new(Rule::Docs, file.path, allow.line, &allow.lint, what));
        }
    }
    let mut calls = Vec::new();
    scan(file.tokens.clone(), &mut calls);
    for call in calls.iter().filter(|call| !file.is_test(call.place)) {
        findings.extend(judge(file, call));
    }
}

struct Call {
    place: LineColumn,
    name: String,
    kind: Kind,
}

enum Kind {
    /// With the lint whose reasoned `allow` permits it.
    Panicking(&'static str),
    Door,
}

fn judge(file: &RustFile<'_>, call: &Call) -> Option<Finding> {
    let (rule, what) = match call.kind {
        Kind::Panicking(lint) if file.has_reason(lint, call.place) => return None,
        Kind::Panicking(_) => (Rule::Unwrap, format!("`{}` in production code", call.name)),
        Kind::Door if file.purpose == Purpose::BuildScript || DOORS.contains(&file.room()) => {
            return None;
        }
        Kind::Door => (Rule::Door, format!("`{}` outside cli", call.name)),
    };
    Some(Finding::new(rule, file.path, call.place.line, &call.name, what))
}

fn scan(tokens: TokenStream, calls: &mut Vec<Call>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => scan(group.stream(), calls),
            TokenTree::Ident(ident) => {
                let before = tokens.get(..index).unwrap_or_default();
                let after = tokens.get(index + 1..).unwrap_or_default();
                let found = found_at(&ident.to_string(), before, after);
                let place = token.span().start();
                calls.extend(found.into_iter().map(|(name, kind)| Call { place, name, kind }));
            }
            _ => {}
        }
    }
}

fn found_at(ident: &str, before: &[TokenTree], after: &[TokenTree]) -> Vec<(String, Kind)> {
    if let Some(lint) = panicking(ident, before, after) {
        return vec![(ident.to_owned(), Kind::Panicking(lint))];
    }
    if PRINTING_MACROS.contains(&ident) && calls_macro(after) {
        return vec![(format!("{ident}!"), Kind::Door)];
    }
    if STREAMS.contains(&ident) && opens_stream(before, after) {
        return vec![(format!("{ident}()"), Kind::Door)];
    }
    guarded(ident, after).into_iter().map(|name| (name, Kind::Door)).collect()
}

/// `.unwrap()` and, passed as a function, `Option::unwrap`.
fn panicking(ident: &str, before: &[TokenTree], after: &[TokenTree]) -> Option<&'static str> {
    let (_, lint) = PANICKING.into_iter().find(|(name, _)| *name == ident)?;
    let is_method =
        before.last().is_some_and(|token| is_punct(token, '.')) && parentheses(after).is_some();
    let is_path = match before {
        [.., TokenTree::Ident(owner), first, second] => {
            is_punct(first, ':')
                && is_punct(second, ':')
                && (owner == "Option" || owner == "Result")
        }
        _ => false,
    };
    (is_method || is_path).then_some(lint)
}

fn calls_macro(after: &[TokenTree]) -> bool {
    matches!(after, [bang, TokenTree::Group(_), ..] if is_punct(bang, '!'))
}

/// `stdout()` as a function, not the method that sets a child's stream.
fn opens_stream(before: &[TokenTree], after: &[TokenTree]) -> bool {
    let is_method = before.last().is_some_and(|token| is_punct(token, '.'));
    let is_definition = matches!(before.last(), Some(TokenTree::Ident(word)) if word == "fn");
    let is_call = parentheses(after).is_some_and(|arguments| arguments.is_empty());
    is_call && !is_method && !is_definition
}

/// `env::var`, `env::{var, args}` and, so that no other name hides them, `env as other`.
fn guarded(module: &str, after: &[TokenTree]) -> Vec<String> {
    let Some((_, functions)) = GUARDED.into_iter().find(|(name, _)| *name == module) else {
        return Vec::new();
    };
    let named = match after {
        [TokenTree::Ident(word), ..] if word == "as" => vec!["as".to_owned()],
        [first, second, rest, ..] if is_punct(first, ':') && is_punct(second, ':') => match rest {
            TokenTree::Ident(function) => vec![function.to_string()],
            TokenTree::Group(group) => imports(group.stream()),
            TokenTree::Punct(star) if star.as_char() == '*' => vec!["*".to_owned()],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let is_guarded = |name: &String| functions.contains(&name.as_str());
    let hides = |name: &String| module != "libc" && (name == "as" || name == "*");
    let mut names: Vec<String> =
        named.into_iter().filter(|name| is_guarded(name) || hides(name)).collect();
    names.iter_mut().for_each(|name| *name = format!("{module}::{name}"));
    names
}

/// The arguments of the call that `after` begins with.
fn parentheses(after: &[TokenTree]) -> Option<TokenStream> {
    match after.first() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
            Some(group.stream())
        }
        _ => None,
    }
}

/// The names that an import's `{…}` takes in, not those it gives; `as` stands for the module
/// renamed.
fn imports(tokens: TokenStream) -> Vec<String> {
    let ident = |token| match token {
        TokenTree::Ident(ident) => ident.to_string(),
        _ => String::new(),
    };
    let words: Vec<String> = tokens.into_iter().map(ident).collect();
    let mut names = Vec::new();
    for (index, word) in words.iter().enumerate() {
        match index.checked_sub(1).and_then(|before| words.get(before)) {
            Some(before) if before == "as" => {}
            Some(before) if word == "as" && before != "self" => {}
            _ => names.push(word.clone()),
        }
    }
    names
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}
