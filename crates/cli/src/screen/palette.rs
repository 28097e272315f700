//! Few colours, and numbers as bars.

use ratatui::style::{Color, Modifier, Style};

/// A title.
pub fn heading() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// Style of secondary text.
pub fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// Style of active elements.
pub fn good() -> Style {
    Style::new().fg(Color::Cyan)
}

const EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// A bar of at most `width` cells for a share of the whole.
pub fn bars(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let mut text = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        text.push(EIGHTHS[eighths % 8]);
    }
    text
}

/// Values for a sparkline: whole numbers, the largest of them about 1000.
pub fn scaled(values: impl Iterator<Item = f64> + Clone) -> Vec<u64> {
    let most = values.clone().fold(0.0, f64::max);
    let factor = if most > 0.0 { 1000.0 / most } else { 0.0 };
    values.map(|value| (value.max(0.0) * factor).round() as u64).collect()
}
