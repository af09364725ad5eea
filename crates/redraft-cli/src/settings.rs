//! What every command goes by: flags, environment, files, defaults, in this order. Each value knows where it came from,
//! so that `redraft doctor` can say.

use std::fmt;
use std::path::PathBuf;

use redraft::store::SqliteStore;
use redraft::{Engine, EngineBuilder};

use crate::terminal::ColorChoice;
use crate::trouble::Trouble;

/// Flags that every command takes.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Globals {
    /// Where runs are kept [default: .redraft/redraft.db]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// When to use colours: auto, always, never
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) color: Option<ColorChoice>,
}

/// A value, and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sourced<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Origin {
    Flag(&'static str),
    Variable(&'static str),
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// What every command goes by.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) store: Sourced<PathBuf>,
    pub(crate) color: ColorChoice,
}

impl Settings {
    pub(crate) fn load(globals: &Globals) -> Result<Self, Trouble> {
        let variable = std::env::var_os("REDRAFT_STORE").filter(|path| !path.is_empty());
        let store = match (&globals.store, variable) {
            (Some(path), _) => Sourced { value: path.clone(), origin: Origin::Flag("--store") },
            (None, Some(path)) => Sourced { value: path.into(), origin: Origin::Variable("REDRAFT_STORE") },
            (None, None) => Sourced { value: PathBuf::from(".redraft/redraft.db"), origin: Origin::Default },
        };
        Ok(Self { store, color: globals.color.unwrap_or_default() })
    }

    /// Opens the store to look at it: an engine that drives nothing. Nothing is made if there is no store yet.
    pub(crate) async fn look(&self) -> Result<Option<Engine>, Trouble> {
        if !self.store.value.exists() {
            return Ok(None);
        }
        Ok(Some(self.engine()?.without_resuming().open().await?))
    }

    /// Opens the store to work on it, making it if need be.
    pub(crate) fn engine(&self) -> Result<EngineBuilder, Trouble> {
        Ok(Engine::on(SqliteStore::open(&self.store.value)?))
    }
}
