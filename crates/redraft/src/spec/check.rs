//! Looks at a whole file before anything is paid, and finds all that is wrong with it at once.
//!
//! First the shape (`fit`), then what stands in other files (`include`), then what only makes sense together: names,
//! models, templates, expressions, amounts. What has the wrong shape is not looked at twice. `judging` looks at the
//! verifiers, this file at the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use jiff::SignedDuration;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::build::procedure;
use super::diagnostic::{Diagnostic, Mistake};
use super::document::{Acceptance, Amount, Fragment, LimitSetting, People, Resolved, Revise, Words};
use super::expression;
use super::fit::{misfits, name};
use super::include::{self, Missing};
use super::models::{ModelSetting, Named, variable};
use super::registry::Registry;
use super::schema::shape;
use super::source::{Source, Tree, below};
use crate::failure::{Failure, Fault};
use crate::llm::{Money, PromptError, Prompts, Template};
use crate::path::check_name;
use crate::refine::Tactic;
use crate::suggest::nearest;

/// Makes a spec of a file.
///
/// # Errors
/// Everything that is wrong with it, in the order of the file.
pub(super) fn check(
    tree: Tree,
    folder: Option<&Path>,
    registry: &Registry,
) -> Result<(Resolved, Tree), Vec<Diagnostic>> {
    let mut checker = Checker::new(tree, folder, registry);
    checker.shape();
    if checker.tree.value.is_object() {
        checker.files();
        checker.head();
        checker.models();
        checker.drafting();
        checker.judging();
        checker.going_on();
        checker.protocol();
    }
    checker.finish()
}

pub(super) struct Checker<'a> {
    pub(super) tree: Tree,
    pub(super) folder: Option<&'a Path>,
    pub(super) registry: &'a Registry,
    /// What has the wrong shape, by pointer.
    broken: BTreeSet<String>,
    /// Files that were taken in, by the pointer of what they hold.
    pub(super) files: BTreeMap<String, Source>,
    found: Vec<Diagnostic>,
    /// What is not to be shown.
    secrets: Vec<String>,
}

impl<'a> Checker<'a> {
    fn new(tree: Tree, folder: Option<&'a Path>, registry: &'a Registry) -> Self {
        Self {
            tree,
            folder,
            registry,
            broken: BTreeSet::new(),
            files: BTreeMap::new(),
            found: Vec::new(),
            secrets: Vec::new(),
        }
    }

    fn shape(&mut self) {
        for misfit in misfits(&shape(self.registry), &self.tree) {
            self.broken.insert(misfit.pointer);
            self.found.push(misfit.diagnostic);
        }
    }

    fn finish(mut self) -> Result<(Resolved, Tree), Vec<Diagnostic>> {
        if self.found.is_empty() {
            match Resolved::deserialize_from(&self.tree.value) {
                Ok(resolved) => {
                    self.rehearse(&resolved);
                    if self.found.is_empty() {
                        return Ok((resolved, self.tree));
                    }
                }
                Err(reason) => self.say("", Diagnostic::new(Mistake::WrongType, reason)),
            }
        }
        for found in &mut self.found {
            self.secrets.iter().for_each(|secret| found.hide(secret));
        }
        self.found.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        self.found.dedup();
        Err(self.found)
    }

    /// Says that what stands at a pointer, or below it, has the wrong shape.
    pub(super) fn is_broken(&self, pointer: &str) -> bool {
        let inside = format!("{pointer}/");
        self.broken.iter().any(|broken| broken == pointer || broken.starts_with(&inside))
    }

    pub(super) fn mark_broken(&mut self, pointer: &str) {
        self.broken.insert(pointer.to_owned());
    }

    /// Reads what stands at a pointer; nothing if it is not there or has the wrong shape.
    pub(super) fn read<T: DeserializeOwned>(&mut self, pointer: &str) -> Option<T> {
        if self.is_broken(pointer) {
            return None;
        }
        let value = self.tree.value.pointer(pointer).filter(|value| !value.is_null())?;
        match T::deserialize(value) {
            Ok(read) => Some(read),
            Err(error) => {
                self.mark_broken(pointer);
                let message = format!("{} cannot be used: {error}", name(pointer));
                self.say(pointer, Diagnostic::new(Mistake::WrongType, message));
                None
            }
        }
    }

    /// Adds a mistake at the value of a pointer.
    pub(super) fn say(&mut self, pointer: &str, diagnostic: Diagnostic) {
        let value = self.tree.value_at(pointer);
        let many_lines = self.tree.source.text.get(value.clone()).is_none_or(|text| text.contains('\n'));
        let range = if many_lines || value.is_empty() { self.tree.key_at(pointer) } else { value };
        self.say_at(range, diagnostic);
    }

