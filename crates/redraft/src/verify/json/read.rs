//! Turning a draft into a JSON value, or saying where it is none.
//!
//! Values are built by hand instead of by `serde_json::Value`, which would keep the last of two equal keys and say
//! nothing. What is nested too deeply is refused before it is read, so that no draft can exhaust the stack.

use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::verify::Finding;
use crate::verify::shorten::shortened;
use crate::verify::text::layout::fenced;

/// `serde_json` gives up at 128.
const DEEPEST: usize = 100;

/// More equal keys than this are not listed.
const MOST_DUPLICATES: usize = 50;

/// What a draft says.
#[derive(Debug)]
pub(in crate::verify) struct Document {
    pub(in crate::verify) value: Value,
    /// Where keys stand that an object has already.
    pub(in crate::verify) duplicates: Vec<String>,
}

/// Reads a draft: all of it, or what stands in a fence if that is wanted and all of it is no JSON.
pub(in crate::verify) fn read(draft: &str, extract: bool) -> Result<Document, Box<Finding>> {
    let lead = draft.len() - draft.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
    let whole = lead..draft.trim_end().len().max(lead);
    match read_part(draft, whole) {
        Err(finding) if extract => match fenced(draft, "json") {
            Some(inside) => read_part(draft, inside),
            None => Err(finding),
        },
        result => result,
    }
}

fn read_part(draft: &str, part: Range<usize>) -> Result<Document, Box<Finding>> {
    let text = draft.get(part.clone()).unwrap_or_default();
    if let Some(at) = too_deep(text) {
        let place = part.start + at;
        let finding = Finding::new("depth", format!("brackets are nested more than {DEEPEST} deep"))
            .about("depth")
            .span(draft, place..place + 1)
            .suggest("flatten the value");
        return Err(Box::new(finding));
    }
    let mut document = Document { value: Value::Null, duplicates: Vec::new() };
    let mut pointer = String::new();
    let mut source = serde_json::Deserializer::from_str(text);
    let reader = Reader { pointer: &mut pointer, duplicates: &mut document.duplicates };
    let result = reader.deserialize(&mut source).and_then(|value| source.end().map(|()| value));
    match result {
        Ok(value) => Ok(Document { value, ..document }),
        Err(error) => Err(Box::new(unreadable(draft, &part, &error))),
    }
}

/// Finds the first bracket that is too deep.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Some(at);
        }
    }
    None
}

fn unreadable(draft: &str, part: &Range<usize>, error: &serde_json::Error) -> Finding {
    let text = draft.get(part.clone()).unwrap_or_default();
    let line_start: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    // Columns are counted in bytes, and from 1.
    let at = text.floor_char_boundary((line_start + error.column().saturating_sub(1)).min(text.len()));
    let words = error.to_string();
    let reason = words.split(" at line ").next().unwrap_or(&words);
    let message = if text.trim().is_empty() {
        "the draft is empty where JSON is wanted".to_owned()
    } else {
        format!("this is not JSON: {reason}")
    };
    let near =
        text.floor_char_boundary(at.saturating_sub(30))..text.ceil_char_boundary((at + 30).min(text.len()));
    let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
    Finding::new("syntax", message)
        .about("syntax")
        .span(draft, part.start + at..part.start + end)
        .evidence(shortened(&text[near]))
        .suggest(advice(text, at, error))
}

fn advice(text: &str, at: usize, error: &serde_json::Error) -> &'static str {
    let begins = text.trim_start().starts_with(['{', '[', '"', '-', 't', 'f', 'n', '0', '1'])
        || text.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let before = text[..at].trim_end().chars().next_back();
    match text[at..].chars().next() {
        _ if !begins => "answer with the JSON value alone, without words around it",
        _ if error.is_eof() => "close every bracket and quotation mark that is open",
        Some('}' | ']') if before == Some(',') => "remove the comma before the closing bracket",
        Some('\'' | '“' | '”' | '‘' | '’') => "put keys and texts in double quotation marks",
        Some('/' | '#') => "remove the comment: JSON has none",
        Some('"') => "put a comma or a colon before it",
        Some('N' | 'I' | 'T' | 'F' | 'u') => {
            "write numbers, `true`, `false` or `null`: JSON knows no other words"
        }
        Some('\n' | '\r' | '\t') => "write line breaks and tabs inside of texts as \\n and \\t",
        Some(c) if c.is_alphabetic() && matches!(before, Some('}' | ']')) => {
            "give nothing after the JSON value"
        }
        Some(c) if c.is_alphabetic() => "put keys and texts in double quotation marks",
        _ => "write the value again as strict JSON",
    }
}

/// Builds a value and remembers where keys stand twice.
struct Reader<'a> {
    pointer: &'a mut String,
    duplicates: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn inner(&mut self) -> Reader<'_> {
        Reader { pointer: self.pointer, duplicates: self.duplicates }
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        let outer = self.pointer.len();
        loop {
            self.pointer.push_str(&format!("/{}", all.len()));
            let item = items.next_element_seed(self.inner())?;
            self.pointer.truncate(outer);
            match item {
                Some(item) => all.push(item),
                None => return Ok(Value::Array(all)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        let outer = self.pointer.len();
        while let Some(key) = entries.next_key::<String>()? {
            self.pointer.push('/');
            self.pointer.push_str(&escaped(&key));
            let value = entries.next_value_seed(self.inner())?;
            if all.insert(key, value).is_some() && self.duplicates.len() < MOST_DUPLICATES {
                self.duplicates.push(self.pointer.clone());
            }
            self.pointer.truncate(outer);
        }
        Ok(Value::Object(all))
    }
}

/// Writes a key as a part of a JSON pointer.
pub(in crate::verify) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
