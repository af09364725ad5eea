//! Specs: a refinement described in a YAML file, with a place for every mistake.
//!
//! [`Spec::read`] looks at a whole file before anything is paid and finds all that is wrong with it at once
//! ([`Diagnostic`]). What stands in other files is taken in, so that the [`Resolved`] spec is all that a run needs: it is
//! the input of [`SpecWorkflow`], and a run resumes from its journal alone. What a file can name is in a [`Registry`];
//! what needs keys or the machine is made by [`Makers`]. No environment is read here.
//!
//! Where to start reading: `document` has the keys, `check` finds mistakes, `build` makes what runs. To add a key: a field
//! in `document` with its documentation, a check in `check` if it can be wrong, a line in `build`, a broken file in
//! `tests/spec/broken`, and the schema written anew (the test says how).

mod build;
mod check;
mod diagnostic;
mod document;
mod error;
mod expression;
mod fit;
mod flags;
mod gated;
mod include;
mod input;
mod judging;
mod models;
mod protocols;
mod registry;
mod schema;
mod source;
mod workflow;

use std::path::Path;

use serde_json::{Map, Value};

pub use self::build::Parts;
pub use self::diagnostic::{Diagnostic, Line};
pub use self::document::{
    Acceptance, Amount, Check, Draft, Fragment, GateSetting, LimitSetting, Output, People, PlateauSetting,
    ProtocolSetting, Resolved, Revise, ScoreSetting, Words,
};
pub use self::error::Error;
pub use self::flags::Flags;
pub use self::include::Include;
pub use self::models::{
    Answer, AnswerTable, Makers, ModelSetting, ModelTable, PriceSetting, Reach, ScriptedOnly, ToolUse,
    UsageSetting,
};
pub use self::protocols::{Procedure, Recipe};
pub use self::registry::{Kind, Protocol, Registry};
pub use self::schema::{schema, schema_of};
pub use self::workflow::{SpecInput, SpecWorkflow};

use self::build::Models;
use self::source::Tree;

/// Reads YAML, or JSON, as data: for instance the input of a run. `name` is what mistakes call it.
///
/// # Errors
/// [`Error::Invalid`] with what is wrong, and where.
pub fn yaml(name: &str, text: &[u8]) -> Result<Value, Error> {
    Tree::read(name, text).map(|tree| tree.value).map_err(|diagnostics| Error::Invalid { diagnostics })
}

/// A spec that was looked at and found good.
///
/// ```
/// use std::sync::Arc;
///
/// use redraft::spec::{Registry, ScriptedOnly, Spec, SpecWorkflow};
/// use redraft::{Engine, Stop, store::MemoryStore};
///
/// const FILE: &str = "
/// name: tides
/// input:
///   topic: { type: string, default: tides }
/// models:
///   author: { scripted: [The moon pulls at all the seas., The moon pulls the sea.] }
/// draft: { model: author, prompt: 'Say in one short sentence why there are {{ topic }}.' }
/// verify:
///   - { name: short, text: { words: { max: 5 } } }
/// ";
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::builtin();
/// let spec = Spec::parse("tides.yaml", FILE.as_bytes(), None, &registry)?;
/// let workflow = SpecWorkflow::named(spec.name(), Arc::new(ScriptedOnly), registry, None);
///
/// let engine = Engine::on(MemoryStore::new()).workflow(workflow.clone()).open().await?;
/// let run = engine.start(&workflow, spec.input(&[("topic".into(), "waves".into())])?).await?;
/// let refined = run.outcome().await?.into_output()?;
/// assert_eq!(refined.stop, Stop::Accepted);
/// assert_eq!(refined.best.unwrap().text, "The moon pulls the sea.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Spec {
    resolved: Resolved,
    tree: Tree,
    /// Where a model is named.
    models: Vec<String>,
}

impl Spec {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Unreadable`], or [`Error::Invalid`] with everything that is wrong with it.
    pub fn read(path: impl AsRef<Path>, registry: &Registry) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes =
            std::fs::read(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&path.display().to_string(), &bytes, path.parent(), registry)
    }

    /// Reads a text. `name` is what mistakes call it, and other files are looked for in `folder`.
    ///
    /// # Errors
    /// [`Error::Invalid`] with everything that is wrong with it.
    pub fn parse(name: &str, text: &[u8], folder: Option<&Path>, registry: &Registry) -> Result<Self, Error> {
        let checked = Tree::read(name, text).and_then(|tree| check::check(tree, folder, registry));
        let (resolved, tree) = checked.map_err(|diagnostics| Error::Invalid { diagnostics })?;
        let models = check::models_named(&tree.value, registry);
        Ok(Self { resolved, tree, models })
    }

    /// Returns what it is called by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.resolved.name
    }

    /// Returns it as data that needs no file.
    #[must_use]
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// Returns it as data that may be changed, for instance where a flag says otherwise.
    pub fn resolved_mut(&mut self) -> &mut Resolved {
        &mut self.resolved
    }

    /// Makes the input of a run: `name=value` texts are read as the declared types say, and the rest are the defaults.
    ///
    /// # Errors
    /// [`Error::Input`] with everything that does not fit.
    pub fn input(&self, set: &[(String, String)]) -> Result<SpecInput, Error> {
        self.input_of(Map::new(), set)
    }

    /// Makes the input of a run of values, and of `name=value` texts that go before them.
    ///
    /// # Errors
    /// [`Error::Input`] with everything that does not fit.
    pub fn input_of(&self, values: Map<String, Value>, set: &[(String, String)]) -> Result<SpecInput, Error> {
        let input = input::gather(&self.resolved, values, set)?;
        Ok(SpecInput::new(self.resolved.clone(), input))
    }

    /// Makes every model that it names once, without asking any: keys that are missing are found before a run begins.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the place of each model that cannot be made.
    pub fn try_models(&self, makers: &dyn Makers) -> Result<(), Error> {
        let models = Models::new(&self.resolved, makers);
        let aliases = self.resolved.models.keys();
        let mut named: Vec<(String, String)> =
            aliases.map(|alias| (source::below("/models", alias), alias.clone())).collect();
        for pointer in &self.models {
            let name = self.tree.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            if !self.resolved.models.contains_key(name) {
                named.push((pointer.clone(), name.to_owned()));
            }
        }
        let diagnostics: Vec<Diagnostic> = named
            .into_iter()
            .filter_map(|(pointer, name)| {
                let failure = models.get(&name).err()?;
                let mut found = Diagnostic::coded(&failure.code, &failure.message);
                found.hint = failure.hint;
                Some(found.at(&self.tree.source, self.tree.value_at(&pointer)))
            })
            .collect();
        if diagnostics.is_empty() { Ok(()) } else { Err(Error::Invalid { diagnostics }) }
    }
}
