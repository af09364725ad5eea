//! Whether the embedded model can be used: where its weights are looked for, and whether they are there. Nothing is
//! fetched and nothing is loaded.

use schemars::JsonSchema;
use serde::Serialize;

/// The embedded model, and whether it can be used.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Weights {
    /// Whether its weights are there.
    pub(crate) state: WeightsState,
    /// Where they are looked for.
    pub(crate) path: Option<String>,
    /// Where that came from.
    pub(crate) origin: Option<String>,
    /// How large they are.
    pub(crate) bytes: Option<u64>,
}

/// Whether weights are there.
#[cfg_attr(
    not(feature = "local"),
    expect(dead_code, reason = "the shape of JSON is the same in every build")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WeightsState {
    /// They are there.
    Present,
    /// They are fetched when they are first needed.
    NotFetched,
    /// A file was named, and is not there.
    Missing,
    /// There is no folder to keep them in.
    Homeless,
    /// This build has no embedded model.
    NotBuilt,
}

impl Weights {
    /// Says it in words.
    pub(crate) fn words(&self) -> String {
        let path = self.path.as_deref().unwrap_or_default();
        match self.state {
            WeightsState::Present => {
                format!("weights of {} MiB in {path}", self.bytes.unwrap_or_default().div_ceil(1 << 20))
            }
            WeightsState::NotFetched => format!("weights are fetched to {path} when they are first needed"),
            WeightsState::Missing => format!("there are no weights at {path}"),
            WeightsState::Homeless => {
                "there is no folder for weights: neither XDG_CACHE_HOME nor HOME is set".to_owned()
            }
            WeightsState::NotBuilt => "this build has no embedded model".to_owned(),
        }
    }
}

/// Looks for the weights of `local:`.
pub(crate) fn look() -> Weights {
    let not_built = Weights { state: WeightsState::NotBuilt, path: None, origin: None, bytes: None };
    built_in().unwrap_or(not_built)
}

#[cfg(not(feature = "local"))]
fn built_in() -> Option<Weights> {
    None
}

#[cfg(feature = "local")]
fn built_in() -> Option<Weights> {
    use crate::settings::Origin;

    const NAMED_BY: &str = "REDRAFT_LOCAL_MODEL";
    let named = std::env::var_os(NAMED_BY).filter(|path| !path.is_empty());
    let is_named = named.is_some();
    let origin = if is_named { Origin::Variable(NAMED_BY.to_owned()) } else { Origin::Default };
    let cache = redraft_local::default_cache(|name| std::env::var_os(name));
    let mut options = redraft_local::Options::new(cache.clone().unwrap_or_default());
    options.weights = named.map(Into::into);
    let place = redraft_local::default_place(&options);
    let known = std::fs::metadata(&place).ok().filter(std::fs::Metadata::is_file);
    Some(Weights {
        state: match (&known, is_named, cache) {
            (Some(_), ..) => WeightsState::Present,
            (None, false, Some(_)) => WeightsState::NotFetched,
            (None, false, None) => WeightsState::Homeless,
            (None, true, _) => WeightsState::Missing,
        },
        path: Some(crate::text::line(&place.display().to_string())),
        origin: Some(origin.to_string()),
        bytes: known.map(|known| known.len()),
    })
}
