//! Rules about a text: how long it is, what it begins and ends with, what must and must not stand in it.
//!
//! [`Config`] is what a spec file says; [`Text`] is the verifier made of it, with every pattern compiled. Counting is
//! done by Unicode's rules and knows Markdown well enough not to take headings and code for sentences. Pure: no I/O.

mod check;
mod config;
pub(super) mod layout;
mod sentence;
mod token;
mod word;

#[cfg(test)]
mod tests;

use std::fmt::Display;

use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

pub use self::config::{Bounds, Config, EaseBounds, LastToken, OneOrMany};
use super::{Case, Error, Rule, Verdict};

/// A verifier of texts.
///
/// ```
/// use redraft::verify::text::{Bounds, LastToken};
/// use redraft::verify::{Case, Rule, Text};
///
/// # fn main() -> Result<(), redraft::verify::Error> {
/// let opening = Text::rules()
///     .sentences(Bounds::exactly(3))
///     .first_sentence_words(Bounds::max(12))
///     .last_token(LastToken::Number)
///     .compile()?;
/// let demand = "exactly 3 sentences; the first sentence has at most 12 words; the last word is a number";
/// assert_eq!(Rule::demand(&opening), demand);
///
/// let verdict = opening.check(&Case::new("Open the post.", "Clocks lie. Networks fail. Retries rose by 40%."));
/// assert!(verdict.passes());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Text {
    config: Config,
    endings: Vec<Ending>,
    wanted: Vec<Regex>,
    unwanted: Vec<Regex>,
}

/// What the last token may be.
#[derive(Clone, Debug)]
enum Ending {
    Number,
    Percentage,
    Year,
    Fits(Regex),
}

impl Text {
    /// Begins a list of rules.
    #[must_use]
    pub fn rules() -> Config {
        Config::new()
    }

    /// Makes the verifier.
    ///
    /// # Errors
    /// [`Error::BadRegex`] and [`Error::BadBounds`] for what cannot be used, [`Error::EmptyRule`] if nothing is demanded.
    pub fn compile(config: Config) -> Result<Self, Error> {
        let unruled = Config { ignore_case: config.ignore_case, ..Config::default() };
        if config == unruled {
            return Err(Error::EmptyRule { rule: "text".to_owned() });
        }
        for (rule, bounds) in config.counts() {
            bounds.map_or(Ok(()), |bounds| check_bounds(rule, bounds))?;
        }
        if let Some(ease) = config.reading_ease {
            check_ease(ease)?;
        }
        for (rule, list) in [("contains", &config.contains), ("not_contains", &config.not_contains)] {
            let list = list.as_ref().map(OneOrMany::as_slice);
            if list.is_some_and(|list| list.is_empty() || list.iter().any(String::is_empty)) {
                return Err(Error::EmptyRule { rule: rule.to_owned() });
            }
        }
        let endings = match &config.last_token {
            Some(tokens) if tokens.as_slice().is_empty() => {
                return Err(Error::EmptyRule { rule: "last_token".to_owned() });
            }
            Some(tokens) => tokens
                .as_slice()
                .iter()
                .map(|token| Ending::of(token, config.ignore_case))
                .collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        let wanted = patterns("regex", config.regex.as_ref(), config.ignore_case)?;
        let unwanted = patterns("not_regex", config.not_regex.as_ref(), config.ignore_case)?;
        Ok(Self { config, endings, wanted, unwanted })
    }

    /// Returns what it was made of.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }
}

impl TryFrom<Config> for Text {
    type Error = Error;

    fn try_from(config: Config) -> Result<Self, Error> {
        Self::compile(config)
    }
}

impl Rule for Text {
    fn demand(&self) -> String {
        self.config.demands().join("; ")
    }

    fn check(&self, case: &Case) -> Verdict {
        check::check(self, &case.draft)
    }

    fn describe(&self) -> Value {
        json!({ "text": self.config })
    }
}

impl Ending {
    fn of(token: &LastToken, ignore_case: bool) -> Result<Self, Error> {
        Ok(match token {
            LastToken::Number => Self::Number,
            LastToken::Percentage => Self::Percentage,
            LastToken::Year => Self::Year,
            LastToken::Regex(pattern) => {
                // Alone first: what is only valid between the brackets is not what was meant.
                compiled("last_token", pattern, ignore_case)?;
                Self::Fits(compiled("last_token", &format!("^(?:{pattern})$"), ignore_case)?)
            }
        })
    }

