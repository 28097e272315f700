//! Texts of symbolic links, which lead to the same file below another root and are as long as those recorded.

/// Text of this length that leads to the directory of the link itself: of a link whose target is not known.
pub(crate) fn to_own_directory(bytes: u64) -> String {
    let bytes = usize::try_from(bytes).unwrap_or(1).clamp(1, LONGEST);
    "./".repeat(bytes.div_ceil(2))[..bytes].to_owned()
}

/// Longest text that the kernel takes, bytes.
const LONGEST: usize = 4095;

/// Text that leads from the directory of `link` to `target`, both absolute and in their plain form, made as long as the
/// recorded one by `./` and doubled slashes. It is longer where the way is, and one byte shorter where one name alone
/// is short of one.
pub(crate) fn text(link: &str, target: &str, bytes: u64) -> String {
    let mut way = way(link, target);
    let bytes = usize::try_from(bytes).unwrap_or(0).min(LONGEST);
    let missing = |way: &str| bytes.saturating_sub(way.len());
    if missing(&way) % 2 == 1 {
        if let Some(at) = way.find('/') {
            way.insert(at, '/');
        } else if missing(&way) > 1 {
            way.insert_str(0, ".//");
        }
    }
    format!("{}{way}", "./".repeat(missing(&way) / 2))
}

fn way(link: &str, target: &str) -> String {
    let parts = |path: &'_ str| -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (mut from, to) = (parts(link), parts(target));
    from.pop();
    let shared = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
    let up = std::iter::repeat_n("..", from.len() - shared);
    let way: Vec<&str> = up.chain(to[shared..].iter().map(String::as_str)).collect();
    if way.is_empty() { ".".to_owned() } else { way.join("/") }
}

#[cfg(test)]
mod tests;
