//! Prompts: templates in files, versioned with the crate, overridable, and known by fingerprint.
//!
//! A built-in prompt is a Markdown file beside this one. A line `# System` begins what the model is told to be, a line
//! `# User` what it is asked; without them all of it is asked. The two parts are taken apart *before* anything is filled
//! in, so that a draft that contains such a line changes nothing.
//!
//! Templates are strict: a variable that nobody provides is an error before anything is paid, never an empty space.
//!
//! To add a prompt: a file here and a line in [`BUILTIN`] with the variables it may use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use serde::Serialize;
use serde_json::Value;

use super::Request;
use crate::failure::Fault;
use crate::fingerprint::Fingerprint;
use crate::suggest;

/// A prompt that comes with the crate.
struct Builtin {
    name: &'static str,
    source: &'static str,
    /// What it may use.
    variables: &'static [&'static str],
}

macro_rules! builtin {
    ($($name:literal: [$($variable:literal),*];)*) => {
        &[$(Builtin { name: $name, source: include_str!(concat!($name, ".md")), variables: &[$($variable),*] }),*]
    };
}

const BUILTIN: &[Builtin] = builtin! {
    "draft": ["task", "criteria"];
    "revise": ["task", "criteria", "draft", "findings", "strengths", "lessons", "failed", "focus"];
    "edits": ["task", "criteria", "draft", "findings", "strengths", "lessons", "failed", "focus", "refusals"];
    "section": ["task", "criteria", "draft", "part", "findings", "strengths", "lessons", "failed", "focus"];
    "judge": ["task", "criteria", "draft", "earlier", "lowest", "highest"];
    "pairwise": ["task", "criteria", "first", "second"];
    "claims": ["task", "draft"];
    "check-claim": ["claim", "document"];
    "lesson": ["task", "draft", "findings"];
    "verification-questions": ["task", "draft"];
    "verification-answer": ["question"];
    "verification-check": ["claim", "question", "answer"];
    "verification-rewrite": ["task", "draft", "facts"];
    "reasoning": ["task"];
    "check-steps": ["task", "steps"];
    "derive-answer": ["task", "steps"];
    "reasoning-revise": ["task", "verified", "fault"];
    "summary": ["text"];
    "answer-only": ["task"];
};

