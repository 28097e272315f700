//! Paths of a trace: plain text, whose links are not followed.

/// The absolute path without `.`, `..` and doubled slashes. Links are not followed.
#[must_use]
pub fn plain(path: String) -> String {
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    if path.strip_prefix('/').is_some_and(|names| names.split('/').all(is_name)) {
        return path;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The part of a path after its folder, which begins with a slash if it is not empty.
#[must_use]
pub fn rest<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// True for a directory or file itself, and for all that is below it.
#[must_use]
pub fn is_below(path: &str, folder: &str) -> bool {
    rest(path, folder).is_some()
}

#[cfg(test)]
mod tests;
