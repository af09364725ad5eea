//! Holds a model to a shape while it writes: JSON Schema, a regular expression, or a choice between words and tools.
//!
//! A [`Guide`] says before every token which ones may come, and can finish by itself: it knows a short way from any
//! place of a JSON text to its end. So an answer always fits, even when the model would never have come to an end.

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{SimpleVob, TokEnv};
use llguidance::{Matcher, ParserFactory};
use redraft::llm::Tool;
use serde_json::{Value, json};

use crate::schema::bounded;
use crate::tokenizer::Tokenizer;

/// The most tokens a way to the end may take; a longer one counts as none.
const LONGEST_ENDING: usize = 1024;

/// So many choices or fewer are the letters of something fixed, such as the name of a property.
const FEW: usize = 32;

/// What an answer has to look like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'a> {
    Free,
    Schema(&'a Value),
    Pattern(&'a str),
    /// A call of one of the tools; otherwise words, or a value of a schema.
    Tools(&'a [Tool], Option<&'a Value>),
}

/// Makes guides for one vocabulary.
pub(crate) struct Grammars {
    factory: ParserFactory,
}

impl Grammars {
    pub(crate) fn new(tokenizer: &Tokenizer) -> Result<Self, String> {
        let mut factory =
            ParserFactory::new_simple(tokenizer.environment()).map_err(|error| error.to_string())?;
        // It would write to standard error, and a library does not.
        factory.quiet();
        Ok(Self { factory })
    }

    /// Makes a guide to a shape; none if any text will do.
    pub(crate) fn guide(&self, shape: Shape<'_>) -> Result<Option<Guide>, String> {
        let grammar = match shape {
            Shape::Free => return Ok(None),
            Shape::Schema(schema) => TopLevelGrammar::from_json_schema(bounded(schema)),
            Shape::Pattern(pattern) => TopLevelGrammar::from_regex(pattern),
            Shape::Tools(tools, schema) => TopLevelGrammar::from_lark(choice(tools, schema)),
        };
        let parser = self.factory.create_parser(grammar);
        let mut matcher = Matcher::new(parser);
        if let Some(error) = matcher.get_error() {
            return Err(error);
        }
        let env = matcher.tok_env().map_err(|error| error.to_string())?;
        // Compiled lazily: what is wrong with a schema may only show at the first token.
        matcher.compute_mask().map_err(|error| error.to_string())?;
        Ok(Some(Guide { matcher, env, place: Place::default() }))
    }
}

fn choice(tools: &[Tool], schema: Option<&Value>) -> String {
    let call = |tool: &Tool| {
        json!({
            "type": "object",
            "properties": { "tool": { "const": tool.name }, "arguments": tool.parameters },
            "required": ["tool", "arguments"],
        })
    };
    let calls = bounded(&json!({ "anyOf": tools.iter().map(call).collect::<Vec<_>>() }));
    match schema {
        Some(schema) => {
            format!("start: call | answer\ncall: %json {calls}\nanswer: %json {}", bounded(schema))
        }
        // A brace begins a call, everything else is words.
        None => format!("start: call | words\ncall: %json {calls}\nwords: /[^{{\\s](.|\\n)*/"),
    }
}

/// A guide along one answer.
pub(crate) struct Guide {
    matcher: Matcher,
    env: TokEnv,
    place: Place,
}

impl Guide {
    /// Says which tokens may come next.
    pub(crate) fn allowed(&mut self) -> Result<SimpleVob, String> {
        self.matcher.compute_mask_or_eos().map_err(|error| error.to_string())
    }

    /// Takes a token.
    pub(crate) fn take(&mut self, token: u32) -> Result<(), String> {
        self.matcher.consume_token(token).map_err(|error| error.to_string())?;
        self.place.pass(self.env.tok_trie().token(token));
        Ok(())
    }

    /// Says whether nothing may follow.
    pub(crate) fn is_over(&self) -> bool {
        self.matcher.is_stopped()
    }

    /// Says whether the answer could end here.
    pub(crate) fn may_end(&mut self) -> bool {
        self.matcher.is_stopped() || self.matcher.is_accepting().unwrap_or(false)
    }

    /// Says whether a JSON string is being written and a token does not end it: then the way to the end hardly changes.
    pub(crate) fn stays_in_string(&self, token: u32) -> bool {
        self.place.in_string && !self.env.tok_trie().token(token).contains(&b'"')
    }

    /// Finds a short way to the end from here.
    pub(crate) fn ending(&self) -> Option<Vec<u32>> {
        self.walk(self.matcher.clone(), self.place)
    }

    /// Finds a short way to the end from behind a token.
    pub(crate) fn ending_after(&self, token: u32) -> Option<Vec<u32>> {
        let (mut matcher, mut place) = (self.matcher.clone(), self.place);
        matcher.consume_token(token).ok()?;
        place.pass(self.env.tok_trie().token(token));
        self.walk(matcher, place)
    }

    fn walk(&self, mut matcher: Matcher, mut place: Place) -> Option<Vec<u32>> {
        let trie = self.env.tok_trie();
        let mut tokens = Vec::new();
        while tokens.len() < LONGEST_ENDING {
            if matcher.is_stopped() || matcher.is_accepting().ok()? {
                return Some(tokens);
            }
            let token = self.nearest(&matcher.compute_mask().ok()?, place)?;
            matcher.consume_token(token).ok()?;
            place.pass(trie.token(token));
            tokens.push(token);
        }
        None
    }
}

impl Guide {
    /// Chooses the token that leads to the end most directly.
    fn nearest(&self, allowed: &SimpleVob, place: Place) -> Option<u32> {
        let trie = self.env.tok_trie();
        // What closes is looked for first: most of the time it is there, and the vocabulary need not be searched.
        let closing: &[&[u8]] = if place.in_string { &[b"\""] } else { &[b"}", b"]"] };
        let closing = closing.iter().filter_map(|bytes| trie.token_id(bytes));
        if let Some(token) = closing.into_iter().find(|token| allowed.is_allowed(*token)) {
            return Some(token);
        }
        let few = allowed.num_set() <= FEW;
        allowed
            .iter()
            .filter(|token| !trie.is_special_token(*token) && !trie.token(*token).is_empty())
            .min_by_key(|token| {
                let bytes = trie.token(*token);
                (place.distance(bytes, few), usize::MAX - bytes.len(), *token)
            })
    }
}

/// Where in a JSON text one is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    in_string: bool,
    escaped: bool,
}

impl Place {
    fn pass(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ => {}
            }
        }
    }

    /// Guesses how far from the end a token leads, so that the nearest is taken: what closes comes first, then what
    /// leads on to the next value, then values that are short.
    fn distance(self, bytes: &[u8], few: bool) -> u8 {
        match (self.in_string, bytes) {
            (true, b"\"") => 0,
            (true, _) if few => 1,
            (true, [b'\\', ..]) => 4,
            // A pattern is usually held together by signs: they lead out of letters that may go on for ever.
            (true, _) if bytes.iter().all(u8::is_ascii_punctuation) => 2,
            (true, _) => 3,
            (false, b"}") => 0,
            (false, b"]") => 1,
            (false, [b',', ..] | b"\"\"") => 2,
            (false, [b'"' | b'n', ..]) => 3,
            (false, [b'0'..=b'9' | b't' | b'f', ..]) => 4,
            (false, [b'[', ..]) => 5,
            (false, [b'{', ..]) => 6,
            (false, _) => 7,
        }
    }
}
