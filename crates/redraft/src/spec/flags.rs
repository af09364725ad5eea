//! A spec made of a few flags, for what is not worth a file. It goes through the same checks as one.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Error, Registry, Spec};

/// What a command line says in the place of a file.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Flags {
    /// What it is called by; `prompt` if nothing is said.
    pub name: Option<String>,
    /// What is wanted. It is taken word for word.
    pub prompt: String,
    /// The model that writes: `provider:model`.
    pub model: String,
    /// Commands that must succeed; their output is what was found.
    pub verify: Vec<String>,
    /// The folder that commands are run on a copy of, with the files of the draft laid over it; its tests are protected.
    /// Without one they see the draft alone.
    pub folder: Option<PathBuf>,
    /// When a draft is good enough: a score, or an expression.
    pub accept: Option<String>,
    /// How many drafts may be made.
    pub iterations: Option<u32>,
    /// How much may be spent.
    pub cost: Option<String>,
    /// How long it may take.
    pub time: Option<String>,
}

/// Where tests usually are: a draft must not weaken what judges it.
const TESTS: [&str; 6] = ["tests", "test", "test_*", "*_test.*", "*.test.*", "*.spec.*"];

impl Flags {
    /// Says what is wanted, and who writes it.
    pub fn new(prompt: impl Into<String>, model: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), model: model.into(), ..Self::default() }
    }

    /// Describes a command that must succeed on a copy of a folder, as a spec does.
    #[must_use]
    pub fn command(run: &str, folder: Option<&Path>) -> Value {
        let mut command = json!({ "run": run });
        if let Some(folder) = folder {
            command["folder"] = json!(folder);
            command["protected"] = json!(TESTS);
        }
        command
    }

    fn document(&self) -> Value {
        let checks = self.verify.iter().zip(1..).map(|(run, n)| {
            let name = if self.verify.len() == 1 { "command".to_owned() } else { format!("command-{n}") };
            json!({ "name": name, "command": Self::command(run, self.folder.as_deref()) })
        });
        let mut document = json!({
            "name": self.name.as_deref().unwrap_or("prompt"),
            // As an input it is never taken for a template.
            "input": { "prompt": { "type": "string", "default": self.prompt } },
            "draft": { "model": self.model, "prompt": "{{ prompt }}" },
            "verify": checks.collect::<Vec<_>>(),
        });
        if let Some(accept) = &self.accept {
            let score = serde_json::from_str::<serde_json::Number>(accept);
            document["accept"] = match score {
                Ok(score) => json!({ "score": score }),
                Err(_) => json!(accept),
            };
        }
        let mut limits = json!({});
        for (key, value) in [
            ("iterations", self.iterations.map(Value::from)),
            ("cost", self.cost.clone().map(Value::from)),
            ("time", self.time.clone().map(Value::from)),
        ] {
            if let Some(value) = value {
                limits[key] = value;
            }
        }
        document["limits"] = limits;
        document
    }
}

impl Spec {
    /// Makes a spec of flags.
    ///
    /// # Errors
    /// [`Error::Invalid`] with everything that is wrong with them.
    pub fn from_flags(flags: &Flags, registry: &Registry) -> Result<Self, Error> {
        let text = serde_json::to_string_pretty(&flags.document()).unwrap_or_default();
        Self::parse("<flags>", text.as_bytes(), None, registry)
    }
}
