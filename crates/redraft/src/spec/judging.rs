//! Looks at the verifiers of a file: that each has one kind, that no two have the same name, and that they can be made.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::build::Parts;
use super::check::Checker;
use super::diagnostic::{Diagnostic, Mistake};
use super::include;
use super::models::Unmade;
use super::source::below;
use crate::failure::Failure;
use crate::llm::{Model, Prompts};
use crate::path::check_name;
use crate::sandbox::Environment;

/// What stands beside the kind.
pub(super) const BESIDE: [&str; 3] = ["name", "weight", "gate"];

impl Checker<'_> {
    pub(super) fn judging(&mut self) {
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for (at, pointer) in include::places(&self.tree.value, "/verify", "*").into_iter().enumerate() {
            let Some(Value::Object(entry)) = self.tree.value.pointer(&pointer).cloned() else { continue };
            if let Some(name) = entry.get("name").and_then(Value::as_str) {
                self.verifier_name(&below(&pointer, "name"), name, names.insert(name.to_owned(), at));
            }
            self.kind(&pointer, &entry);
        }
    }

    fn verifier_name(&mut self, pointer: &str, name: &str, earlier: Option<usize>) {
        if let Some(earlier) = earlier {
            let message = format!("two verifiers are called `{name}`");
            let hint = format!("entry {} has that name already", earlier + 1);
            self.say(pointer, Diagnostic::coded("duplicate-name", message).hint(hint));
        } else if let Err(error) = check_name(name) {
            self.say(pointer, Diagnostic::coded("bad-name", error.to_string()));
        }
    }

    fn kind(&mut self, pointer: &str, entry: &Map<String, Value>) {
        let given = entry.keys().filter(|key| !BESIDE.contains(&key.as_str()));
        let (mut known, unknown): (Vec<&String>, Vec<&String>) =
            given.partition(|key| self.registry.kinds.contains_key(*key));
        known.sort();
        match known.as_slice() {
            [kind] => self.settings(&below(pointer, kind), kind),
            // Whatever stands there was called unknown already.
            [] if !unknown.is_empty() => {}
            [] => {
                let message = "this verifier has no kind: what does it look at?";
                let diagnostic = Diagnostic::new(Mistake::Kind, message).expected(self.registry.kinds());
                self.say(pointer, diagnostic);
            }
            [first, second, ..] => {
                let message = format!("a verifier has one kind, and this one has `{first}` and `{second}`");
                let range = self.tree.key_at(&below(pointer, second));
                let hint = "make two verifiers of it";
                self.say_at(range, Diagnostic::new(Mistake::Kind, message).hint(hint));
            }
        }
    }

    fn settings(&mut self, pointer: &str, name: &str) {
        let Some(kind) = self.registry.kinds.get(name).cloned() else { return };
        for include in &kind.includes {
            for at in include::places(&self.tree.value, pointer, include.setting) {
                let form = include.form;
                self.include(&at, |value, folder| include::take_in(value, form, folder));
            }
        }
        if self.is_broken(pointer) {
            return;
        }
        let Some(settings) = self.tree.value.pointer(pointer).cloned() else { return };
        let unmade = |name: &str| -> Result<Arc<dyn Model>, Failure> { Ok(Arc::new(Unmade(name.into()))) };
        let prompts = Prompts::builtin();
        let environment = Environment::new::<&str, &str>([]);
        let parts = Parts { model: &unmade, prompts: &prompts, environment: &environment };
        if let Err(failure) = (kind.make)(&settings, &parts) {
            let at = self.blamed(pointer, &settings, &failure.message);
            self.fails(&at, &failure);
        }
    }

    /// Finds the setting that a message is about: the one it names.
    fn blamed(&self, pointer: &str, settings: &Value, message: &str) -> String {
        let Some(settings) = settings.as_object() else { return pointer.to_owned() };
        let quoted = |text: &str| message.contains(&format!("`{text}`"));
        let by_key = settings.iter().find(|(key, _)| quoted(key));
        let by_value = || settings.iter().find(|(_, value)| value.as_str().is_some_and(quoted));
        let by_word = || settings.iter().find(|(key, _)| message.split(' ').any(|word| word == key.as_str()));
        let blamed = by_key.or_else(by_value).or_else(by_word);
        blamed.map_or_else(|| pointer.to_owned(), |(key, _)| below(pointer, key))
    }
}
