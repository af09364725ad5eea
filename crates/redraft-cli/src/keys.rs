//! Which services can be used: where their keys are kept, and what may be shown of them. No key leaves this file.

use redraft::llm::provider::{KNOWN, Known};
use redraft::spec::Reach;
use schemars::JsonSchema;
use serde::Serialize;

use crate::makers::Machine;
use crate::settings::{Origin, Settings, Sourced};

/// A key shows its end only if enough of it stays hidden.
const LEAST_TO_SHOW: usize = 16;
const SHOWN: usize = 4;

/// A service, and whether it can be used.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Service {
    /// What stands before the colon in `provider:model`.
    pub(crate) name: String,
    /// Whether its key is there.
    pub(crate) key: KeyState,
    /// The variable that its key is kept in; null for services on this machine.
    pub(crate) key_variable: Option<String>,
    /// The end of the key, the rest hidden; null if there is none.
    pub(crate) masked: Option<String>,
    /// Where the key came from.
    pub(crate) key_origin: Option<String>,
    /// Where it listens.
    pub(crate) base_url: String,
    /// Where that came from.
    pub(crate) base_url_origin: String,
}

/// Whether a key is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyState {
    /// It is set.
    Set,
    /// It is needed, and not set.
    Missing,
    /// None is needed.
    NotNeeded,
}

/// Returns every service that we know, and whether it can be used.
pub(crate) fn services(settings: &Settings) -> Vec<Service> {
    let machine = Machine::new(settings);
    let usual = Reach::default();
    let base_url = |known| machine.base_url(known, &usual).ok().flatten();
    KNOWN.iter().map(|known| service(known, machine.key(known, &usual), base_url(known))).collect()
}

fn service(known: &Known, key: Option<Sourced<String>>, base_url: Option<Sourced<String>>) -> Service {
    // What is only white space would not be sent as a key.
    let key = key.filter(|key| !key.value.trim().is_empty());
    // Somebody else's server often wants no key.
    let is_needed = known.key_variable.is_some() && known.name != "vllm";
    Service {
        name: known.name.to_owned(),
        key: match (&key, is_needed) {
            (Some(_), _) => KeyState::Set,
            (None, true) => KeyState::Missing,
            (None, false) => KeyState::NotNeeded,
        },
        key_variable: known.key_variable.map(str::to_owned),
        masked: key.as_ref().map(|key| mask(key.value.trim())),
        key_origin: key.map(|key| key.origin.to_string()),
        base_url: without_password(base_url.as_ref().map_or(known.base_url, |url| url.value.as_str())),
        base_url_origin: base_url.map_or_else(|| Origin::Default.to_string(), |url| url.origin.to_string()),
    }
}

fn mask(key: &str) -> String {
    let shown: String = key.chars().rev().take(SHOWN).collect::<Vec<_>>().into_iter().rev().collect();
    if key.chars().count() < LEAST_TO_SHOW { "…".to_owned() } else { format!("…{shown}") }
}

/// An address may hold a password, so what stands before the host is left out.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let slash = if path.is_empty() { "" } else { "/" };
    if scheme.is_empty() { format!("{host}{slash}{path}") } else { format!("{scheme}://{host}{slash}{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_shown_and_a_short_one_not_even_in_part() {
        assert_eq!(mask("sk-0123456789abcdefQ4ZX"), "…Q4ZX");
        assert_eq!(mask("hunter2"), "…");
        assert_eq!(without_password("https://me:secret@host:8080/v1?key=secret"), "https://host:8080/v1");
        assert_eq!(without_password("http://127.0.0.1:11434/v1"), "http://127.0.0.1:11434/v1");
    }

    #[test]
    fn a_service_says_where_its_key_came_from() {
        let known = &KNOWN[0];
        let key = Sourced {
            value: "sk-0123456789abcdefQ4ZX".to_owned(),
            origin: Origin::Variable("OPENAI_API_KEY".to_owned()),
        };
        let service_with = service(known, Some(key), None);
        assert_eq!(service_with.key, KeyState::Set);
        assert_eq!(service_with.key_origin.as_deref(), Some("environment OPENAI_API_KEY"));
        assert!(!format!("{service_with:?}").contains("0123456789"));
        assert_eq!(service(known, None, None).key, KeyState::Missing);
    }
}
