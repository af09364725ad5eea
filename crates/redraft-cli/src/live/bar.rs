//! How far many inputs, or a download, have come: one line, drawn over.

use super::Style;
use super::screen::{Ink, Line, Screen};
use crate::terminal::Palette;

/// How wide the bar itself is.
const WIDTH: u64 = 24;

/// A bar with words behind it. It draws nothing where there is no terminal.
#[derive(Debug)]
pub(crate) struct Bar {
    screen: Option<Screen>,
}

impl Bar {
    pub(crate) fn new(style: Style, palette: Palette) -> Self {
        Self { screen: (style == Style::Tree).then(|| Screen::new(palette)) }
    }

    pub(crate) fn show(&mut self, done: u64, all: u64, words: &str) {
        if let Some(screen) = &mut self.screen {
            screen.draw(&[line(done, all, words)]);
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&mut self) {
        if let Some(screen) = &mut self.screen {
            screen.draw(&[]);
            screen.leave();
        }
    }
}

fn line(done: u64, all: u64, words: &str) -> Line {
    let full = done.min(all).saturating_mul(WIDTH).checked_div(all).unwrap_or(0);
    let count = |n: u64| usize::try_from(n).unwrap_or_default();
    Line::new()
        .ink(Ink::Good, "█".repeat(count(full)))
        .ink(Ink::Dim, "░".repeat(count(WIDTH - full)))
        .plain(format!(" {words}"))
}
