//! From a spec that was looked at to a refinement that runs: models made, verifiers made, settings set.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::Error;
use super::check::duration;
use super::document::{Acceptance, Check, Resolved};
use super::expression::{self, Troubles};
use super::gated::Gated;
use super::models::{Makers, ModelSetting, Reach};
use super::protocols::{Procedure, Recipe};
use super::registry::Registry;
use crate::failure::Failure;
use crate::llm::{Audience, Model, Money, PriceTable, Prompts};
use crate::refine::{self, Accept, Limits, Oversight, Refine, edits::Keep};
use crate::sandbox::Environment;
use crate::verify::Verifier;

pub(super) type MakeModel<'a> = dyn Fn(&str) -> Result<Arc<dyn Model>, Failure> + 'a;

/// What verifiers and protocols are made with, besides their settings.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    pub(super) model: &'a MakeModel<'a>,
    pub(super) prompts: &'a Prompts,
    pub(super) environment: &'a Environment,
}

impl Parts<'_> {
    /// Returns the model that a name stands for: one from the spec's `models`, or `provider:model`.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn model(&self, name: &str) -> Result<Arc<dyn Model>, Failure> {
        (self.model)(name)
    }

    /// Returns the prompts, those of the spec included.
    #[must_use]
    pub fn prompts(&self) -> &Prompts {
        self.prompts
    }

    /// Returns the environment in which programs are looked for.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        self.environment
    }
}

impl fmt::Debug for Parts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// The models of a spec, each made once: a script goes on where it was, whoever asks.
pub(super) struct Models<'a> {
    settings: &'a BTreeMap<String, ModelSetting>,
    makers: &'a dyn Makers,
    made: Mutex<BTreeMap<String, Arc<dyn Model>>>,
}

impl<'a> Models<'a> {
    pub(super) fn new(spec: &'a Resolved, makers: &'a dyn Makers) -> Self {
        Self { settings: &spec.models, makers, made: Mutex::default() }
    }

    pub(super) fn get(&self, name: &str) -> Result<Arc<dyn Model>, Failure> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = made.get(name) {
            return Ok(Arc::clone(model));
        }
        let model = match self.settings.get(name) {
            Some(setting) => setting.make(name, self.makers)?,
            None if name.contains(':') => self.makers.model(name, &Reach::default())?,
            None => return Err(Error::Unknown { what: "model", name: name.to_owned() }.into()),
        };
        made.insert(name.to_owned(), Arc::clone(&model));
        Ok(model)
    }
}

/// Makes what runs, and the list of what went wrong with its expression.
pub(super) fn procedure(
    spec: &Resolved,
    registry: &Registry,
    makers: &dyn Makers,
    audience: Option<&Arc<dyn Audience>>,
) -> Result<(Procedure, Troubles), Failure> {
    let models = Models::new(spec, makers);
    let model = |name: &str| models.get(name);
    let mut prompts = Prompts::builtin();
    for (name, text) in &spec.prompts {
        prompts = prompts.with(name, &text.0)?;
    }
    let environment = makers.environment();
    let parts = Parts { model: &model, prompts: &prompts, environment: &environment };
    let troubles = Troubles::default();
    let criteria: Vec<refine::Criterion> =
        spec.verify.iter().map(|check| criterion(check, registry, &parts)).collect::<Result<_, _>>()?;
    let mut refine = refinement(spec, &parts, &troubles)?;
    for criterion in &criteria {
        refine = refine.criterion(criterion.clone());
    }
    if let Some(audience) = audience {
        refine = refine.heard_by(Arc::clone(audience));
    }
    let (name, settings) = spec.protocol.parts();
    let protocol = registry
        .protocols
        .get(name)
        .ok_or_else(|| Error::Unknown { what: "protocol", name: name.to_owned() })?;
    let (limits, prices, audience) = (limits(spec)?, prices(spec), audience.cloned());
    let recipe = Recipe { spec, refine, criteria, limits, prices, audience, parts };
    Ok(((protocol.make)(&settings, recipe)?, troubles))
}

