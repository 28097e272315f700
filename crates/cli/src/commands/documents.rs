//! Documents generated from the definitions of the arguments: completions, man pages, the command
//! reference.

mod reference;

use crate::args::{self, CompletionsArgs, DocumentsArgs, HelpArgs};
use crate::failure::{Exit, Failure};
use crate::{output, terminal};
use clap_complete::Shell;
use seekwell_host::output::Kind;
use std::path::{Path, PathBuf};

/// Directories below `share` in which each shell looks for completions.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/seekwell"),
    (Shell::Zsh, "zsh/site-functions/_seekwell"),
    (Shell::Fish, "fish/vendor_completions.d/seekwell.fish"),
];

/// Prints the completions of a shell.
///
/// # Errors
/// None so far.
pub fn completions(arguments: &CompletionsArgs) -> Result<Exit, Failure> {
    terminal::data(&completion_text(arguments.shell));
    Ok(Exit::Done)
}

fn completion_text(shell: Shell) -> String {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut visible(), "seekwell", &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The command line without what the program starts itself.
fn visible() -> clap::Command {
    let all = args::documented();
    let commands: Vec<clap::Command> =
        all.get_subcommands().filter(|one| !one.is_hide_set()).cloned().collect();
    let about = all.get_about().cloned().unwrap_or_default();
    clap::Command::new("seekwell").about(about).version(all.render_version()).subcommands(commands)
}

/// Prints the help of a command with all of its options.
///
/// # Errors
/// When there is no such command.
pub fn help(arguments: &HelpArgs) -> Result<Exit, Failure> {
    let help = args::whole(&arguments.words);
    if help.use_stderr() {
        let name = arguments.words.join(" ");
        return Err(Failure::Usage(format!("no command is named '{name}'; see seekwell --help")));
    }
    // A closed pipe is the reader's choice.
    let _ = help.print();
    Ok(Exit::Done)
}

/// Prints the reference, or writes man pages and completions.
///
/// # Errors
/// When a file cannot be written.
pub fn documents(arguments: &DocumentsArgs) -> Result<Exit, Failure> {
    if arguments.schema {
        terminal::data(&seekwell_report::json_schema());
        return Ok(Exit::Done);
    }
    if arguments.reference {
        terminal::data(&reference::markdown(&args::documented()));
        return Ok(Exit::Done);
    }
    let Some(directory) = &arguments.directory else {
        return Err(Failure::Usage("name a directory, or --reference".to_owned()));
    };
    for (shell, path) in COMPLETIONS {
        write(&directory.join(path), completion_text(shell).as_bytes())?;
    }
    for (name, page) in man_pages()? {
        write(&directory.join("man/man1").join(name), &page)?;
    }
    Ok(Exit::Done)
}

/// One page for the program, one per visible command and one per command of a group.
fn man_pages() -> Result<Vec<(PathBuf, Vec<u8>)>, Failure> {
    fn below(
        name: String,
        command: &clap::Command,
        pages: &mut Vec<(PathBuf, Vec<u8>)>,
    ) -> Result<(), Failure> {
        let is_shown = |one: &&clap::Command| !one.is_hide_set() && one.get_name() != "help";
        for one in command.get_subcommands().filter(is_shown) {
            below(format!("{name}-{}", one.get_name()), one, pages)?;
        }
        pages.push(page(name, command.clone())?);
        Ok(())
    }
    let mut all = args::documented();
    all.build();
    let mut pages = Vec::new();
    below("seekwell".to_owned(), &all, &mut pages)?;
    Ok(pages)
}

fn page(name: String, command: clap::Command) -> Result<(PathBuf, Vec<u8>), Failure> {
    let mut bytes = Vec::new();
    let file = PathBuf::from(format!("{name}.1"));
    clap_mangen::Man::new(command)
        .title(name)
        .render(&mut bytes)
        .map_err(|error| Failure::Error(format!("cannot make {}: {error}", file.display())))?;
    Ok((file, bytes))
}

/// A page of an earlier version is replaced, marked or not.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::Error(format!("cannot make the folder {}: {error}", folder.display()))
    })?;
    output::silently(path, Kind::Document, bytes, true)
}