/// A text with holes, in the language of Jinja.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    name: Arc<str>,
    source: Arc<str>,
}

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// It cannot be read.
    #[error("the template `{name}` cannot be read, line {line}: {reason}")]
    Syntax {
        /// The template.
        name: String,
        /// Where, counted from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// It uses a variable that nobody provides.
    #[error("the template `{name}` uses `{variable}`, which nobody provides{}", meant(did_you_mean))]
    UnknownVariable {
        /// The template.
        name: String,
        /// The variable.
        variable: String,
        /// One that looks like it.
        did_you_mean: Option<String>,
        /// What there is.
        known: Vec<String>,
    },
    /// It cannot be filled in.
    #[error("the template `{name}` cannot be filled in, line {line}: {reason}")]
    Render {
        /// The template.
        name: String,
        /// Where, counted from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// There is no such prompt to override.
    #[error("there is no prompt `{name}`{}", meant(did_you_mean))]
    UnknownPrompt {
        /// The name.
        name: String,
        /// One that looks like it.
        did_you_mean: Option<String>,
    },
}

fn meant(word: &Option<String>) -> String {
    word.as_ref().map(|word| format!("; did you mean `{word}`?")).unwrap_or_default()
}

impl Fault for PromptError {
    fn code(&self) -> &str {
        match self {
            Self::Syntax { .. } => "template-syntax",
            Self::UnknownVariable { .. } => "template-variable",
            Self::Render { .. } => "template-render",
            Self::UnknownPrompt { .. } => "unknown-prompt",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownVariable { known, .. } if known.is_empty() => {
                Some("there are no variables here; declare an input to have one".to_owned())
            }
            Self::UnknownVariable { known, .. } => Some(format!("there are: {}", known.join(", "))),
            Self::UnknownPrompt { .. } => Some(format!("there are: {}", Prompts::names().join(", "))),
            Self::Syntax { .. } | Self::Render { .. } => None,
        }
    }
}

impl Template {
    /// Reads a template. `name` is what errors call it.
    ///
    /// # Errors
    /// [`PromptError::Syntax`].
    pub fn new(name: &str, source: &str) -> Result<Self, PromptError> {
        let template = Self { name: name.into(), source: source.into() };
        template.variables()?;
        Ok(template)
    }

    /// Makes a template from words that are known to be one.
    pub(crate) fn literal(name: &str, source: &'static str) -> Self {
        Self { name: name.into(), source: source.into() }
    }

    /// Returns the variables it uses.
    ///
    /// # Errors
    /// [`PromptError::Syntax`].
    pub fn variables(&self) -> Result<BTreeSet<String>, PromptError> {
        let environment = environment();
        let template = environment.template_from_str(&self.source).map_err(|error| PromptError::Syntax {
            name: self.name.to_string(),
            line: error.line().unwrap_or(1),
            reason: words(&error),
        })?;
        Ok(template.undeclared_variables(false).into_iter().collect())
    }

    /// Sees to it that it uses nothing but `known` variables.
    ///
    /// # Errors
    /// [`PromptError::UnknownVariable`].
    pub fn check<'a>(&self, known: impl IntoIterator<Item = &'a str>) -> Result<(), PromptError> {
        let known: Vec<&str> = known.into_iter().collect();
        match self.variables()?.into_iter().find(|variable| !known.contains(&variable.as_str())) {
            None => Ok(()),
            Some(variable) => Err(PromptError::UnknownVariable {
                name: self.name.to_string(),
                did_you_mean: suggest::nearest(&variable, known.iter().copied()),
                variable,
                known: known.into_iter().map(str::to_owned).collect(),
            }),
        }
    }

    /// Fills it in.
    ///
    /// # Errors
    /// [`PromptError::Render`], for instance when a variable has no such field.
    pub fn render(&self, values: impl Serialize) -> Result<String, PromptError> {
        environment().render_str(&self.source, Serde(values)).map_err(|error| PromptError::Render {
            name: self.name.to_string(),
            line: error.line().unwrap_or(1),
            reason: words(&error),
        })
    }

    /// Returns its text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// How much work a template may make: enough for a book, not enough to hang.
const FUEL: u64 = 5_000_000;

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    // A tag on a line of its own leaves no empty line behind. The delimiters are the usual ones, which is always legal.
    if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
        environment.set_syntax(syntax);
    }
    environment.set_fuel(Some(FUEL));
    environment
}

fn words(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => detail.to_owned(),
        None if error.kind() == ErrorKind::UndefinedError => "a value that is not there is used".to_owned(),
        None => error.kind().to_string(),
    }
}

/// A prompt that is filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// What the model is told to be.
    pub system: Option<String>,
    /// What it is asked.
    pub user: String,
}

impl From<Rendered> for Request {
    fn from(rendered: Rendered) -> Self {
        let request = Request::new(rendered.user);
        match rendered.system {
            Some(system) => request.system(system),
            None => request,
        }
    }
}

/// The prompts that redraft asks with: the built-in ones, and those that the user put in their place.
///
/// ```
/// use redraft::llm::Prompts;
///
/// let prompts = Prompts::builtin().with("draft", "Write about this, in verse: {{ task }}")?;
/// let rendered = prompts.render("draft", serde_json::json!({ "task": "tides", "criteria": [] }))?;
/// assert_eq!(rendered.user, "Write about this, in verse: tides");
/// assert!(Prompts::builtin().with("draft", "{{ taks }}").unwrap_err().to_string().contains("did you mean `task`"));
/// # Ok::<(), redraft::llm::PromptError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    /// By name; what is not here is built in.
    own: BTreeMap<String, Arc<str>>,
}

impl Prompts {
    /// Returns the prompts that come with the crate.
    #[must_use]
    pub fn builtin() -> Self {
        Self::default()
    }

