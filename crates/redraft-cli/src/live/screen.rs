//! The terminal: lines that are drawn over the last ones, cut to its width. Whatever happens, the cursor is shown again.

use std::io::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::terminal::Palette;

/// How words look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Good,
    Warn,
    Bad,
    Dim,
    Bold,
}

/// One line, in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(pub(crate) Vec<(Ink, String)>);

impl Line {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub(crate) fn ink(mut self, ink: Ink, words: impl Into<String>) -> Self {
        self.0.push((ink, words.into()));
        self
    }

    #[must_use]
    pub(crate) fn plain(self, words: impl Into<String>) -> Self {
        self.ink(Ink::Plain, words)
    }

    /// Returns the line cut to `width` columns, with a sign where something is missing.
    pub(crate) fn render(&self, palette: Palette, width: usize) -> String {
        let all: usize = self.0.iter().map(|(_, words)| words.width()).sum();
        let mut left = if all > width { width.saturating_sub(1) } else { width };
        let mut line = String::new();
        for (ink, words) in &self.0 {
            let mut kept = String::new();
            let mut full = false;
            for c in words.chars() {
                let columns = c.width().unwrap_or(0);
                if columns > left {
                    full = true;
                    break;
                }
                left -= columns;
                kept.push(c);
            }
            line.push_str(&paint(palette, *ink, &kept));
            if full {
                break;
            }
        }
        if all > width && width > 0 {
            line.push('…');
        }
        line
    }
}

fn paint(palette: Palette, ink: Ink, words: &str) -> String {
    match ink {
        _ if words.is_empty() => String::new(),
        Ink::Plain => words.to_owned(),
        Ink::Good => palette.good(words),
        Ink::Warn => palette.warn(words),
        Ink::Bad => palette.bad(words),
        Ink::Dim => palette.dim(words),
        Ink::Bold => palette.bold(words),
    }
}

/// The part of the terminal that is drawn over.
#[derive(Debug)]
pub(crate) struct Screen {
    palette: Palette,
    drawn: usize,
    hidden: bool,
}

const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";

impl Screen {
    pub(crate) fn new(palette: Palette) -> Self {
        Self { palette, drawn: 0, hidden: false }
    }

    /// Returns how many lines can be drawn over.
    pub(crate) fn height(&self) -> usize {
        size().1.saturating_sub(1).max(3)
    }

    /// Draws lines over the last ones, in one write so that nothing flickers.
    pub(crate) fn draw(&mut self, lines: &[Line]) {
        let (width, _) = size();
        let mut frame = String::new();
        if !self.hidden {
            frame.push_str(HIDE_CURSOR);
            self.hidden = true;
        }
        if self.drawn > 0 {
            frame.push_str(&format!("\x1b[{}A", self.drawn));
        }
        frame.push_str("\r\x1b[J");
        for line in lines {
            // The last column stays free: some terminals break the line there.
            frame.push_str(&line.render(self.palette, width.saturating_sub(1)));
            frame.push('\n');
        }
        self.drawn = lines.len();
        let mut err = std::io::stderr();
        let _ = err.write_all(frame.as_bytes());
        let _ = err.flush();
    }

    /// Leaves what was drawn, and shows the cursor.
    pub(crate) fn leave(&mut self) {
        if std::mem::take(&mut self.hidden) {
            show_cursor();
        }
        self.drawn = 0;
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Shows the cursor, whoever hid it.
pub(crate) fn show_cursor() {
    let _ = std::io::stderr().write_all(SHOW_CURSOR.as_bytes());
}

/// Returns the columns and rows of the terminal behind standard error.
fn size() -> (usize, usize) {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stderr())
        && size.ws_col > 0
    {
        return (size.ws_col.into(), size.ws_row.into());
    }
    let given = |name: &str, usual| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse().ok())
            .filter(|number| *number > 0)
            .unwrap_or(usual)
    };
    (given("COLUMNS", 80), given("LINES", 24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_the_width_of_the_terminal() {
        let plain = Palette { colored: false };
        let line = Line::new().ink(Ink::Good, "✓ ").plain("日本語の下書き");
        assert_eq!(line.render(plain, 16), "✓ 日本語の下書き");
        assert_eq!(line.render(plain, 15), "✓ 日本語の下書…");
        assert_eq!(line.render(plain, 6), "✓ 日…", "a wide sign that half fits is left out");
        assert_eq!(line.render(plain, 1), "…");
        assert_eq!(line.render(plain, 0), "");
        let colored = Palette { colored: true };
        assert_eq!(Line::new().ink(Ink::Bad, "abc").render(colored, 2), "\x1b[31ma\x1b[0m…");
    }
}