    pub(super) fn say_at(&mut self, range: Range<usize>, diagnostic: Diagnostic) {
        self.found.push(diagnostic.at(&self.tree.source, range));
    }

    /// Adds what something else says is wrong.
    pub(super) fn fails(&mut self, pointer: &str, failure: &Failure) {
        let mut diagnostic = Diagnostic::coded(&failure.code, one_line(&failure.message));
        diagnostic.hint.clone_from(&failure.hint);
        self.say(pointer, diagnostic);
    }

    fn files(&mut self) {
        let mut texts = vec!["/draft/prompt".to_owned()];
        texts.extend(include::places(&self.tree.value, "/prompts", "*"));
        for pointer in texts {
            self.include(&pointer, include::words);
        }
        for pointer in include::places(&self.tree.value, "/models", "*/cassette") {
            let recorded = pointer.replace("/cassette", "/record");
            if self.tree.value.pointer(&recorded) == Some(&Value::Bool(true)) {
                let folder = self.folder;
                if let Some(Value::String(path)) = self.tree.value.pointer_mut(&pointer) {
                    *path = include::seen_from(path, folder).to_string_lossy().into_owned();
                }
            } else {
                self.include(&pointer, |value, folder| include::take_in(value, include::Form::Path, folder));
            }
        }
    }

    /// Takes a file in; one that cannot be read is a mistake.
    pub(super) fn include(
        &mut self,
        pointer: &str,
        take: impl FnOnce(&mut Value, Option<&Path>) -> Result<Option<Source>, Missing>,
    ) {
        if self.is_broken(pointer) {
            return;
        }
        let folder = self.folder;
        let Some(value) = self.tree.value.pointer_mut(pointer) else { return };
        let at = if value.get("file").is_some() { below(pointer, "file") } else { pointer.to_owned() };
        match take(value, folder) {
            Ok(Some(source)) => drop(self.files.insert(pointer.to_owned(), source)),
            Ok(None) => {}
            Err(missing) => {
                self.mark_broken(pointer);
                let mut diagnostic = Diagnostic::new(Mistake::File, missing.message);
                diagnostic.hint = missing.hint;
                self.say(&at, diagnostic);
            }
        }
    }

    fn head(&mut self) {
        if let Some(name) = self.read::<String>("/name")
            && let Err(error) = check_name(&name)
        {
            self.say("/name", Diagnostic::coded("bad-name", error.to_string()));
        }
        let inputs = self.tree.value.get("input").and_then(Value::as_object);
        let inputs: Vec<String> = inputs.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        for name in inputs {
            let pointer = below("/input", &name);
            if let Some(Fragment(fragment)) = self.read(&pointer) {
                self.input(&pointer, &name, &fragment);
            }
        }
    }

