//! What a spec can name: kinds of verifiers, protocols, providers. Each is one entry here.
//!
//! To add a kind of verifier: one line in [`Registry::builtin`] with the type of its settings and how it is made; which
//! of its settings may stand in files of their own; which of them name a model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::build::Parts;
use super::include::Include;
use super::protocols::{self, Procedure, Recipe};
use crate::failure::Failure;
use crate::verify::{
    Call, CodeConfig, Command, CommandConfig, Facts, FactsConfig, Human, HumanConfig, Json, Judge,
    JudgeConfig, Panel, PanelConfig, Text, Verifier, call, json, sql, text,
};

/// What a spec can name.
///
/// A verifier of one's own is one small type and one line:
///
/// ```
/// use redraft::spec::Registry;
/// use redraft::verify::{Case, Finding, Rule, Verdict};
///
/// #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct Lines {
///     most: usize,
/// }
///
/// impl Rule for Lines {
///     fn demand(&self) -> String {
///         format!("at most {} lines", self.most)
///     }
///     fn check(&self, case: &Case) -> Verdict {
///         let lines = case.draft.lines().count();
///         Verdict::of((lines > self.most).then(|| Finding::new("lines", format!("has {lines} lines"))))
///     }
/// }
///
/// // In a file: `verify: [{ name: short, lines: { most: 3 } }]`.
/// let registry = Registry::builtin().verifier("lines", |lines: Lines| Ok(lines));
/// assert!(registry.kinds().any(|kind| kind == "lines"));
/// ```
#[derive(Clone)]
pub struct Registry {
    pub(super) kinds: BTreeMap<String, Kind>,
    pub(super) protocols: BTreeMap<String, Protocol>,
    pub(super) providers: BTreeSet<String>,
}

