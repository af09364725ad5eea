//! A YAML file as data, with the place of every key and value.
//!
//! What is read is YAML 1.2 with its core types; anchors and aliases work, tags of one's own do not. Nothing here knows
//! what a spec is. Pure: no I/O.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};
use serde_json::{Map, Number, Value};

use super::diagnostic::{Diagnostic, Mistake};

/// A file nested deeper than this is not a spec.
const DEEPEST: usize = 64;
/// Aliases may not blow a small file up to more values than this.
const MOST_VALUES: usize = 100_000;

/// A text that mistakes are found in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
}

/// Where something stands, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The key, for what stands under one.
    pub(super) key: Option<Range<usize>>,
    pub(super) value: Range<usize>,
}

/// A file as data. Places are kept by JSON pointer.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) source: Source,
    pub(super) value: Value,
    pub(super) places: BTreeMap<String, Place>,
}

impl Tree {
    /// Reads a file.
    ///
    /// # Errors
    /// Everything that is wrong with it as YAML; keys that stand twice are all found.
    pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Self, Vec<Diagnostic>> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text).to_owned(),
            Err(error) => {
                let good = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default());
                let source = Source { name: name.to_owned(), text: format!("{good}\u{fffd}") };
                let end = good.len()..good.len() + '\u{fffd}'.len_utf8();
                let found = Diagnostic::new(Mistake::Syntax, "this is not UTF-8")
                    .at(&source, end)
                    .hint("save the file as UTF-8");
                return Err(vec![found]);
            }
        };
        let source = Source { name: name.to_owned(), text };
        let mut reader = Reader::new(&source);
        match reader.document() {
            Ok(value) if reader.found.is_empty() => {
                let places = reader.places;
                Ok(Self { source, value, places })
            }
            Ok(_) => Err(reader.found),
            Err(stop) => {
                reader.found.push(*stop);
                Err(reader.found)
            }
        }
    }

    /// Returns where the value at a pointer stands; of what is not there, where it would be.
    pub(super) fn value_at(&self, pointer: &str) -> Range<usize> {
        self.nearest(pointer).map_or(0..0, |place| place.value.clone())
    }

    /// Returns where the key at a pointer stands, or the value if it has none.
    pub(super) fn key_at(&self, pointer: &str) -> Range<usize> {
        self.nearest(pointer).map_or(0..0, |place| place.key.clone().unwrap_or_else(|| place.value.clone()))
    }

    fn nearest(&self, pointer: &str) -> Option<&Place> {
        let mut pointer = pointer;
        loop {
            if let Some(place) = self.places.get(pointer) {
                return Some(place);
            }
            pointer = pointer.rsplit_once('/')?.0;
        }
    }
}

/// Adds a step to a JSON pointer.
pub(super) fn below(pointer: &str, step: &str) -> String {
    format!("{pointer}/{}", step.replace('~', "~0").replace('/', "~1"))
}

struct Reader<'s> {
    source: &'s Source,
    parser: Parser<'s, StrInput<'s>>,
    /// The byte at which each character begins; markers count characters.
    bytes: Vec<usize>,
    places: BTreeMap<String, Place>,
    anchors: HashMap<usize, Value>,
    values: usize,
    found: Vec<Diagnostic>,
}

impl<'s> Reader<'s> {
    fn new(source: &'s Source) -> Self {
        let mut bytes: Vec<usize> = source.text.char_indices().map(|(at, _)| at).collect();
        bytes.push(source.text.len());
        Self {
            source,
            parser: Parser::new_from_str(&source.text),
            bytes,
            places: BTreeMap::new(),
            anchors: HashMap::new(),
            values: 0,
            found: Vec::new(),
        }
    }

