//! How things look: colours only where they are wanted, and never meaning in colour alone.

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
