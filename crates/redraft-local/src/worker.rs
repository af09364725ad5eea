//! The one thread that has the model: requests come through a channel and are answered one after the other.
//!
//! Whoever asks holds the other end of a channel; when it is dropped, the work stops at the next token.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use redraft::llm::{self, Completion, Request};
use tokio::sync::mpsc as answers;

use crate::bench;
use crate::engine::{Engine, Reader, Unanswered};

/// What the thread is asked to do.
pub(crate) enum Job {
    Answer(Box<Question>),
    Measure { answer: mpsc::Sender<Result<bench::Report, llm::Error>> },
}

pub(crate) struct Question {
    pub(crate) request: Request,
    pub(crate) pattern: Option<String>,
    pub(crate) answer: answers::UnboundedSender<Said>,
}

/// What comes back: text as it is written, and the whole at the end.
pub(crate) enum Said {
    Piece(String),
    Done(Result<Completion, llm::Error>),
}

/// Starts the thread. It ends when nobody holds the returned end any more.
pub(crate) fn start(name: &str, mut engine: Engine) -> std::io::Result<mpsc::Sender<Job>> {
    let (jobs, inbox) = mpsc::channel();
    let name = name.to_owned();
    std::thread::Builder::new().name("redraft-local".to_owned()).spawn(move || {
        while let Ok(job) = inbox.recv() {
            match job {
                Job::Answer(question) => answer(&name, &mut engine, &question),
                Job::Measure { answer } => {
                    // Whoever asked may have gone.
                    let _ = answer.send(bench::measure(&mut engine));
                }
            }
        }
    })?;
    Ok(jobs)
}

fn answer(name: &str, engine: &mut Engine, question: &Question) {
    let Question { request, pattern, answer } = question;
    if answer.is_closed() {
        return;
    }
    let mut reader = Channel { answer };
    let answered = catch_unwind(AssertUnwindSafe(|| engine.answer(request, pattern.as_deref(), &mut reader)));
    let done = match answered {
        Ok(Ok(completion)) => Ok(completion),
        Ok(Err(Unanswered::Failed(error))) => Err(error),
        Ok(Err(Unanswered::Cancelled)) => return,
        Err(_) => {
            // What it remembers may be half written.
            engine.sessions.clear();
            Err(llm::Error::Local { model: name.to_owned(), message: "it panicked".to_owned() })
        }
    };
    let _ = answer.send(Said::Done(done));
}

struct Channel<'a> {
    answer: &'a answers::UnboundedSender<Said>,
}

impl Reader for Channel<'_> {
    fn hear(&mut self, piece: &str) {
        // Nobody hears it when the call was cancelled; that is noticed at the next token.
        let _ = self.answer.send(Said::Piece(piece.to_owned()));
    }

    fn is_gone(&self) -> bool {
        self.answer.is_closed()
    }
}
