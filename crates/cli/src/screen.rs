//! The terminal as a screen: entered, drawn and always given back.
//!
//! Drawn on standard error, so that standard output stays data. Signals from the keyboard stay as
//! they are: Ctrl-C reaches the whole process group.

mod palette;

pub use palette::{bars, dim, good, heading, scaled};

use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write, stderr};
use std::os::fd::AsFd;
use std::time::Duration;

/// The alternate screen, without a cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
/// The cursor, the colours and the usual screen.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// Terminals below this many columns and lines get lines instead.
const LEAST: (u16, u16) = (60, 16);

/// Original state of a terminal; another process than the one that changed it can restore it.
#[derive(Clone)]
pub struct Before(Termios);

impl Before {
    /// The settings of the terminal on standard error.
    ///
    /// # Errors
    /// When it is no terminal.
    pub fn read() -> io::Result<Self> {
        Ok(Self(rustix::termios::tcgetattr(stderr())?))
    }

    /// Gives the terminal back: settings, cursor, usual screen.
    pub fn restore(&self) {
        // A terminal that is gone needs nothing.
        let _ = stderr().lock().write_all(LEAVE);
        let _ = rustix::termios::tcsetattr(stderr(), OptionalActions::Now, &self.0);
    }
}

/// Returns true if standard error can be a screen.
pub fn possible() -> bool {
    let large = rustix::termios::tcgetwinsize(stderr())
        .is_ok_and(|size| size.ws_col >= LEAST.0 && size.ws_row >= LEAST.1);
    stderr().is_terminal() && large && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// The first of these texts that fits a width, else the last, which is the shortest.
pub fn fitting(texts: &[String], width: u16) -> String {
    let fits = |text: &&String| text.chars().count() <= usize::from(width);
    texts.iter().find(fits).or(texts.last()).cloned().unwrap_or_default()
}

/// The lines of a text that is wrapped to a width.
pub fn lines_of(text: &str, width: u16) -> Vec<String> {
    let text = crate::terminal::fitted(text, 2, Some(usize::from(width).max(20)));
    text.lines().map(str::to_owned).collect()
}

/// A terminal that is a screen until this is dropped, also by a panic.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<File>>,
    keys: File,
    before: Before,
    area: Rect,
}

impl Screen {
    /// Takes the terminal on standard error.
    ///
    /// # Errors
    /// When it is none.
    pub fn open() -> io::Result<Self> {
        let before = Before::read()?;
        let mut settings = before.0.clone();
        settings.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        // A stopped process could not give the terminal back.
        settings.special_codes[SpecialCodeIndex::VSUSP] = 0;
        let duplicate = || Ok::<_, io::Error>(File::from(stderr().as_fd().try_clone_to_owned()?));
        let mut output = duplicate()?;
        let keys = duplicate()?;
        give_back_on_panic(before.clone());
        rustix::termios::tcsetattr(stderr(), OptionalActions::Now, &settings)?;
        output.write_all(ENTER)?;
        let area = area()?;
        let options = TerminalOptions { viewport: Viewport::Fixed(area) };
        let terminal = Terminal::with_options(CrosstermBackend::new(output), options)?;
        Ok(Self { terminal, keys, before, area })
    }

    /// Draws one frame over the whole terminal.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let area = area()?;
        if area != self.area {
            self.area = area;
            self.terminal.resize(area)?;
            self.terminal.clear()?;
        }
        self.terminal.draw(draw)?;
        Ok(())
    }

    /// Waits for a key, at most so long. Only single characters are recognised.
    pub fn key(&mut self, wait: Duration) -> Option<char> {
        let mut ready = [PollFd::new(&self.keys, PollFlags::IN)];
        let wait = Timespec {
            tv_sec: wait.as_secs().try_into().unwrap_or(1),
            tv_nsec: i64::from(wait.subsec_nanos()),
        };
        if !poll(&mut ready, Some(&wait)).is_ok_and(|count| count > 0) {
            return None;
        }
        let mut byte = [0];
        match self.keys.read(&mut byte) {
            Ok(1) => Some(char::from(byte[0])),
            // A terminal that cannot be read from must not become a busy loop.
            _ => {
                std::thread::sleep(Duration::from_millis(100));
                None
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.before.restore();
    }
}

fn area() -> io::Result<Rect> {
    let size = rustix::termios::tcgetwinsize(stderr())?;
    Ok(Rect::new(0, 0, size.ws_col.max(1), size.ws_row.max(1)))
}

/// The message of a panic is to be read on the usual screen.
fn give_back_on_panic(before: Before) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        before.restore();
        usual(info);
    }));
}
