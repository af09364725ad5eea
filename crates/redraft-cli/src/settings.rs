//! What every command goes by: flags, environment, project file, user file, defaults, in this order. Each value knows
//! where it came from, so that `redraft doctor` can say.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use redraft::store::SqliteStore;
use redraft::{Engine, EngineBuilder};
use serde_json::Value;

use crate::config::{self, Config};
use crate::environment::Environment;
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
    Variable(String),
    /// A file, and the key or variable in it.
    File(PathBuf, String),
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::File(path, key) => write!(f, "{} {key}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// What every command goes by.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) store: Sourced<PathBuf>,
    pub(crate) color: ColorChoice,
    /// Who writes when a command says nothing.
    pub(crate) model: Option<Sourced<String>>,
    /// How many inputs are refined at the same time.
    pub(crate) concurrency: Sourced<usize>,
    /// Limits for specs that say nothing: `iterations`, `cost`, `time`, as a spec writes them.
    pub(crate) limits: BTreeMap<&'static str, Sourced<Value>>,
    /// How each provider that a file speaks of is reached, the nearer file first.
    pub(crate) providers: BTreeMap<String, Vec<(PathBuf, config::Provider)>>,
    /// What models cost, as a spec writes it.
    pub(crate) prices: BTreeMap<String, Sourced<Value>>,
    pub(crate) environment: Environment,
}

/// How many inputs are refined at the same time unless somebody says otherwise.
const AT_ONCE: usize = 8;

impl Settings {
    pub(crate) fn load(globals: &Globals) -> Result<Self, Trouble> {
        let environment = Environment::of_project(Path::new("."));
        let mut files = Vec::new();
        for path in std::iter::once(PathBuf::from(".redraft/config.yaml")).chain(user_file()) {
            if let Some(config) = Config::read(&path)? {
                files.push((path, config));
            }
        }
        let store =
            globals.store.clone().map(|path| Sourced { value: path, origin: Origin::Flag("--store") });
        let store = store.or_else(|| {
            let Sourced { value, origin } = environment.get("REDRAFT_STORE")?;
            Some(Sourced { value: value.into(), origin })
        });
        let store = store.or_else(|| first(&files, "store", |config| config.store.clone()));
        let store = store.unwrap_or_else(|| usual(PathBuf::from(".redraft/redraft.db")));
        let model = environment.get("REDRAFT_MODEL");
        let model = model.or_else(|| first(&files, "model", |config| config.model.clone()));
        let concurrency = first(&files, "concurrency", |config| config.concurrency);
        let mut limits = BTreeMap::new();
        for (name, variable) in [
            ("iterations", "REDRAFT_MAX_ITERATIONS"),
            ("cost", "REDRAFT_MAX_COST"),
            ("time", "REDRAFT_MAX_TIME"),
        ] {
            let given = environment.get(variable).map(|found| Sourced {
                value: serde_json::from_str(&found.value).unwrap_or(Value::from(found.value)),
                origin: found.origin,
            });
            let given = given.or_else(|| {
                first(&files, &format!("limits.{name}"), |config| match name {
                    "iterations" => config.limits.iterations.map(Value::from),
                    "cost" => config.limits.cost.clone(),
                    _ => config.limits.time.clone().map(Value::from),
                })
            });
            if let Some(given) = given {
                limits.insert(name, given);
            }
        }
        let mut providers: BTreeMap<String, Vec<(PathBuf, config::Provider)>> = BTreeMap::new();
        let mut prices = BTreeMap::new();
        for (path, config) in files {
            for (name, provider) in config.providers {
                providers.entry(name).or_default().push((path.clone(), provider));
            }
            for (model, value) in config.prices {
                let origin = Origin::File(path.clone(), format!("prices.{model}"));
                prices.entry(model).or_insert(Sourced { value, origin });
            }
        }
        Ok(Self {
            store,
            color: globals.color.unwrap_or_default(),
            model,
            concurrency: concurrency.unwrap_or_else(|| usual(AT_ONCE)),
            limits,
            providers,
            prices,
            environment,
        })
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

fn usual<T>(value: T) -> Sourced<T> {
    Sourced { value, origin: Origin::Default }
}

/// Takes a value from the first file that has it.
fn first<T>(
    files: &[(PathBuf, Config)],
    key: &str,
    value: impl Fn(&Config) -> Option<T>,
) -> Option<Sourced<T>> {
    files.iter().find_map(|(path, config)| {
        Some(Sourced { value: value(config)?, origin: Origin::File(path.clone(), key.to_owned()) })
    })
}

/// Returns where the user's own file is, if there is a home for it.
fn user_file() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let configs = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(configs.join("redraft/config.yaml"))
}
