//! What can be demanded of a text, as it stands in a spec file. Plain data: nothing here is checked or compiled yet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Text;
use crate::verify::Error;

/// What is demanded of a text. Everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[schemars(rename = "TextConfig")]
#[non_exhaustive]
pub struct Config {
    /// How many characters, as people see them; white space around the text does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub characters: Option<Bounds>,
    /// How many words; what is joined by hyphens is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<Bounds>,
    /// How many sentences; headings and fenced code are none, and every list item is at least one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentences: Option<Bounds>,
    /// How many blocks between blank lines; headings that stand alone are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paragraphs: Option<Bounds>,
    /// How many Markdown headings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headings: Option<Bounds>,
    /// How many words the first sentence has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_sentence_words: Option<Bounds>,
    /// What the text ends with; of several, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_token: Option<OneOrMany<LastToken>>,
    /// What must stand in the text; of several, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<OneOrMany<String>>,
    /// What must not stand in the text, not even as a part of a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_contains: Option<OneOrMany<String>>,
    /// A pattern that must be found; of several, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<OneOrMany<String>>,
    /// A pattern that must not be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_regex: Option<OneOrMany<String>>,
    /// How easily an English text reads by Flesch's formula: 100 is very easy, 0 very hard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading_ease: Option<EaseBounds>,
    /// Whether no sentence may stand twice.
    #[serde(default, skip_serializing_if = "is_false")]
    pub no_duplicate_sentences: bool,
    /// Whether `contains`, `not_contains`, `regex`, `not_regex` and the pattern of `last_token` take `A` for `a`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ignore_case: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a function of a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// How many of something. `exactly` goes alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// At least so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<usize>,
    /// At most so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<usize>,
    /// So many, no more and no fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exactly: Option<usize>,
}

/// How easily a text reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EaseBounds {
    /// At least so easily.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// At most so easily.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// What a text ends with, not counting punctuation after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LastToken {
    /// A number in digits: `7`, `3,000`, `1.5`, `1/3`, `$20`; percentages and years are numbers too.
    Number,
    /// A number with a percent sign: `40%`, `40 %`.
    Percentage,
    /// A year from 1000 to 2999.
    Year,
    /// Something that fits a pattern from its beginning to its end.
    Regex(String),
}

/// One of something, or a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected one value or a list of them (for `last_token`: `number`, `percentage`, `year` or `{regex: …}`)"
)]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// A list.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// Returns all of them.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }

    fn push(into: &mut Option<Self>, next: T) {
        let mut all = match into.take() {
            None => Vec::new(),
            Some(Self::One(one)) => vec![one],
            Some(Self::Many(many)) => many,
        };
        all.push(next);
        *into = Some(Self::Many(all));
    }
}

impl Bounds {
    /// Demands so many, no more and no fewer.
    #[must_use]
    pub fn exactly(count: usize) -> Self {
        Self { exactly: Some(count), ..Self::default() }
    }

    /// Demands at least so many.
    #[must_use]
    pub fn min(count: usize) -> Self {
        Self { min: Some(count), ..Self::default() }
    }

    /// Demands at most so many.
    #[must_use]
    pub fn max(count: usize) -> Self {
        Self { max: Some(count), ..Self::default() }
    }

    /// Demands from so many to so many, both included.
    #[must_use]
    pub fn between(min: usize, max: usize) -> Self {
        Self { min: Some(min), max: Some(max), exactly: None }
    }
}

impl EaseBounds {
    /// Demands that a text reads at least so easily.
    #[must_use]
    pub fn min(ease: f64) -> Self {
        Self { min: Some(ease), max: None }
    }

    /// Demands that a text reads at most so easily.
    #[must_use]
    pub fn max(ease: f64) -> Self {
        Self { min: None, max: Some(ease) }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $kind:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, bounds: $kind) -> Self {
            self.$name = Some(bounds);
            self
        }
    )*};
}

impl Config {
    /// Demands nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Demands so many characters.
        characters: Bounds;
        /// Demands so many words.
        words: Bounds;
        /// Demands so many sentences.
        sentences: Bounds;
        /// Demands so many paragraphs.
        paragraphs: Bounds;
        /// Demands so many headings.
        headings: Bounds;
        /// Demands a first sentence of so many words.
        first_sentence_words: Bounds;
        /// Demands that the text reads so easily.
        reading_ease: EaseBounds;
    }

    /// Demands an ending; said several times, any of them will do.
    #[must_use]
    pub fn last_token(mut self, token: LastToken) -> Self {
        OneOrMany::push(&mut self.last_token, token);
        self
    }

    /// Demands that something stands in the text.
    #[must_use]
    pub fn contains(mut self, words: impl Into<String>) -> Self {
        OneOrMany::push(&mut self.contains, words.into());
        self
    }

    /// Forbids something.
    #[must_use]
    pub fn not_contains(mut self, words: impl Into<String>) -> Self {
        OneOrMany::push(&mut self.not_contains, words.into());
        self
    }

    /// Demands that a pattern is found in the text.
    #[must_use]
    pub fn regex(mut self, pattern: impl Into<String>) -> Self {
        OneOrMany::push(&mut self.regex, pattern.into());
        self
    }

    /// Forbids a pattern.
    #[must_use]
    pub fn not_regex(mut self, pattern: impl Into<String>) -> Self {
        OneOrMany::push(&mut self.not_regex, pattern.into());
        self
    }

    /// Forbids that a sentence stands twice.
    #[must_use]
    pub fn no_duplicate_sentences(mut self) -> Self {
        self.no_duplicate_sentences = true;
        self
    }

    /// Takes `A` for `a` wherever words and patterns are looked for.
    #[must_use]
    pub fn ignore_case(mut self) -> Self {
        self.ignore_case = true;
        self
    }

    /// Makes the verifier.
    ///
    /// # Errors
    /// As [`Text::compile`].
    pub fn compile(self) -> Result<Text, Error> {
        Text::compile(self)
    }
}