    fn document(&mut self) -> Result<Value, Box<Diagnostic>> {
        let empty = || Diagnostic::new(Mistake::Syntax, "the file is empty");
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => {
                    let hint = "begin with `redraft init`, or with `name:`, `draft:` and `verify:`";
                    return Err(Box::new(empty().at(self.source, 0..0).hint(hint)));
                }
                (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
                (event, span) => {
                    let value = self.value(event, span, None, String::new(), 0)?;
                    self.end()?;
                    return Ok(value);
                }
            }
        }
    }

    fn end(&mut self) -> Result<(), Box<Diagnostic>> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentStart(_), span) => {
                    return Err(self.broken(span, "there is a second document; a file holds one spec"));
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'s>, Span), Box<Diagnostic>> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => {
                let at = self.byte(error.marker().index());
                let found = Diagnostic::new(Mistake::Syntax, format!("this is not YAML: {}", error.info()));
                let found = found.at(self.source, at..at);
                let lines = || found.snippet.iter().map(|line| line.text.as_str());
                let hint = if lines().any(|line| line.contains("{{")) {
                    Some("a text with `{{` needs quotation marks, or a block that begins with `|`")
                } else if lines().any(|line| line.starts_with('\t')) {
                    Some("indent with spaces, not with tabs")
                } else {
                    None
                };
                Err(Box::new(Diagnostic { hint: hint.map(str::to_owned), ..found }))
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn value(
        &mut self,
        event: Event<'s>,
        span: Span,
        key: Option<Range<usize>>,
        pointer: String,
        depth: usize,
    ) -> Result<Value, Box<Diagnostic>> {
        self.values += 1;
        if depth > DEEPEST {
            return Err(self.broken(span, "this is nested too deeply"));
        }
        let mut range = self.range(span);
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let foreign = tag.as_ref().filter(|tag| !tag.is_yaml_core_schema());
                if let Some(tag) = foreign {
                    return Err(self.broken(span, &format!("the tag `{tag}` means nothing here")));
                }
                let is_text = tag.is_some_and(|tag| tag.suffix == "str");
                let plain = style == ScalarStyle::Plain && !is_text;
                (if plain { core(&text) } else { Value::from(text.into_owned()) }, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                loop {
                    let (event, span) = self.next()?;
                    if event == Event::SequenceEnd {
                        range.end = self.trimmed(range.start, span);
                        break;
                    }
                    let at = format!("{pointer}/{}", items.len());
                    items.push(self.value(event, span, None, at, depth + 1)?);
                }
                (Value::Array(items), anchor)
            }
            Event::MappingStart(anchor, _) => {
                let (map, end) = self.map(&pointer, depth)?;
                range.end = self.trimmed(range.start, end);
                (Value::Object(map), anchor)
            }
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let value = known.ok_or_else(|| self.broken(span, "an alias inside its own anchor"))?;
                self.values += size(&value);
                (value, 0)
            }
            _ => return Err(self.broken(span, "this cannot be read")),
        };
        if self.values > MOST_VALUES {
            return Err(self.broken(span, "this grows without bounds"));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        self.places.insert(pointer, Place { key, value: range });
        Ok(value)
    }

    fn map(&mut self, pointer: &str, depth: usize) -> Result<(Map<String, Value>, Span), Box<Diagnostic>> {
        let mut map = Map::new();
        loop {
            let (event, span) = self.next()?;
            let name = match event {
                Event::MappingEnd => return Ok((map, span)),
                Event::Scalar(text, ..) => text.into_owned(),
                _ => return Err(self.broken(span, "a key must be a word")),
            };
            let key = self.range(span);
            let (event, span) = self.next()?;
            let at = below(pointer, &name);
            if map.contains_key(&name) {
                let message = format!("`{name}` stands here twice");
                let first = self.places.get(&at).and_then(|place| place.key.clone()).unwrap_or_default();
                let line = self.source.text[..first.start].matches('\n').count() + 1;
                let found = Diagnostic::new(Mistake::DuplicateKey, message)
                    .at(self.source, key.clone())
                    .hint(format!("it stands on line {line} already; leave one of them"));
                self.found.push(found);
            }
            let value = self.value(event, span, Some(key), at, depth + 1)?;
            map.insert(name, value);
        }
    }

    fn byte(&self, index: usize) -> usize {
        self.bytes.get(index).copied().unwrap_or(self.source.text.len())
    }

    fn range(&self, span: Span) -> Range<usize> {
        let start = self.byte(span.start.index());
        start..self.trimmed(start, span)
    }

    /// Where something ends that begins at `start`: white space after it is not part of it.
    fn trimmed(&self, start: usize, span: Span) -> usize {
        let end = self.byte(span.end.index()).max(start);
        start + self.source.text.get(start..end).map_or(0, |text| text.trim_end().len())
    }

    fn broken(&self, span: Span, message: &str) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(Mistake::Syntax, message).at(self.source, self.range(span)))
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(entries) => 1 + entries.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// What a plain scalar means in YAML's core schema.
fn core(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let based = |prefix, radix| {
        let digits = text.strip_prefix(prefix)?;
        u64::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with(['+', '-']))
    };
    if let Some(number) = based("0x", 16).or_else(|| based("0o", 8)) {
        return Value::from(number);
    }
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.contains(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    if !is_number {
        return Value::from(text);
    }
    let plain = text.strip_prefix('+').unwrap_or(text);
    if let Ok(number) = plain.parse::<u64>() {
        return Value::from(number);
    }
    if let Ok(number) = plain.parse::<i64>() {
        return Value::from(number);
    }
    plain.parse::<f64>().ok().and_then(Number::from_f64).map_or_else(|| Value::from(text), Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tree(text: &str) -> Tree {
        Tree::read("a.yaml", text.as_bytes()).unwrap()
    }

    #[test]
    fn scalars_mean_what_the_core_schema_says() {
        for (text, value) in [
            ("1", json!(1)),
            ("-1", json!(-1)),
            ("+1.5", json!(1.5)),
            ("1e3", json!(1000.0)),
            ("0x10", json!(16)),
            ("yes", json!("yes")),
            ("True", json!(true)),
            ("~", json!(null)),
            ("'1'", json!("1")),
            ("!!str 1", json!("1")),
            ("1.2.3", json!("1.2.3")),
            ("10m", json!("10m")),
            ("2026-01-31", json!("2026-01-31")),
            ("-", json!([null])),
        ] {
            assert_eq!(tree(text).value, value, "{text}");
        }
    }

    #[test]
    fn every_key_and_value_has_its_place() {
        let tree = tree("ä: é\nlist:\n  - { b/c: 1 }\nlast: |\n  one\n  two\n");
        let at = |range: Range<usize>| tree.source.text[range].to_owned();
        assert_eq!(at(tree.key_at("/ä")), "ä");
        assert_eq!(at(tree.value_at("/ä")), "é");
        assert_eq!(at(tree.key_at("/list/0/b~1c")), "b/c");
        assert_eq!(at(tree.value_at("/list/0")), "{ b/c: 1 }");
        assert_eq!(at(tree.value_at("/list/0/missing")), "{ b/c: 1 }");
        assert!(at(tree.value_at("/last")).ends_with("two"), "{}", at(tree.value_at("/last")));
    }

    #[test]
    fn an_alias_is_what_it_stands_for_and_cannot_explode() {
        assert_eq!(tree("a: &x [1, 2]\nb: *x").value, json!({ "a": [1, 2], "b": [1, 2] }));
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..9 {
            let alias = format!("*a{}", n - 1);
            bomb.push_str(&format!("a{n}: &a{n} [{}]\n", [alias.as_str(); 10].join(", ")));
        }
        let found = Tree::read("a.yaml", bomb.as_bytes()).unwrap_err();
        assert_eq!(found[0].message, "this grows without bounds");
    }

    #[test]
    fn nesting_has_an_end() {
        let deep = "[".repeat(100_000);
        assert!(Tree::read("a.yaml", deep.as_bytes()).is_err());
    }
}
