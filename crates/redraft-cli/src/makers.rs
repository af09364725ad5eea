//! Who makes models for specs: the one place that knows keys, addresses and what this machine has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redraft::Failure;
use redraft::llm::Model;
use redraft::llm::provider::{KNOWN, Key, Known, Provider, Settings as Reaching};
use redraft::spec::{Makers, Reach};

use crate::config::variable_in;
use crate::settings::{Origin, Settings, Sourced};

/// Makes models with the keys and addresses of this machine. Providers are shared by all models of all runs, so that
/// their limits hold together.
pub(crate) struct Machine {
    settings: Settings,
    connected: Mutex<HashMap<Place, Provider>>,
}

/// A provider as a spec reaches it: its name, and the variables and address that the spec names.
type Place = (String, Option<String>, Option<String>);

impl Machine {
    pub(crate) fn new(settings: &Settings) -> Arc<Self> {
        Arc::new(Self { settings: settings.clone(), connected: Mutex::default() })
    }

    fn connect(&self, known: &Known, reach: &Reach) -> Result<Provider, Failure> {
        let place = (known.name.to_owned(), reach.key_variable.clone(), reach.base_url.clone());
        let mut connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = connected.get(&place) {
            return Ok(provider.clone());
        }
        let base_url = self.base_url(known, reach)?;
        let key = self.key(known, reach);
        if key.is_none() && base_url.is_none() && known.key_variable.is_some() && !is_here(known.base_url) {
            return Err(no_key(known, reach));
        }
        let mut reaching = Reaching::default();
        reaching.base_url = base_url.map(|url| url.value);
        reaching.key = key.map(|key| Key::new(&key.value));
        for (_, config) in self.settings.providers.get(known.name).into_iter().flatten().rev() {
            reaching.concurrency = config.concurrency.unwrap_or(reaching.concurrency);
            reaching.per_minute = config.per_minute.or(reaching.per_minute);
            reaching.timeout = config.timeout_seconds.map_or(reaching.timeout, Duration::from_secs);
        }
        let provider = Provider::new(known.name, reaching)
            .map_err(|error| Failure::terminal(error.code(), error.to_string()))?;
        connected.insert(place, provider.clone());
        Ok(provider)
    }

    /// Returns where a provider is to be reached, if not where it usually is: the spec says so, or the environment, or a
    /// file.
    pub(crate) fn base_url(&self, known: &Known, reach: &Reach) -> Result<Option<Sourced<String>>, Failure> {
        if let Some(given) = &reach.base_url {
            let Some(name) = variable_in(given) else {
                return Ok(Some(Sourced { value: given.clone(), origin: Origin::Default }));
            };
            return match self.settings.environment.get(name) {
                Some(found) => Ok(Some(found)),
                None => Err(Failure::terminal(
                    "provider-unusable",
                    format!("the spec keeps the address of `{}` in `{name}`, which is not set", known.name),
                )
                .with_hint(format!("export {name}=https://…"))),
            };
        }
        let found = self.settings.environment.get(known.base_url_variable);
        Ok(found.or_else(|| {
            self.settings.providers.get(known.name)?.iter().find_map(|(path, config)| {
                let value = config.base_url.clone()?;
                Some(Sourced {
                    value,
                    origin: Origin::File(path.clone(), format!("providers.{}", known.name)),
                })
            })
        }))
    }

    /// Returns a provider's key, if there is one.
    pub(crate) fn key(&self, known: &Known, reach: &Reach) -> Option<Sourced<String>> {
        if let Some(name) = &reach.key_variable {
            return self.settings.environment.get(name);
        }
        let files = self.settings.providers.get(known.name).into_iter().flatten();
        let named = files.filter_map(|(_, config)| variable_in(config.key.as_deref()?));
        named.chain(known.key_variable).find_map(|name| self.settings.environment.get(name))
    }
}

fn no_key(known: &Known, reach: &Reach) -> Failure {
    let name = reach.key_variable.as_deref().or(known.key_variable).unwrap_or_default();
    Failure::terminal(
        "model-authentication",
        format!("`{}` needs a key, and `{name}` is not set", known.name),
    )
    .with_hint(format!("export {name}=…, or put it into the project's .env"))
}

/// Says whether an address is on this machine.
fn is_here(url: &str) -> bool {
    url.starts_with("http://127.0.0.1") || url.starts_with("http://localhost")
}

impl Makers for Machine {
    fn environment(&self) -> redraft::sandbox::Environment {
        redraft::sandbox::Environment::new(std::env::vars_os())
    }

    fn model(&self, name: &str, reach: &Reach) -> Result<Arc<dyn Model>, Failure> {
        if let Some(model) = name.strip_prefix("local:") {
            return crate::local::model(model);
        }
        let Some((provider, model)) = name.split_once(':').filter(|(_, model)| !model.is_empty()) else {
            let message = format!("`{name}` is not a model: it must be `provider:model`");
            return Err(Failure::terminal("unknown-provider", message));
        };
        match KNOWN.iter().find(|known| known.name == provider) {
            Some(known) => Ok(Arc::new(self.connect(known, reach)?.model(model))),
            // Its own words have a suggestion.
            None => match Provider::new(provider, Reaching::default()) {
                Ok(provider) => Ok(Arc::new(provider.model(model))),
                Err(error) => Err(Failure::terminal(error.code(), error.to_string())),
            },
        }
    }
}
