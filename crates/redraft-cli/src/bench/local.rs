//! The model inside the binary: how fast it reads, writes, and reads what it has read before.

use std::io::Write;

use redraft::Fault;
use redraft_local::{LocalModel, Options, Progress, default_cache};

use super::Line;

/// Loads the model, fetching its weights if they are not here, and measures it.
pub(crate) fn measure(name: &str) -> Line {
    let cache =
        default_cache(|name| std::env::var_os(name)).ok_or("neither XDG_CACHE_HOME nor HOME is set")?;
    let weights = std::env::var_os("REDRAFT_LOCAL_MODEL").filter(|path| !path.is_empty()).map(Into::into);
    let options = Options { weights, ..Options::new(cache) };
    let model = LocalModel::open(name, &options, &mut told).map_err(|error| {
        error.hint().map_or_else(|| error.to_string(), |hint| format!("{error}\n  next: {hint}"))
    })?;
    Ok(serde_json::to_value(model.bench()?)?)
}

/// Says on standard error that something large is coming.
fn told(progress: Progress) {
    if let Progress::Fetching { bytes, total } = progress {
        let _ = write!(
            std::io::stderr(),
            "\rfetching the model: {} of {} MB",
            bytes / 1_000_000,
            total / 1_000_000
        );
        if bytes == total {
            let _ = writeln!(std::io::stderr());
        }
    }
}