    fn input(&mut self, pointer: &str, name: &str, fragment: &Value) {
        let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_word {
            let message = format!("an input cannot be called `{name}`: a template could not name it");
            let meant = Some(name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
            let range = self.tree.key_at(pointer);
            self.say_at(range, Diagnostic::new(Mistake::BadValue, message).meant(meant));
        }
        let validator = match jsonschema::validator_for(fragment) {
            Ok(validator) => validator,
            Err(error) => {
                let at = format!("{pointer}{}", error.instance_path().as_str());
                let message = format!("the schema of `{name}` cannot be used: {error}");
                return self.say(&at, Diagnostic::coded("bad-schema", message));
            }
        };
        if let Some(default) = fragment.get("default")
            && let Err(error) = validator.validate(default)
        {
            let message = format!("the default of `{name}` does not fit its own schema: {error}");
            self.say(&below(pointer, "default"), Diagnostic::new(Mistake::BadValue, message));
        }
    }

    fn models(&mut self) {
        for pointer in include::places(&self.tree.value, "/models", "*/key") {
            let key = self.tree.value.pointer(&pointer).and_then(Value::as_str);
            if key.is_some_and(|key| variable(key).is_none()) {
                self.secret(&pointer);
            }
        }
        let names: Vec<String> = include::places(&self.tree.value, "/models", "*");
        for pointer in names {
            let Some(setting) = self.read::<ModelSetting>(&pointer) else { continue };
            match setting {
                ModelSetting::Name(model) => self.provider(&pointer, &model),
                ModelSetting::Table(table) => {
                    let scripted = table.scripted.is_some();
                    match (&table.model, scripted, table.cassette.is_some()) {
                        (Some(model), false, _) => self.provider(&below(&pointer, "model"), model),
                        (None, true, false) => {}
                        (None, false, true) => {
                            let message =
                                format!("{} plays a cassette, but of which `model`?", name(&pointer));
                            self.say(&pointer, Diagnostic::new(Mistake::MissingKey, message));
                        }
                        (None, false, false) => {
                            let message = format!("{} needs `model` or `scripted`", name(&pointer));
                            self.say(&pointer, Diagnostic::new(Mistake::MissingKey, message));
                        }
                        _ => {
                            let message = format!(
                                "{} is scripted, so it has no `model` and no `cassette`",
                                name(&pointer)
                            );
                            self.say(&pointer, Diagnostic::new(Mistake::Kind, message));
                        }
                    }
                    if table.scripted.is_some_and(|answers| answers.is_empty()) {
                        let message = "a script without answers can say nothing";
                        self.say(&below(&pointer, "scripted"), Diagnostic::new(Mistake::BadValue, message));
                    }
                    if let Some(price) = table.price {
                        let at = below(&pointer, "price");
                        self.amount(&below(&at, "input"), &price.input.0);
                        self.amount(&below(&at, "output"), &price.output.0);
                        price.cached.iter().for_each(|cached| self.amount(&below(&at, "cached"), &cached.0));
                    }
                }
            }
        }
    }

    /// A key in a spec is a mistake that is not shown again, not even beside another.
    fn secret(&mut self, pointer: &str) {
        let range = self.tree.value_at(pointer);
        self.secrets.extend(self.tree.source.text.get(range.clone()).map(str::to_owned));
        let message = "a key does not belong into a spec; name the variable that holds it";
        let diagnostic = Diagnostic::new(Mistake::Secret, message).hint("write `key: ${OPENAI_API_KEY}`");
        self.say_at(range.start..range.start, diagnostic);
    }

    fn provider(&mut self, pointer: &str, model: &str) {
        let known: Vec<&str> = self.registry.providers.iter().map(String::as_str).collect();
        let diagnostic = match model.split_once(':') {
            // `local:` alone is the model that comes with the program.
            Some((provider, model))
                if known.contains(&provider) && (!model.is_empty() || provider == "local") =>
            {
                return;
            }
            Some((provider, _)) if known.contains(&provider) => {
                Diagnostic::new(Mistake::UnknownModel, format!("`{provider}:` names no model"))
            }
            Some((provider, _)) => {
                Diagnostic::coded("unknown-provider", format!("there is no provider `{provider}`"))
                    .meant(nearest(provider, known.iter().copied()))
                    .expected(known)
            }
            None => Diagnostic::new(Mistake::UnknownModel, format!("`{model}` is not `provider:model`"))
                .hint("write it like `openai:gpt-5-mini`"),
        };
        self.say(pointer, diagnostic);
    }

    /// Looks at a name of a model: one from `models`, or `provider:model`.
    pub(super) fn model(&mut self, pointer: &str) {
        let Some(model) = self.read::<String>(pointer) else { return };
        let aliases = self.tree.value.get("models").and_then(Value::as_object);
        let aliases: Vec<String> = aliases.into_iter().flatten().map(|(alias, _)| alias.clone()).collect();
        if aliases.contains(&model) {
            return;
        }
        if model.contains(':') {
            return self.provider(pointer, &model);
        }
        let diagnostic =
            Diagnostic::new(Mistake::UnknownModel, format!("there is no model `{model}` in `models`"))
                .meant(nearest(&model, aliases.iter().map(String::as_str)))
                .expected(aliases)
                .hint("name it in `models`, or write `provider:model`");
        self.say(pointer, diagnostic);
    }

    fn drafting(&mut self) {
        for pointer in models_named(&self.tree.value, self.registry) {
            self.model(&pointer);
        }
        let input = self.tree.value.get("input").and_then(Value::as_object);
        let inputs: Vec<String> = input.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        if let Some(Words(prompt)) = self.read("/draft/prompt") {
            self.template("/draft/prompt", &prompt, &inputs);
        }
        let prompts = self.tree.value.get("prompts").and_then(Value::as_object);
        let prompts: Vec<String> = prompts.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        for prompt in prompts {
            let pointer = below("/prompts", &prompt);
            if let Some(Words(text)) = self.read(&pointer)
                && let Err(error) = Prompts::builtin().with(&prompt, &text)
            {
                self.prompt(&pointer, &error);
            }
        }
    }

    fn template(&mut self, pointer: &str, text: &str, inputs: &[String]) {
        match Template::new("prompt", text).and_then(|template| template.variables()) {
            Err(error) => self.prompt(pointer, &error),
            Ok(used) => {
                for variable in used.into_iter().filter(|variable| !inputs.contains(variable)) {
                    let error = PromptError::UnknownVariable {
                        name: "prompt".to_owned(),
                        did_you_mean: nearest(&variable, inputs.iter().map(String::as_str)),
                        variable,
                        known: inputs.to_vec(),
                    };
                    self.prompt(pointer, &error);
                }
            }
        }
    }

    /// Says what is wrong with a prompt, in the very word if it can be found, in whichever file it stands.
    fn prompt(&mut self, pointer: &str, error: &PromptError) {
        let mut diagnostic = Diagnostic::coded(error.code(), error.to_string());
        diagnostic.hint = error.hint();
        let file = self.files.get(pointer).cloned();
        let (source, whole) = match &file {
            Some(file) => (file, 0..file.text.len()),
            None => (&self.tree.source, self.tree.value_at(pointer)),
        };
        let range = match error {
            PromptError::UnknownVariable { variable, did_you_mean, .. } => {
                diagnostic.message = format!("nobody provides `{variable}`");
                diagnostic.did_you_mean.clone_from(did_you_mean);
                word_in_holes(&source.text, whole.clone(), variable)
            }
            PromptError::UnknownPrompt { did_you_mean, .. } => {
                diagnostic.message = format!("there is no prompt {}", name(pointer));
                diagnostic.did_you_mean.clone_from(did_you_mean);
                Some(self.tree.key_at(pointer))
            }
            _ => None,
        };
        match (range, file) {
            (Some(range), Some(file)) => self.found.push(diagnostic.at(&file, range)),
            (Some(range), None) => self.say_at(range, diagnostic),
            (None, Some(file)) => {
                let line = line_of(error);
                let start = file.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
                self.found.push(diagnostic.at(&file, start..start));
            }
            (None, None) => self.say(pointer, diagnostic),
        }
    }

    fn going_on(&mut self) {
        if let Some(Acceptance::When(expression)) = self.read("/accept") {
            self.expression("/accept", &expression);
        }
        if let Some(Amount(cost)) = self.read("/limits/cost") {
            self.amount("/limits/cost", &cost);
        }
        for pointer in ["/limits/time", "/human/within"] {
            if let Some(time) = self.read::<String>(pointer) {
                self.time(pointer, &time);
            }
        }
        // What only its type can refuse, such as a number that is too large.
        let _: (Option<Revise>, Option<LimitSetting>) = (self.read("/revise"), self.read("/limits"));
        let _: (Option<People>, Option<u32>) = (self.read("/human"), self.read("/candidates"));
        let tactics: Vec<Tactic> = self.read("/on_stall").unwrap_or_default();
        let others: Vec<String> = self.read("/others").unwrap_or_default();
        if let Some(at) = tactics.iter().position(|tactic| *tactic == Tactic::SwitchModel)
            && others.is_empty()
        {
            let message = "`switch_model` needs another model to switch to";
            let diagnostic =
                Diagnostic::coded("bad-tactic", message).hint("list some: `others: [provider:model]`");
            self.say(&format!("/on_stall/{at}"), diagnostic);
        }
    }

    fn expression(&mut self, pointer: &str, text: &str) {
        let verifiers = include::places(&self.tree.value, "/verify", "*/name");
        let names = verifiers.iter().filter_map(|at| Some(self.tree.value.pointer(at)?.as_str()?.to_owned()));
        let names: Vec<String> = names.collect();
        for wrong in expression::check(text, &names) {
            let whole = self.tree.value_at(pointer);
            let shown = self.tree.source.text.get(whole.clone()).unwrap_or_default();
            let quoted = usize::from(shown.starts_with(['"', '\'']));
            let range = match (&wrong.word, wrong.at) {
                (Some(word), _) => word_in(&self.tree.source.text, whole.clone(), word),
                (None, Some((1, column))) => {
                    let at = (whole.start + quoted + column.saturating_sub(1)).min(whole.end);
                    Some(at..at)
                }
                _ => None,
            };
            let diagnostic = Diagnostic::new(Mistake::Expression, wrong.message)
                .meant(wrong.did_you_mean)
                .expected(wrong.expected);
            self.say_at(range.unwrap_or(whole), diagnostic);
        }
    }

    fn amount(&mut self, pointer: &str, text: &str) {
        if let Err(error) = text.parse::<Money>() {
            self.say(pointer, Diagnostic::new(Mistake::BadValue, error.to_string()));
        }
    }

    fn time(&mut self, pointer: &str, text: &str) {
        if duration(text).is_none() {
            let message = format!("`{text}` is not a time");
            let diagnostic =
                Diagnostic::new(Mistake::BadValue, message).hint("write it like `90s`, `10m` or `1h 30m`");
            self.say(pointer, diagnostic);
        }
    }

    fn protocol(&mut self) {
        let registry = self.registry;
        let name = match self.tree.value.get("protocol") {
            None | Some(Value::Null) => "refine".to_owned(),
            // With two of them the shape is wrong, and that is said already.
            Some(Value::Object(map)) if map.len() == 1 => map.keys().next().cloned().unwrap_or_default(),
            Some(other) => other.as_str().unwrap_or_default().to_owned(),
        };
        let protocol = registry.protocols.get(&name);
        let given = self.tree.value.get("verify");
        let missing =
            given.is_none_or(|verify| verify.is_null() || verify.as_array().is_some_and(Vec::is_empty));
        // A key that is misspelt is not missing, too.
        let misspelt = self.found.iter().any(|found| found.did_you_mean.as_deref() == Some("verify"));
        if missing && !misspelt && protocol.is_some_and(|protocol| protocol.needs_verifiers) {
            let message = "there are no criteria: nothing would judge the drafts";
            let hint = "add a verifier: `verify: [{ name: short, text: { words: { max: 100 } } }]`";
            self.say("/verify", Diagnostic::coded("no-criteria", message).hint(hint));
        }
    }

    /// Makes everything but the models, for what only shows when the pieces are put together.
    fn rehearse(&mut self, spec: &Resolved) {
        if let Err(failure) = procedure(spec, self.registry, &Named, None) {
            let pointer = if self.tree.value.get("protocol").is_some() { "/protocol" } else { "" };
            self.fails(pointer, &failure);
        }
    }
}

/// Returns the pointers of everything in a spec that names a model.
pub(super) fn models_named(value: &Value, registry: &Registry) -> Vec<String> {
    let mut settings = vec!["draft/model".to_owned(), "revise/model".to_owned(), "others/*".to_owned()];
    for (name, kind) in &registry.kinds {
        settings.extend(kind.models.iter().map(|setting| format!("verify/*/{name}/{setting}")));
    }
    for (name, protocol) in &registry.protocols {
        settings.extend(protocol.models.iter().map(|setting| format!("protocol/{name}/{setting}")));
    }
    settings.iter().flat_map(|setting| include::places(value, "", setting)).collect()
}

/// Says in one line what was said in several: the first and the last say what is wrong, those between only show it.
fn one_line(message: &str) -> String {
    let mut lines = message.lines().map(str::trim);
    let first =
        lines.next().unwrap_or_default().trim_end_matches("regex parse error:").trim_end_matches([':', ' ']);
    match lines.next_back() {
        Some(last) => format!("{first}: {}", last.trim_start_matches("error: ")),
        None => first.to_owned(),
    }
}

/// Reads a time; nothing if it is none, or no time at all.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let time: SignedDuration = text.parse().ok()?;
    Duration::try_from(time).ok().filter(|time| !time.is_zero())
}

