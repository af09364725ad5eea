//! How fast a model is on this machine.
//!
//! Real time is measured, and what a model reads and writes is fixed, so that two machines can be compared.

use std::time::Instant;

use redraft::llm::{self, Request};
use serde::Serialize;

use crate::engine::{Engine, Reader, Unanswered};

/// How many times the prompt says the same sentence, each time with another number.
const SENTENCES: usize = 40;

/// How much is written.
const WRITTEN: u32 = 128;

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The model.
    pub model: String,
    /// How many tokens the prompt had.
    pub prompt_tokens: u64,
    /// How many tokens of a prompt are read in a second.
    pub prompt_tokens_per_s: f64,
    /// How many tokens were written.
    pub generated_tokens: u64,
    /// How many tokens are written in a second, after that prompt.
    pub generated_tokens_per_s: f64,
    /// How many tokens of the prompt were not read again when it came a second time.
    pub reused_tokens: u64,
    /// How many tokens of a prompt are done with in a second when it begins like the last one.
    pub reused_prompt_tokens_per_s: f64,
    /// The most memory the process has had, in bytes, where the system says it.
    pub peak_memory_bytes: Option<u64>,
    /// How many threads the arithmetic uses.
    pub threads: usize,
}

/// A reader that notes when the first piece comes.
struct Watch {
    begun: Instant,
    first: Option<f64>,
}

impl Reader for Watch {
    fn hear(&mut self, _: &str) {
        let begun = self.begun;
        self.first.get_or_insert_with(|| begun.elapsed().as_secs_f64());
    }

    fn is_gone(&self) -> bool {
        false
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn watch() -> Watch {
    Watch { begun: Instant::now(), first: None }
}

pub(crate) fn measure(engine: &mut Engine) -> Result<Report, llm::Error> {
    engine.sessions.clear();
    let prompt: String = (1..=SENTENCES)
        .map(|number| {
            format!("Line {number}: the tide comes in twice a day and leaves the sand smooth behind it. ")
        })
        .collect();
    let mut request = Request::new(format!("{prompt}\nTell a long story about the sea."));
    request.temperature = Some(0.0);
    request.max_output_tokens = WRITTEN;
    // The first call pays for memory that later ones find in place.
    let mut warm = Request::new("Hello");
    warm.max_output_tokens = 8;
    let answered = |engine: &mut Engine, request: &Request| {
        let mut watch = watch();
        let completion = engine.answer(request, None, &mut watch).map_err(|unanswered| match unanswered {
            Unanswered::Failed(error) => error,
            Unanswered::Cancelled => {
                llm::Error::Local { model: engine.name().to_owned(), message: "it was cancelled".to_owned() }
            }
        })?;
        let total = watch.begun.elapsed().as_secs_f64();
        Ok::<_, llm::Error>((completion, watch.first.unwrap_or(total), total))
    };
    answered(engine, &warm)?;
    let (fresh, read_s, total_s) = answered(engine, &request)?;
    request.max_output_tokens = 1;
    let (again, reread_s, _) = answered(engine, &request)?;
    let per_second = |tokens: u64, seconds: f64| {
        #[expect(clippy::cast_precision_loss, reason = "thousands of tokens at most")]
        let rate = tokens as f64 / seconds.max(1e-9);
        (rate * 10.0).round() / 10.0
    };
    Ok(Report {
        model: engine.name().to_owned(),
        prompt_tokens: fresh.usage.input_tokens,
        prompt_tokens_per_s: per_second(fresh.usage.input_tokens, read_s),
        generated_tokens: fresh.usage.output_tokens,
        generated_tokens_per_s: per_second(fresh.usage.output_tokens.saturating_sub(1), total_s - read_s),
        reused_tokens: again.usage.cached_tokens,
        reused_prompt_tokens_per_s: per_second(again.usage.input_tokens, reread_s),
        peak_memory_bytes: peak_memory(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    })
}

/// Reads what Linux tells about the process.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}
