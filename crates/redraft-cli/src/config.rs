//! The configuration files: `.redraft/config.yaml` of the project, and the user's own. What they may say, and no more;
//! which of them counts is decided in `settings`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::trouble::{Exit, Trouble};

/// What a configuration file may say.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Where runs are kept.
    pub(crate) store: Option<PathBuf>,
    /// Who writes when a command says nothing.
    pub(crate) model: Option<String>,
    /// How many inputs are refined at the same time.
    pub(crate) concurrency: Option<usize>,
    /// Limits for specs that say nothing.
    pub(crate) limits: Limits,
    /// How providers are reached.
    pub(crate) providers: BTreeMap<String, Provider>,
    /// What models cost, by `provider:model`, where the list of prices is wrong or silent.
    pub(crate) prices: BTreeMap<String, serde_json::Value>,
}

/// How far runs may go whose specs say nothing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    pub(crate) iterations: Option<u32>,
    pub(crate) cost: Option<serde_json::Value>,
    pub(crate) time: Option<String>,
}

/// How a provider is reached. Keys stand in variables, never here.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Provider {
    pub(crate) base_url: Option<String>,
    /// The variable that holds the key, as `${NAME}`.
    pub(crate) key: Option<String>,
    pub(crate) concurrency: Option<usize>,
    pub(crate) per_minute: Option<u32>,
    pub(crate) timeout_seconds: Option<u64>,
}

impl Config {
    /// Reads a file; nothing if there is none.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, Trouble> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(path, &error.to_string())),
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Some(Self::default()));
        }
        let value = redraft::spec::yaml(&path.display().to_string(), &bytes)?;
        let config: Self =
            serde_json::from_value(value).map_err(|error| unusable(path, &error.to_string()))?;
        for (provider, settings) in &config.providers {
            let reference = settings.key.as_deref().map(|key| (key, variable_in(key)));
            if let Some((_, None)) = reference {
                let reason =
                    format!("the key of `{provider}` must be the name of a variable, as `${{NAME}}`");
                return Err(unusable(path, &reason));
            }
        }
        Ok(Some(config))
    }
}

/// Returns the name in `${NAME}`.
pub(crate) fn variable_in(reference: &str) -> Option<&str> {
    reference.trim().strip_prefix("${")?.strip_suffix('}').filter(|name| !name.is_empty())
}

fn unusable(path: &Path, reason: &str) -> Trouble {
    Trouble::new(Exit::Configuration, format!("`{}` cannot be used: {reason}", path.display()))
        .hint("see what counts and where it comes from: redraft doctor")
}