    fn fits(&self, token: &str) -> bool {
        match self {
            Self::Number => token::is_number(token),
            Self::Percentage => token::is_percentage(token),
            Self::Year => token::is_year(token),
            Self::Fits(pattern) => pattern.is_match(token),
        }
    }
}

fn patterns(rule: &str, list: Option<&OneOrMany<String>>, ignore_case: bool) -> Result<Vec<Regex>, Error> {
    let Some(list) = list.map(OneOrMany::as_slice) else { return Ok(Vec::new()) };
    if list.is_empty() {
        return Err(Error::EmptyRule { rule: rule.to_owned() });
    }
    list.iter().map(|pattern| compiled(rule, pattern, ignore_case)).collect()
}

fn compiled(rule: &str, pattern: &str, ignore_case: bool) -> Result<Regex, Error> {
    RegexBuilder::new(pattern).case_insensitive(ignore_case).build().map_err(|source| Error::BadRegex {
        rule: rule.to_owned(),
        pattern: pattern.to_owned(),
        source,
    })
}

fn check_bounds(rule: &str, bounds: Bounds) -> Result<(), Error> {
    let refused = |reason: String| Err(Error::BadBounds { rule: rule.to_owned(), reason });
    match bounds {
        Bounds { min: None, max: None, exactly: None } => refused("they are empty".to_owned()),
        Bounds { exactly: Some(_), min, max } if min.is_some() || max.is_some() => {
            refused("`exactly` goes without `min` and `max`".to_owned())
        }
        Bounds { min: Some(min), max: Some(max), .. } if min > max => {
            refused(format!("`min` is {min} and `max` is {max}"))
        }
        Bounds { min: Some(0), max: None, .. } => refused("every draft has at least 0".to_owned()),
        _ => Ok(()),
    }
}

fn check_ease(ease: EaseBounds) -> Result<(), Error> {
    let reason = match (ease.min, ease.max) {
        (None, None) => "they are empty".to_owned(),
        (Some(min), Some(max)) if min > max => format!("`min` is {min} and `max` is {max}"),
        (min, max) if [min, max].into_iter().flatten().any(|bound| !bound.is_finite()) => {
            "they are not numbers".to_owned()
        }
        _ => return Ok(()),
    };
    Err(Error::BadBounds { rule: "reading_ease".to_owned(), reason })
}

impl Config {
    fn counts(&self) -> [(&'static str, Option<Bounds>); 6] {
        [
            ("characters", self.characters),
            ("words", self.words),
            ("sentences", self.sentences),
            ("paragraphs", self.paragraphs),
            ("headings", self.headings),
            ("first_sentence_words", self.first_sentence_words),
        ]
    }

    fn demands(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (unit, bounds) in self.counts() {
            let Some(bounds) = bounds else { continue };
            all.push(match unit {
                "first_sentence_words" => format!("the first sentence has {}", bounds.of("words")),
                unit => bounds.of(unit),
            });
        }
        let words = |list: &Option<OneOrMany<String>>, sign: &str, and: &str| {
            list.as_ref().map(|list| {
                joined(list.as_slice().iter().map(|word| format!("{sign}{word}{}", closing(sign))), and)
            })
        };
        if let Some(tokens) = &self.last_token {
            let kinds = tokens.as_slice().iter().map(|token| match token {
                LastToken::Number => "a number".to_owned(),
                LastToken::Percentage => "a percentage".to_owned(),
                LastToken::Year => "a year".to_owned(),
                LastToken::Regex(pattern) => format!("something that fits `{pattern}`"),
            });
            all.push(format!("the last word is {}", joined(kinds, "or")));
        }
        all.extend(words(&self.contains, "“", "and").map(|list| format!("it contains {list}")));
        all.extend(words(&self.not_contains, "“", "or").map(|list| format!("it does not contain {list}")));
        all.extend(words(&self.regex, "`", "and").map(|list| format!("something in it matches {list}")));
        all.extend(words(&self.not_regex, "`", "or").map(|list| format!("nothing in it matches {list}")));
        if let Some(ease) = self.reading_ease {
            all.push(match (ease.min, ease.max) {
                (Some(min), Some(max)) => format!("a Flesch reading ease from {min} to {max}"),
                (Some(min), None) => format!("a Flesch reading ease of at least {min}"),
                (_, max) => format!("a Flesch reading ease of at most {}", max.unwrap_or(f64::MAX)),
            });
        }
        if self.no_duplicate_sentences {
            all.push("no sentence stands twice".to_owned());
        }
        if self.ignore_case {
            all.push("capital and small letters are taken for the same".to_owned());
        }
        all
    }
}

impl Bounds {
    fn least(self) -> Option<usize> {
        self.exactly.or(self.min)
    }

    fn most(self) -> Option<usize> {
        self.exactly.or(self.max)
    }

    /// Says it in words: "at most 12 words".
    fn of(self, unit: &str) -> String {
        match (self.least(), self.most()) {
            (Some(0) | None, Some(0)) => format!("no {unit}"),
            (Some(least), Some(most)) if least == most => format!("exactly {}", counted(least, unit)),
            (Some(least), Some(most)) => format!("{least} to {}", counted(most, unit)),
            (Some(least), None) => format!("at least {}", counted(least, unit)),
            (None, Some(most)) => format!("at most {}", counted(most, unit)),
            (None, None) => format!("any number of {unit}"),
        }
    }
}

/// Says "1 word", "2 words".
fn counted(count: usize, units: &str) -> String {
    let unit = if count == 1 { units.strip_suffix('s').unwrap_or(units) } else { units };
    format!("{count} {unit}")
}

fn closing(opening: &str) -> &str {
    if opening == "“" { "”" } else { opening }
}

/// Says "a, b and c".
fn joined(list: impl IntoIterator<Item = impl Display>, and: &str) -> String {
    let mut list: Vec<String> = list.into_iter().map(|item| item.to_string()).collect();
    match list.pop() {
        Some(last) if list.is_empty() => last,
        Some(last) => format!("{} {and} {last}", list.join(", ")),
        None => String::new(),
    }
}
