//! How things look: colours only where they are wanted, and never meaning in colour alone.

use std::borrow::Cow;
use std::io::IsTerminal;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorChoice {
    /// Decides for a stream. `NO_COLOR` and `TERM=dumb` say no, `CLICOLOR_FORCE` says yes; a flag is stronger than both.
    pub(crate) fn wanted(self, stream: &impl IsTerminal) -> bool {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if set("NO_COLOR") => false,
            Self::Auto if set("CLICOLOR_FORCE") => true,
            Self::Auto => stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        }
    }
}

/// Takes the teeth out of a text from outside: control characters other than line breaks and tabs never reach a
/// terminal.
pub(crate) fn tame(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return text.into();
    }
    text.chars().map(|c| if is_harmless(c) { c } else { '\u{fffd}' }).collect::<String>().into()
}

fn is_harmless(c: char) -> bool {
    !c.is_control() || matches!(c, '\n' | '\t')
}

/// The same for a text that we have painted: plain colours pass.
pub(crate) fn tame_painted(text: &str) -> String {
    let mut tamed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        // Nothing but plain colours: `ESC [ digits and semicolons m`.
        let colour = rest.strip_prefix("\u{1b}[").and_then(|code| {
            let end = code.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            code[end..].starts_with('m').then_some(end + 3)
        });
        let taken = colour.unwrap_or(c.len_utf8());
        if colour.is_some() || is_harmless(c) {
            tamed.push_str(&rest[..taken]);
        } else {
            tamed.push('\u{fffd}');
        }
        rest = &rest[taken..];
    }
    tamed
}

/// Makes one line of a text: no control characters, no line breaks, no colours.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Paints words, or leaves them as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    pub(crate) colored: bool,
}

impl Palette {
    fn paint(self, code: &str, words: &str) -> String {
        if self.colored { format!("\x1b[{code}m{words}\x1b[0m") } else { words.to_owned() }
    }

    pub(crate) fn good(self, words: &str) -> String {
        self.paint("32", words)
    }

    pub(crate) fn warn(self, words: &str) -> String {
        self.paint("33", words)
    }

    pub(crate) fn bad(self, words: &str) -> String {
        self.paint("31", words)
    }

    pub(crate) fn dim(self, words: &str) -> String {
        self.paint("2", words)
    }

    pub(crate) fn bold(self, words: &str) -> String {
        self.paint("1", words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_reach_a_terminal() {
        let cases = [
            ("plain\ttext\n", "plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m", "\u{fffd}[31mred\u{fffd}[0m", "\u{1b}[31mred\u{1b}[0m"),
            ("\u{1b}[2Jgone\u{7}", "\u{fffd}[2Jgone\u{fffd}", "\u{fffd}[2Jgone\u{fffd}"),
            ("\u{1b}]0;title\u{7}", "\u{fffd}]0;title\u{fffd}", "\u{fffd}]0;title\u{fffd}"),
            ("over\rwritten \u{9b}31m", "over\u{fffd}written \u{fffd}31m", "over\u{fffd}written \u{fffd}31m"),
        ];
        for (text, tamed, painted) in cases {
            assert_eq!(tame(text), tamed);
            assert_eq!(tame_painted(text), painted);
        }
        assert_eq!(one_line(" a\n\u{1b}[1mb \t c "), "a \u{fffd}[1mb c");
    }
}
