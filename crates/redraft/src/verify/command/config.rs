//! What spec files say about a command.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sandbox::{Environment, Isolation, Limits, Sandbox};
use crate::verify::files::Globs;
use crate::verify::output::Format;

/// A program that judges a draft by its exit code and its output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandConfig {
    /// What is run: a line for the shell, or a program with its arguments.
    pub run: Line,
    /// The file that the draft becomes. A draft that names files itself becomes those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Hands the draft over on standard input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stdin: bool,
    /// A folder that is copied first; the files of the draft are laid over the copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Files that a draft may not write: the tests above all.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub protected: Globs,
    /// How the output is read.
    #[serde(default)]
    pub format: Format,
    /// How the program is held.
    #[serde(flatten)]
    pub held: Held,
}

/// How a program is held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// `off` runs it with nothing to hold it, and the result says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Switch>,
    /// How long it may take, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// How much memory all its processes together may hold, in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// How many processes it may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Folders and files that it may read besides the system's and the toolchains'.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readable: Vec<PathBuf>,
    /// Variables of the environment that are passed on besides the harmless ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
}

/// A line for the shell, or a program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Line {
    /// For the shell.
    Shell(String),
    /// A program with its arguments.
    Program(Vec<String>),
}

/// On or off; YAML may read either as a truth value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "SwitchWord", into = "SwitchWord")]
#[schemars(with = "SwitchWord")]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum SwitchWord {
    Word(OnOff),
    Truth(bool),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OnOff {
    On,
    Off,
}

impl From<SwitchWord> for Switch {
    fn from(word: SwitchWord) -> Self {
        match word {
            SwitchWord::Word(OnOff::On) | SwitchWord::Truth(true) => Self::On,
            SwitchWord::Word(OnOff::Off) | SwitchWord::Truth(false) => Self::Off,
        }
    }
}

impl From<Switch> for SwitchWord {
    fn from(switch: Switch) -> Self {
        Self::Word(match switch {
            Switch::On => OnOff::On,
            Switch::Off => OnOff::Off,
        })
    }
}

fn is_empty(globs: &Globs) -> bool {
    globs.patterns().is_empty()
}

impl CommandConfig {
    /// Makes a command of a line for the shell; everything else as usual.
    #[must_use]
    pub fn shell(line: impl Into<String>) -> Self {
        Self {
            run: Line::Shell(line.into()),
            file: None,
            stdin: false,
            folder: None,
            protected: Globs::default(),
            format: Format::default(),
            held: Held::default(),
        }
    }
}

impl Held {
    /// Makes the sandbox that it describes.
    #[must_use]
    pub fn sandbox(&self, environment: &Environment) -> Sandbox {
        let mut limits = Limits::default();
        if let Some(seconds) = self.seconds {
            limits.wall = Duration::from_secs(seconds);
            limits.cpu = limits.cpu.max(limits.wall);
        }
        limits.memory = self.memory_mib.map_or(limits.memory, |mib| mib << 20);
        limits.processes = self.processes.unwrap_or(limits.processes);
        let isolation = match self.sandbox {
            Some(Switch::Off) => Isolation::Off,
            Some(Switch::On) | None => Isolation::Required,
        };
        Sandbox::with_variables(environment, &self.variables)
            .isolation(isolation)
            .limits(limits)
            .readable(self.readable.iter().cloned())
    }
}