fn line_of(error: &PromptError) -> usize {
    match error {
        PromptError::Syntax { line, .. } | PromptError::Render { line, .. } => *line,
        _ => 1,
    }
}

/// Finds a word by itself within a range.
pub(super) fn word_in(text: &str, range: Range<usize>, word: &str) -> Option<Range<usize>> {
    let inside = text.get(range.clone())?;
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    inside.match_indices(word).find_map(|(at, _)| {
        let before = inside[..at].chars().next_back();
        let after = inside[at + word.len()..].chars().next();
        let alone = !before.is_some_and(is_part) && !after.is_some_and(is_part);
        alone.then(|| range.start + at..range.start + at + word.len())
    })
}

/// Finds a word within the holes of a template.
fn word_in_holes(text: &str, range: Range<usize>, word: &str) -> Option<Range<usize>> {
    let mut from = range.start;
    while from < range.end {
        let inside = text.get(from..range.end)?;
        let open = from + inside.find("{{").into_iter().chain(inside.find("{%")).min()?;
        let rest = text.get(open..range.end)?;
        let close =
            rest.find("}}").into_iter().chain(rest.find("%}")).min().map_or(range.end, |at| open + at);
        if let Some(found) = word_in(text, open..close, word) {
            return Some(found);
        }
        from = close.max(open + 2);
    }
    None
}