fn refinement(spec: &Resolved, parts: &Parts<'_>, troubles: &Troubles) -> Result<Refine, Failure> {
    let mut refine = Refine::new(spec.name.as_str(), parts.model(&spec.draft.model)?)
        .task(&spec.draft.prompt.0)?
        .accept(acceptance(&spec.accept, troubles)?)
        .limits(limits(spec)?)
        .mode(spec.revise.mode)
        .revise_from(spec.revise.from)
        .candidates(spec.candidates)
        .oversight(oversight(spec)?)
        .prices(prices(spec))
        .prompts(parts.prompts().clone());
    if let Some(model) = &spec.revise.model {
        refine = refine.reviser(parts.model(model)?);
    }
    for other in &spec.others {
        refine = refine.or_else(parts.model(other)?);
    }
    for words in &spec.revise.keep {
        refine = refine.keep(Keep::words(words));
    }
    if let Some(tactics) = &spec.on_stall {
        refine = refine.on_stall(tactics.iter().copied());
    }
    if !spec.cascade {
        refine = refine.ask_all();
    }
    if spec.lessons {
        refine = refine.lessons();
    }
    Ok(refine)
}

fn criterion(check: &Check, registry: &Registry, parts: &Parts<'_>) -> Result<refine::Criterion, Failure> {
    let unknown = |name: &str| Error::Unknown { what: "kind of verifier", name: name.to_owned() };
    let (name, settings) = check.kind.iter().next().ok_or_else(|| unknown(""))?;
    let kind = registry.kinds.get(name).ok_or_else(|| unknown(name))?;
    let mut verifier: Arc<dyn Verifier> = (kind.make)(settings, parts)?;
    if let Some(gate) = check.gate {
        verifier = Arc::new(Gated::new(verifier, gate));
    }
    let criterion = refine::Criterion::shared(&check.name, verifier);
    Ok(match check.weight {
        Some(weight) => criterion.weight(weight),
        None => criterion,
    })
}

fn acceptance(accept: &Acceptance, troubles: &Troubles) -> Result<Accept, Failure> {
    match accept {
        Acceptance::Score(least) => Ok(Accept::Score(least.score)),
        Acceptance::When(expression) => {
            expression::accept(expression, troubles).map_err(|reason| Error::Settings { reason }.into())
        }
    }
}

fn limits(spec: &Resolved) -> Result<Limits, Failure> {
    let given = &spec.limits;
    let mut limits = Limits::default();
    limits.iterations = given.iterations.unwrap_or(limits.iterations);
    limits.tokens = given.tokens;
    limits.calls = given.calls;
    limits.plateau = given.plateau.unwrap_or_default().plateau();
    if let Some(cost) = &given.cost {
        let money = cost.0.parse::<Money>().map_err(|error| Error::Settings { reason: error.to_string() })?;
        limits.cost = Some(money);
    }
    limits.time = time(given.time.as_deref())?;
    Ok(limits)
}

/// Reads a time. A file was looked at before, but a flag may have changed it since.
fn time(text: Option<&str>) -> Result<Option<Duration>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let bad = || Error::Settings { reason: format!("`{text}` is not a time; write it like `90s` or `10m`") };
    Ok(Some(duration(text).ok_or_else(bad)?))
}

fn oversight(spec: &Resolved) -> Result<Oversight, Failure> {
    Ok(Oversight {
        each_iteration: spec.human.each_iteration,
        at_cap: spec.human.at_cap,
        on_stall: spec.human.on_stall,
        within: time(spec.human.within.as_deref())?,
    })
}

fn prices(spec: &Resolved) -> PriceTable {
    spec.models.iter().fold(PriceTable::builtin(), |prices, (alias, setting)| match setting.price() {
        Some(price) => prices.with(setting.name(alias), price),
        None => prices,
    })
}

impl Resolved {
    pub(super) fn deserialize_from(value: &Value) -> Result<Self, String> {
        serde::Deserialize::deserialize(value).map_err(|error: serde_json::Error| error.to_string())
    }
}
