//! The embedded model, `local:…`: the one place that knows whether this build has it.

use std::sync::Arc;

use redraft::Failure;
use redraft::llm::Model;

/// Makes a model that runs inside this program.
pub(crate) fn model(name: &str) -> Result<Arc<dyn Model>, Failure> {
    Err(Failure::terminal("unknown-provider", format!("this build has no embedded model for `local:{name}`"))
        .with_hint("name a model of a provider, or one that listens on this machine: ollama:…"))
}
