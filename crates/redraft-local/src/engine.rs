//! One model, ready to answer: reads a prompt, writes token by token, and says why it stopped.
//!
//! It knows nothing of threads and futures; `worker` gives it requests one after the other.

use std::path::Path;

use redraft::llm::{self, Completion, Finish, Request, ToolCall, Usage};
use serde_json::Value;

use crate::chat::Chat;
use crate::constrain::{Grammars, Guide, Shape};
use crate::gguf::{Gguf, first_line};
use crate::sample::Sampler;
use crate::session::{Session, Sessions};
use crate::tokenizer::Tokenizer;
use crate::transformer::Transformer;
use crate::writing::Writing;
use crate::{Error, Options};

/// With so many tokens left, it is made sure at every token that the shape can still be finished.
const LAST_TOKENS: usize = 256;

/// Inside a string the way to the end stays the same but for a few tokens.
const SLACK: usize = 8;

pub(crate) struct Engine {
    name: String,
    pub(crate) transformer: Transformer,
    pub(crate) tokenizer: Tokenizer,
    chat: Chat,
    grammars: Grammars,
    pub(crate) sessions: Sessions,
}

/// Why there is no answer.
pub(crate) enum Unanswered {
    /// Nobody waits for it any more.
    Cancelled,
    Failed(llm::Error),
}

impl From<llm::Error> for Unanswered {
    fn from(error: llm::Error) -> Self {
        Self::Failed(error)
    }
}

/// Somebody who takes the text as it comes, and may go away.
pub(crate) trait Reader {
    fn hear(&mut self, piece: &str);
    fn is_gone(&self) -> bool;
}

/// What is written so far.
struct Answer {
    writing: Writing,
    tokens: usize,
    finish: Finish,
    /// Whether the reader hears it as it comes; not known before the first letter if it may be the call of a tool.
    aloud: Option<bool>,
}