    /// Returns the names of all prompts.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        BUILTIN.iter().map(|prompt| prompt.name).collect()
    }

    /// Puts the user's own text in the place of a prompt.
    ///
    /// # Errors
    /// If there is no prompt of that name, the template cannot be read, or it uses a variable that the prompt does not
    /// have.
    pub fn with(mut self, name: &str, source: &str) -> Result<Self, PromptError> {
        let prompt = builtin(name)?;
        for (_, template) in parts(name, source)? {
            template.check(prompt.variables.iter().copied())?;
        }
        self.own.insert(name.to_owned(), source.into());
        Ok(self)
    }

    /// Returns the text of a prompt.
    ///
    /// # Errors
    /// If there is no prompt of that name.
    pub fn source(&self, name: &str) -> Result<&str, PromptError> {
        let builtin = builtin(name)?;
        Ok(self.own.get(name).map_or(builtin.source, |own| &**own))
    }

    /// Returns what tells this version of a prompt from all others. It goes into the journal.
    ///
    /// # Errors
    /// If there is no prompt of that name.
    pub fn fingerprint(&self, name: &str) -> Result<Fingerprint, PromptError> {
        Ok(Fingerprint::of([self.source(name)?.as_bytes()]))
    }

    /// Fills a prompt in.
    ///
    /// # Errors
    /// If there is no prompt of that name, or a value that it needs is missing.
    pub fn render(&self, name: &str, values: impl Serialize) -> Result<Rendered, PromptError> {
        let mut rendered = Rendered { system: None, user: String::new() };
        let source = self.source(name)?;
        let mut values = serde_json::to_value(values).unwrap_or_default();
        keep_inside(&closing_tags(source), &mut values);
        for (part, template) in parts(name, source)? {
            let text = template.render(&values)?.trim().to_owned();
            match part {
                Part::System => rendered.system = Some(text).filter(|text| !text.is_empty()),
                Part::User => rendered.user = text,
            }
        }
        Ok(rendered)
    }
}

/// Finds the tags that a prompt closes: what is filled in must not close them before.
fn closing_tags(source: &str) -> BTreeSet<&str> {
    let tags = source.split("</").skip(1).filter_map(|rest| rest.split_once('>'));
    tags.map(|(tag, _)| tag).filter(|tag| !tag.is_empty() && tag.chars().all(char::is_alphanumeric)).collect()
}

/// Sees to it that a draft stays between its tags: `</draft>` in it becomes `<\/draft>`.
fn keep_inside(tags: &BTreeSet<&str>, value: &mut Value) {
    match value {
        Value::String(text) if text.contains("</") => {
            let mut kept = String::with_capacity(text.len());
            for (at, rest) in text.split("</").enumerate() {
                let word: &str = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                let closes = tags.iter().any(|tag| tag.eq_ignore_ascii_case(word));
                if at > 0 {
                    kept.push_str(if closes { "<\\/" } else { "</" });
                }
                kept.push_str(rest);
            }
            *text = kept;
        }
        Value::Array(items) => items.iter_mut().for_each(|item| keep_inside(tags, item)),
        Value::Object(fields) => fields.values_mut().for_each(|field| keep_inside(tags, field)),
        _ => {}
    }
}

fn builtin(name: &str) -> Result<&'static Builtin, PromptError> {
    BUILTIN.iter().find(|prompt| prompt.name == name).ok_or_else(|| PromptError::UnknownPrompt {
        name: name.to_owned(),
        did_you_mean: suggest::nearest(name, Prompts::names()),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    System,
    User,
}

/// Takes a prompt apart. Both parts keep the line numbers of the file.
fn parts(name: &str, source: &str) -> Result<Vec<(Part, Template)>, PromptError> {
    let mut texts: Vec<(Part, String)> = Vec::new();
    let mut before = String::new();
    for line in source.split_inclusive('\n') {
        match line.trim_end() {
            "# System" => texts.push((Part::System, format!("{before}\n"))),
            "# User" => texts.push((Part::User, format!("{before}\n"))),
            _ => {
                if let Some((_, text)) = texts.last_mut() {
                    text.push_str(line);
                }
            }
        }
        before.push('\n');
    }
    if texts.is_empty() {
        texts.push((Part::User, source.to_owned()));
    }
    texts.into_iter().map(|(part, text)| Ok((part, Template::new(name, &text)?))).collect()
}

#[cfg(test)]
mod tests;
