//! What a judge is to look at: criteria with their weights, and the scale they are scored on.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The longest name that is made of a criterion's words.
const LONGEST_NAME: usize = 48;

/// One thing that a judge looks at.
///
/// In files it is either its words alone or a table.
///
/// ```
/// use redraft::verify::Criterion;
///
/// assert_eq!(Criterion::new("Opens with a surprise").name, "opens-with-a-surprise");
/// let table = r#"{ "name": "sources", "text": "every number has a source", "binary": true, "weight": 2 }"#;
/// let sources: Criterion = serde_json::from_str(table)?;
/// assert_eq!(sources, Criterion::new("every number has a source").named("sources").binary().weight(2.0));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Criterion {
    /// What it is called by in answers and findings: kebab-case.
    pub name: String,
    /// What a draft is to be, in words.
    pub text: String,
    /// How much it counts against the others; 1 unless said otherwise.
    pub weight: f64,
    /// Whether it is answered with yes or no instead of on the scale. Models are surer of a yes than of a seven.
    pub binary: bool,
}

impl Criterion {
    /// Makes a criterion that is scored on the scale, with a name made of its words.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { name: kebab(&text), text, weight: 1.0, binary: false }
    }

    /// Gives it a name of its own.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = kebab(name);
        self
    }

    /// Says how much it counts against the others.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Asks for yes or no instead of a place on the scale.
    #[must_use]
    pub fn binary(mut self) -> Self {
        self.binary = true;
        self
    }
}

impl From<&str> for Criterion {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Criterion {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// Shown to the judge.
impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.name, self.text)?;
        if self.binary { f.write_str(" (true or false)") } else { Ok(()) }
    }
}

/// Makes a name of words, cut between words where they are too many.
fn kebab(text: &str) -> String {
    let mut name = String::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if !name.is_empty() && name.len() + 1 + word.len() > LONGEST_NAME {
            break;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&word.to_lowercase());
    }
    if name.is_empty() { "criterion".to_owned() } else { name }
}

/// A criterion as a table.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CriterionTable")]
struct Table {
    /// What it is called by; made of its words if nothing is said.
    #[serde(default)]
    name: Option<String>,
    /// What a draft is to be, in words.
    text: String,
    /// How much it counts against the others.
    #[serde(default = "one")]
    weight: f64,
    /// Whether it is answered with yes or no.
    #[serde(default)]
    binary: bool,
}

fn one() -> f64 {
    1.0
}

/// Not derived: an untagged enum would not say which field of a table is wrong.
impl<'de> Deserialize<'de> for Criterion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordsOrTable;

        impl<'de> Visitor<'de> for WordsOrTable {
            type Value = Criterion;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a criterion: its words, or a table with `text`")
            }

            fn visit_str<E>(self, text: &str) -> Result<Criterion, E> {
                Ok(Criterion::new(text))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Criterion, A::Error> {
                let Table { name, text, weight, binary } =
                    Table::deserialize(MapAccessDeserializer::new(map))?;
                let named = name.unwrap_or_else(|| text.clone());
                Ok(Criterion { name: kebab(&named), text, weight, binary })
            }
        }

        deserializer.deserialize_any(WordsOrTable)
    }
}

impl JsonSchema for Criterion {
    fn schema_name() -> Cow<'static, str> {
        "Criterion".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, generator.subschema_for::<Table>()] })
    }
}

/// The numbers a judge scores with, both ends included.
///
/// A score counts as its share of the highest: 8 of 10 is 0.8. The lowest of a scale that begins at 1 is thus a tenth,
/// and not nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// The worst.
    pub from: u32,
    /// The best.
    pub to: u32,
}

impl Default for Scale {
    fn default() -> Self {
        Self { from: 1, to: 10 }
    }
}

impl From<RangeInclusive<u32>> for Scale {
    fn from(range: RangeInclusive<u32>) -> Self {
        Self { from: *range.start(), to: *range.end() }
    }
}

impl Scale {
    /// Returns a score as a number from 0.0 to 1.0.
    #[must_use]
    pub fn share(self, score: f64) -> f64 {
        score / f64::from(self.to.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_the_words_and_cut_between_them() {
        let cases = [
            ("clear", "clear"),
            ("Is it  *really* clear?", "is-it-really-clear"),
            ("klar & knapp – für alle", "klar-knapp-für-alle"),
            ("!?", "criterion"),
        ];
        for (text, wanted) in cases {
            assert_eq!(kebab(text), wanted);
        }
        let long = kebab(&"word ".repeat(40));
        assert!(long.len() <= LONGEST_NAME && long.ends_with("word"), "{long}");
    }

    #[test]
    fn a_wrong_table_is_refused_with_the_field() {
        let error = serde_json::from_str::<Criterion>(r#"{ "text": "clear", "wieght": 2 }"#).unwrap_err();
        assert!(error.to_string().contains("wieght"), "{error}");
        assert!(serde_json::from_str::<Criterion>("7").is_err());
    }

    #[test]
    fn eight_of_ten_is_four_fifths() {
        assert!((Scale::default().share(8.0) - 0.8).abs() < 1e-9);
        assert!((Scale::from(0..=4).share(0.0)).abs() < 1e-9);
    }
}