type MakeVerifier = dyn Fn(&Value, &Parts<'_>) -> Result<Arc<dyn Verifier>, Failure> + Send + Sync;
type MakeProcedure = dyn Fn(&Value, Recipe<'_>) -> Result<Procedure, Failure> + Send + Sync;

/// A kind of verifier: its settings, and how it is made of them.
#[derive(Clone)]
pub struct Kind {
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
    pub(super) includes: Vec<Include>,
    pub(super) models: Vec<&'static str>,
    pub(super) make: Arc<MakeVerifier>,
}

/// A protocol: its settings, and how the pieces of a spec follow it.
#[derive(Clone)]
pub struct Protocol {
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
    pub(super) models: Vec<&'static str>,
    /// Whether it is nothing without a verifier of the spec's own.
    pub(super) needs_verifiers: bool,
    pub(super) make: Arc<MakeProcedure>,
}

impl Protocol {
    /// Describes a protocol by how the pieces of a spec are put together.
    pub fn new<C: DeserializeOwned + JsonSchema>(
        make: impl Fn(C, Recipe<'_>) -> Result<Procedure, Failure> + Send + Sync + 'static,
    ) -> Self {
        let make = move |settings: &Value, recipe: Recipe<'_>| make(read(settings)?, recipe);
        Self {
            schema: |generator| generator.subschema_for::<C>(),
            models: Vec::new(),
            needs_verifiers: true,
            make: Arc::new(make),
        }
    }

    /// Says that a setting names a model.
    #[must_use]
    pub fn model(mut self, setting: &'static str) -> Self {
        self.models.push(setting);
        self
    }

    /// Says that it judges by itself, so that a spec may go without verifiers.
    #[must_use]
    pub fn judges_itself(mut self) -> Self {
        self.needs_verifiers = false;
        self
    }
}

impl Kind {
    /// Describes a kind by how it is made of its settings. What else it needs, such as models, is in the parts.
    pub fn new<C, V>(make: impl Fn(C, &Parts<'_>) -> Result<V, Failure> + Send + Sync + 'static) -> Self
    where
        C: DeserializeOwned + JsonSchema,
        V: Verifier,
    {
        let make = move |settings: &Value, parts: &Parts<'_>| -> Result<Arc<dyn Verifier>, Failure> {
            Ok(Arc::new(make(read(settings)?, parts)?))
        };
        Self {
            schema: |generator| generator.subschema_for::<C>(),
            includes: Vec::new(),
            models: Vec::new(),
            make: Arc::new(make),
        }
    }

    /// Says that a setting may stand in a file of its own.
    #[must_use]
    pub fn include(mut self, include: Include) -> Self {
        self.includes.push(include);
        self
    }

    /// Says that a setting names a model: `model`, or `judges/*/model`.
    #[must_use]
    pub fn model(mut self, setting: &'static str) -> Self {
        self.models.push(setting);
        self
    }
}

impl Registry {
    /// Knows nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self { kinds: BTreeMap::new(), protocols: BTreeMap::new(), providers: BTreeSet::new() }
    }

    /// Knows everything that comes with the library.
    #[must_use]
    pub fn builtin() -> Self {
        let registry = Self::empty()
            .verifier("text", |config: text::Config| Ok(Text::compile(config)?))
            .kind(
                "json",
                Kind::new(|config: json::Config, _| Ok(Json::compile(config)?))
                    .include(Include::data("schema")),
            )
            .kind(
                "call",
                Kind::new(|config: call::Config, _| Ok(Call::compile(config)?))
                    .include(Include::data("openapi")),
            )
            .kind(
                "sql",
                Kind::new(|settings: sql::Settings, _| Ok(sql::Sql::new(settings)?))
                    .include(Include::text("schema"))
                    .include(Include::path("database")),
            )
            .kind(
                "judge",
                Kind::new(|config: JudgeConfig, parts| {
                    let model = parts.model(&config.model)?;
                    Ok(Judge::from_config(config, model, parts.prompts().clone())?)
                })
                .model("model")
                .include(Include::list("rubric")),
            )
            .kind(
                "panel",
                Kind::new(|config: PanelConfig, parts| {
                    Panel::from_config(config, parts.prompts(), |name| parts.model(name))
                })
                .model("judges/*/model")
                .include(Include::list("judges/*/rubric")),
            )
            .kind(
                "facts",
                Kind::new(|config: FactsConfig, parts| {
                    let model = parts.model(&config.model)?;
                    // Files were taken in when the spec was read.
                    let unread = |file: &str| Err(Failure::from(format!("`{file}` was not taken in")));
                    Facts::from_config(config, model, parts.prompts().clone(), unread)
                })
                .model("model")
                .include(Include::document("documents/*")),
            )
            .kind(
                "command",
                Kind::new(|config: CommandConfig, parts| Ok(Command::new(config, parts.environment())))
                    .include(Include::path("folder"))
                    .include(Include::path("readable/*")),
            )
            .kind(
                "code",
                Kind::new(|config: CodeConfig, parts| Ok(config.verifier(parts.environment())?))
                    .include(Include::text("tests"))
                    .include(Include::path("readable/*")),
            )
            .verifier("human", |config: HumanConfig| Ok(Human::from_config(config)?))
            .protocol("refine", Protocol::new(protocols::refine))
            .protocol("reflexion", Protocol::new(protocols::reflects))
            .protocol(
                "chain_of_verification",
                Protocol::new(protocols::verifies_claims).model("checker").judges_itself(),
            )
            .protocol("stepwise", Protocol::new(protocols::corrects_steps).model("checker").judges_itself())
            .protocol(
                "thought_revision",
                Protocol::new(protocols::revises_thoughts).model("checker").judges_itself(),
            )
            .protocol("self_consistency", Protocol::new(protocols::agrees_with_itself).judges_itself())
            .protocol(
                "feedback_loop",
                Protocol::new(protocols::talks).model("reviewer/model").judges_itself(),
            )
            .provider("local");
        #[cfg(feature = "http")]
        let registry = crate::llm::provider::KNOWN
            .iter()
            .fold(registry, |registry, known| registry.provider(known.name));
        registry
    }

    /// Adds a kind of verifier that needs nothing but its settings.
    #[must_use]
    pub fn verifier<C, V>(
        self,
        name: &str,
        make: impl Fn(C) -> Result<V, Failure> + Send + Sync + 'static,
    ) -> Self
    where
        C: DeserializeOwned + JsonSchema,
        V: Verifier,
    {
        self.kind(name, Kind::new(move |config: C, _: &Parts<'_>| make(config)))
    }

    /// Adds a kind of verifier.
    #[must_use]
    pub fn kind(mut self, name: &str, kind: Kind) -> Self {
        self.kinds.insert(name.to_owned(), kind);
        self
    }

    /// Adds a protocol: a way to run a refinement.
    #[must_use]
    pub fn protocol(mut self, name: &str, protocol: Protocol) -> Self {
        self.protocols.insert(name.to_owned(), protocol);
        self
    }

    /// Adds a provider, so that its models can be named.
    #[must_use]
    pub fn provider(mut self, name: &str) -> Self {
        self.providers.insert(name.to_owned());
        self
    }

    /// Returns the names of all kinds of verifiers.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.kinds.keys().map(String::as_str)
    }

    /// Returns the names of all protocols.
    pub fn protocols(&self) -> impl Iterator<Item = &str> {
        self.protocols.keys().map(String::as_str)
    }
}

fn read<C: DeserializeOwned>(settings: &Value) -> Result<C, Failure> {
    C::deserialize(settings).map_err(|error| super::Error::Settings { reason: error.to_string() }.into())
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("kinds", &self.kinds.keys())
            .field("protocols", &self.protocols.keys())
            .field("providers", &self.providers)
            .finish()
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kind").field("includes", &self.includes).field("models", &self.models).finish()
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protocol").field("models", &self.models).finish_non_exhaustive()
    }
}
