//! Recorded conversations: real answers once, the same answers ever after.
//!
//! A cassette is a file of JSON lines, one exchange each: what was asked of which model, and what came of it. It holds no
//! key and no header, so it can be committed beside the test that plays it.

use std::collections::HashMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::{Answering, Completion, Error, Listener, Model, Request};
use crate::fingerprint::canonical;

/// One exchange, as a line of the file.
#[derive(Serialize, Deserialize)]
struct Exchange {
    model: String,
    request: Request,
    completion: Completion,
}

/// A model whose answers are written to a file as they come.
#[derive(Clone)]
pub struct Recorder<M> {
    model: M,
    file: Arc<Mutex<File>>,
    path: Arc<Path>,
}

impl<M: Model> Recorder<M> {
    /// Records `model` at the end of the file at `path`, making it if it is not there.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(model: M, path: impl Into<PathBuf>) -> std::io::Result<Self> {
        let path = path.into();
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        Ok(Self { model, file: Arc::new(Mutex::new(file)), path: path.into() })
    }

    /// Writes one line. An exchange that cannot be kept is an error: a cassette with a hole fails later, elsewhere.
    fn keep(&self, request: &Request, completion: &Completion) -> Result<(), Error> {
        let exchange = Exchange {
            model: self.name().to_owned(),
            request: request.clone(),
            completion: completion.clone(),
        };
        let mut line = serde_json::to_vec(&exchange).map_err(|error| self.not_kept(&error.to_string()))?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).map_err(|error| self.not_kept(&error.to_string()))
    }

    fn not_kept(&self, reason: &str) -> Error {
        let reason = format!("`{}` cannot be written: {reason}", self.path.display());
        Error::Cassette { model: self.name().to_owned(), reason }
    }
}

impl<M: Model> Model for Recorder<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn takes_schemas(&self) -> bool {
        self.model.takes_schemas()
    }

    fn tuned(&self, request: &Request) -> Request {
        self.model.tuned(request)
    }

    fn recall(&self, answer: Option<&Completion>) {
        self.model.recall(answer);
    }

    fn answer<'a>(&'a self, request: &'a Request, listener: &'a mut dyn Listener) -> Answering<'a> {
        Box::pin(async move {
            let completion = self.model.answer(request, listener).await?;
            self.keep(request, &completion)?;
            Ok(completion)
        })
    }
}

impl<M> fmt::Debug for Recorder<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A model that answers from a recording, and only what was asked then.
///
/// A request must be the recorded one, field for field; the same request asked several times gets its answers in the
/// order in which they were recorded. Whatever was not recorded fails with the code `model-not-recorded`: a changed
/// prompt is noticed, never answered with something else.
#[derive(Clone)]
pub struct Player {
    name: Arc<str>,
    takes_schemas: bool,
    left: Arc<Mutex<HashMap<Vec<u8>, Vec<Completion>>>>,
}

impl Player {
    /// Plays what the file at `path` holds of the model called `name`.
    ///
    /// # Errors
    /// If the file cannot be read, with the line that is wrong.
    pub fn new(name: &str, path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let unreadable = |reason: String| Error::Cassette {
            model: name.to_owned(),
            reason: format!("`{}` cannot be read: {reason}", path.display()),
        };
        let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
        let mut left: HashMap<Vec<u8>, Vec<Completion>> = HashMap::new();
        let mut takes_schemas = false;
        for (at, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(|error| unreadable(error.to_string()))?;
            let exchange: Exchange = serde_json::from_str(&line)
                .map_err(|error| unreadable(format!("line {}: {error}", at + 1)))?;
            if exchange.model == name {
                // Recorded with a schema, it must be asked with one.
                takes_schemas |= exchange.request.schema.is_some();
                left.entry(key(&exchange.request)).or_default().insert(0, exchange.completion);
            }
        }
        Ok(Self { name: name.into(), takes_schemas, left: Arc::new(Mutex::new(left)) })
    }

    /// Returns how many recorded answers were not asked for.
    #[must_use]
    pub fn left_over(&self) -> usize {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).values().map(Vec::len).sum()
    }
}

fn key(request: &Request) -> Vec<u8> {
    serde_json::to_value(request).map(|value| canonical(&value)).unwrap_or_default()
}

impl Model for Player {
    fn name(&self) -> &str {
        &self.name
    }

    fn takes_schemas(&self) -> bool {
        self.takes_schemas
    }

    fn answer<'a>(&'a self, request: &'a Request, listener: &'a mut dyn Listener) -> Answering<'a> {
        Box::pin(async move {
            let recorded = {
                let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
                left.get_mut(&key(request)).and_then(Vec::pop)
            };
            let Some(completion) = recorded else {
                return Err(Error::NotRecorded { model: self.name.to_string() });
            };
            listener.hear(&completion.text);
            Ok(completion)
        })
    }
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player").field("name", &self.name).field("left", &self.left_over()).finish()
    }
}
