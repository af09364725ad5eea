//! The model inside the binary: how fast it reads, writes, and reads what it has read before.

use redraft::Fault;
use redraft_local::LocalModel;

use super::Line;
use crate::local::{options, told};

/// Loads the model, fetching its weights if they are not here, and measures it.
pub(crate) fn measure(name: &str) -> Line {
    let model = LocalModel::open(name, &options()?, &mut told).map_err(|error| {
        error.hint().map_or_else(|| error.to_string(), |hint| format!("{error}\n  next: {hint}"))
    })?;
    Ok(serde_json::to_value(model.bench()?)?)
}
