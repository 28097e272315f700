//! Options of mkfs that a lab must not give: they open files of the host or name other devices, and
//! the agent runs mkfs as root.

/// Argument syntax of an mkfs: the part that decides which arguments are options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MkfsOptions {
    /// Letters of short options that take a value, in the same argument or in the next.
    pub with_value: &'static str,
    /// Options that a lab must not give.
    pub refused: &'static [RefusedOption],
}

/// An option of mkfs that a lab must not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedOption {
    /// `-z`, `--rootdir`, or with a suboption `-d name`.
    pub option: &'static str,
    /// The reason: what it does, as a clause after "it".
    pub why: &'static str,
    /// The alternative for the user.
    pub remedy: &'static str,
}

impl RefusedOption {
    /// An entry of the table.
    #[must_use]
    pub const fn new(option: &'static str, why: &'static str) -> Self {
        Self {
            option,
            why,
            remedy: "leave it out: mkfs runs as root and gets the stack's device only",
        }
    }

    /// An option that places a journal, which labs do by `[[journal]]`.
    #[must_use]
    pub const fn journal(option: &'static str) -> Self {
        Self {
            option,
            why: "names another device",
            remedy: "write [[journal]] to put the journal on another device",
        }
    }

    /// The suboption, if only that is refused.
    fn suboption(&self) -> Option<&'static str> {
        self.option.split_once(' ').map(|(_, suboption)| suboption)
    }

    fn flag(&self) -> &'static str {
        self.option.split_once(' ').map_or(self.option, |(flag, _)| flag)
    }

    fn fits(&self, flag: &str, value: Option<&str>) -> bool {
        let same = match self.flag().strip_prefix("--") {
            // getopt takes every unique beginning of a long option for the option.
            Some(long) => flag.strip_prefix("--").is_some_and(|given| long.starts_with(given)),
            None => flag == self.flag(),
        };
        let names = |suboption: &str| {
            let mut given = value.unwrap_or_default().split(',');
            given.any(|one| one.split('=').next() == Some(suboption))
        };
        same && self.suboption().is_none_or(names)
    }
}

impl MkfsOptions {
    /// The first refused option among the arguments of a lab, with the index of its argument.
    pub fn find_refused<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Option<(usize, RefusedOption)> {
        let arguments: Vec<&str> = arguments.into_iter().collect();
        let mut index = 0;
        while index < arguments.len() {
            let next = arguments.get(index + 1).copied();
            let (options, takes_next) = self.split(arguments[index], next);
            for (flag, value) in &options {
                let refused = self.refused.iter().find(|refused| refused.fits(flag, *value));
                if let Some(refused) = refused {
                    return Some((index, *refused));
                }
            }
            index += if takes_next { 2 } else { 1 };
        }
        None
    }

    /// The options in one argument with their values, and true if the next argument is a value.
    fn split<'a>(
        &self,
        argument: &'a str,
        next: Option<&'a str>,
    ) -> (Vec<(String, Option<&'a str>)>, bool) {
        if argument.starts_with("--") && argument.len() > 2 {
            return match argument.split_once('=') {
                Some((flag, value)) => (vec![(flag.to_owned(), Some(value))], false),
                // Unknown here if the long option takes a value. The next argument is also read as an
                // option of its own: that refuses too much rather than too little.
                None => (vec![(argument.to_owned(), next)], false),
            };
        }
        let Some(letters) = argument.strip_prefix('-') else { return (vec![], false) };
        let mut found = Vec::new();
        for (at, letter) in letters.char_indices() {
            let flag = format!("-{letter}");
            if !self.with_value.contains(letter) {
                found.push((flag, None));
                continue;
            }
            let rest = &letters[at + letter.len_utf8()..];
            let value = if rest.is_empty() { next } else { Some(rest) };
            found.push((flag, value));
            return (found, rest.is_empty());
        }
        (found, false)
    }
}