impl Engine {
    pub(crate) fn load(name: &str, path: &Path, options: &Options) -> Result<Self, Error> {
        let mut gguf = Gguf::open(path)?;
        let transformer = Transformer::load(&mut gguf, options.unpacked_bytes)?;
        let tokenizer = Tokenizer::of(&gguf, transformer.vocabulary())?;
        let chat =
            Chat::new(gguf.text("tokenizer.chat_template")).map_err(|message| gguf.unsupported(message))?;
        let grammars = Grammars::new(&tokenizer).map_err(|message| gguf.unsupported(message))?;
        let sessions = Sessions::new(options.kept_tokens);
        Ok(Self { name: name.to_owned(), transformer, tokenizer, chat, grammars, sessions })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Answers a request; `pattern` holds the answer to a regular expression.
    pub(crate) fn answer(
        &mut self,
        request: &Request,
        pattern: Option<&str>,
        reader: &mut dyn Reader,
    ) -> Result<Completion, Unanswered> {
        let shape = match (pattern, &request.schema, request.tools.as_slice()) {
            (Some(pattern), _, _) => Shape::Pattern(pattern),
            (None, None, []) => Shape::Free,
            (None, Some(shape), []) => Shape::Schema(&shape.schema),
            (None, schema, tools) => Shape::Tools(tools, schema.as_ref().map(|shape| &shape.schema)),
        };
        let text = self.chat.prompt(request, &self.tokenizer).map_err(|message| self.bad_request(message))?;
        let prompt = self.tokenizer.encode(&text).map_err(|message| self.bad_request(message))?;
        let budget = self.budget(prompt.len(), request.max_output_tokens)?;
        let guide = self.grammars.guide(shape).map_err(|message| self.bad_request(message))?;

        let mut session =
            self.sessions.take(&prompt, &self.transformer).map_err(|error| self.broken(&error))?;
        let cached = session.length();
        let read = self.read(&prompt, &mut session, reader);
        let written = match read {
            Ok(scores) => self.write(request, shape, guide, budget, scores, &mut session, reader),
            Err(unanswered) => Err(unanswered),
        };
        // Also when it was cancelled: what was read of the prompt is as good as ever.
        self.sessions.keep(session);
        let answer = written?;

        let mut usage = Usage::new(prompt.len() as u64, answer.tokens as u64);
        usage.cached_tokens = cached as u64;
        let mut completion = Completion::new(self.name.clone(), answer.writing.into_text());
        completion.finish = answer.finish;
        completion.usage = usage;
        if let Shape::Tools(tools, _) = shape {
            if let Some(call) = called(&completion.text, tools) {
                completion.calls.push(call);
                completion.text.clear();
                completion.finish = Finish::ToolCalls;
            } else if answer.aloud == Some(false) {
                reader.hear(&completion.text);
            }
        }
        Ok(completion)
    }

    /// Returns how much may be written after a prompt.
    fn budget(&self, prompt: usize, most: u32) -> Result<usize, llm::Error> {
        let context = self.transformer.architecture.context;
        match context.checked_sub(prompt) {
            Some(left) if left > 0 => Ok(left.min(most as usize)),
            _ => Err(llm::Error::ContextTooLong {
                model: self.name.clone(),
                message: format!("it has {prompt} tokens, and {context} is the most, the answer included"),
            }),
        }
    }

    fn read(
        &self,
        prompt: &[u32],
        session: &mut Session,
        reader: &dyn Reader,
    ) -> Result<Vec<f32>, Unanswered> {
        loop {
            if reader.is_gone() {
                return Err(Unanswered::Cancelled);
            }
            let scores = session.read(prompt, &self.transformer).map_err(|error| self.broken(&error))?;
            if let Some(scores) = scores {
                return Ok(scores);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one answer, put together in one place")]
    fn write(
        &self,
        request: &Request,
        shape: Shape<'_>,
        mut guide: Option<Guide>,
        budget: usize,
        mut scores: Vec<f32>,
        session: &mut Session,
        reader: &mut dyn Reader,
    ) -> Result<Answer, Unanswered> {
        // A stop text inside a value would break the shape.
        let stops = if guide.is_none() { request.stop.as_slice() } else { &[] };
        let mut answer = Answer {
            writing: Writing::new(stops),
            tokens: 0,
            finish: Finish::Length,
            // The JSON of a call is not for the reader; whether it is one shows in the first letter.
            aloud: (!matches!(shape, Shape::Tools(..))).then_some(true),
        };
        let mut sampler = Sampler::new(request.temperature, request.seed);
        let mut closing = guide.as_ref().map(|guide| Closing::new(guide, budget));
        if let Some(Closing { ending: Some(needed), .. }) = closing
            && needed > budget
        {
            let message = format!("the shape needs {needed} tokens at least, and {budget} are left for it");
            return Err(self.bad_request(message).into());
        }

        while answer.tokens < budget {
            if reader.is_gone() {
                return Err(Unanswered::Cancelled);
            }
            let allowed = guide.as_mut().map(Guide::allowed).transpose().map_err(|error| self.lost(error))?;
            let Some(token) = sampler.choose(&scores, allowed.as_ref()) else {
                return Err(self.lost("no token may follow".to_owned()).into());
            };
            if self.tokenizer.ends.contains(&token) {
                answer.finish = Finish::Stop;
                break;
            }
            if let (Some(guide), Some(closing)) = (&mut guide, &mut closing) {
                let left = budget - answer.tokens;
                if !closing.leaves_room(guide, token, left) {
                    for token in guide.ending().unwrap_or_default() {
                        guide.take(token).map_err(|error| self.lost(error))?;
                        self.put(token, &mut answer, reader);
                    }
                    break;
                }
                guide.take(token).map_err(|error| self.lost(error))?;
            }
            self.put(token, &mut answer, reader);
            if answer.writing.is_stopped() || guide.as_ref().is_some_and(Guide::is_over) {
                answer.finish = Finish::Stop;
                break;
            }
            if answer.tokens < budget {
                scores = self
                    .transformer
                    .next(&[token], &mut session.cache)
                    .map_err(|error| self.broken(&error))?;
            }
        }
        let rest = answer.writing.finish().to_owned();
        if answer.aloud == Some(true) && !rest.is_empty() {
            reader.hear(&rest);
        }
        if guide.is_some_and(|mut guide| !guide.may_end()) {
            return Err(Unanswered::Failed(llm::Error::Malformed {
                model: self.name.clone(),
                message: format!("it did not come to an end within {} tokens", answer.tokens),
                usage: Some(Usage::new(session.length() as u64, answer.tokens as u64)),
            }));
        }
        Ok(answer)
    }

    fn put(&self, token: u32, answer: &mut Answer, reader: &mut dyn Reader) {
        answer.tokens += 1;
        let Answer { writing, aloud, .. } = answer;
        let piece = writing.write(self.tokenizer.bytes(token));
        if piece.is_empty() {
            return;
        }
        if *aloud.get_or_insert(!piece.starts_with('{')) {
            reader.hear(piece);
        }
    }

    fn bad_request(&self, message: String) -> llm::Error {
        llm::Error::BadRequest { model: self.name.clone(), message }
    }

    fn broken(&self, error: &candle_core::Error) -> llm::Error {
        llm::Error::Local { model: self.name.clone(), message: first_line(error) }
    }

    fn lost(&self, message: String) -> llm::Error {
        llm::Error::Local { model: self.name.clone(), message: format!("the grammar: {message}") }
    }
}

/// Watches that a shape can be finished with the tokens that are left.
struct Closing {
    /// From how many tokens left on it is watched.
    from: usize,
    /// How many tokens the end takes from here, if one is known.
    ending: Option<usize>,
    knows: bool,
}

impl Closing {
    fn new(guide: &Guide, budget: usize) -> Self {
        let ending = guide.ending().map(|tokens| tokens.len());
        let from = LAST_TOKENS.max(ending.unwrap_or(0) * 2 + LAST_TOKENS / 4);
        Self { from, ending, knows: budget <= from }
    }

    /// Says whether the end can still be written if `token` comes next and `left` may come with it.
    ///
    /// Where no end is known nothing is held back: the model may find one.
    fn leaves_room(&mut self, guide: &Guide, token: u32, left: usize) -> bool {
        if left > self.from {
            return true;
        }
        if self.knows
            && guide.stays_in_string(token)
            && self.ending.is_some_and(|ending| ending + SLACK < left)
        {
            return true;
        }
        let before = self.ending;
        self.ending = guide.ending_after(token).map(|tokens| tokens.len());
        self.knows = true;
        match self.ending {
            Some(ending) => ending < left,
            None => before.is_none(),
        }
    }
}

/// Reads an answer as the call of a tool.
fn called(text: &str, tools: &[llm::Tool]) -> Option<ToolCall> {
    let mut call: Value = serde_json::from_str(text).ok()?;
    let name = call.get("tool")?.as_str()?.to_owned();
    let arguments = call.get_mut("arguments")?.take();
    tools.iter().any(|tool| tool.name == name).then(|| ToolCall { id: "call_1".to_owned(), name, arguments })
}
