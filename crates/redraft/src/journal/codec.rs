//! The text form of events: one flat JSON object each, and a batch of them as one JSON array.
//!
//! ```json
//! {"v":2,"at":"2026-01-01T00:00:00.000Z","type":"step_succeeded","path":"draft","output":"…"}
//! ```
//!
//! JSON, because whoever opens the database must be able to read it with what they have (`sqlite3`, `jq`); flat and
//! decoded in a single pass, because a tagged serde enum would buffer every event and could not hand an output
//! through as the raw text it was written in. See `docs/decisions/0001-journal-format.md`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::event::GateClosed;
use super::{Error, Event, GroupKind, Header, Record, RunEnding};
use crate::clock::Timestamp;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::gate::{Answer, Question};
use crate::id::DriverId;
use crate::outcome::{Status, Stop};
use crate::path::Path;
use crate::spend::Spend;

/// The version that this build writes, and the newest it reads.
pub(crate) const VERSION: u32 = 2;

/// Events waiting to be written together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    text: Vec<u8>,
    count: u32,
}

impl Batch {
    pub(crate) fn push(&mut self, at: Timestamp, event: &Event) {
        self.text.push(if self.count == 0 { b'[' } else { b',' });
        // Writing plain structs of strings and numbers into memory cannot fail; if it ever did, the half-written
        // event would be refused as unreadable, not taken for something else.
        let _ = serde_json::to_writer(&mut self.text, &Wire::of(at, event));
        self.count += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the finished text.
    pub(crate) fn into_text(mut self) -> String {
        self.text.push(b']');
        // serde_json writes UTF-8 and nothing else.
        String::from_utf8(self.text).unwrap_or_default()
    }
}

/// Reads a batch whose first event is number `first`.
pub(crate) fn decode(first: u64, text: &str, into: &mut Vec<Record>) -> Result<(), Error> {
    let Ok(wires) = serde_json::from_str::<Vec<Wire<'_>>>(text) else {
        return Err(explain_unreadable(first, text));
    };
    for (seq, wire) in (first..).zip(wires) {
        into.push(wire.into_record(seq)?);
    }
    Ok(())
}

/// Finds out which event is unreadable and why; only called when there is one.
fn explain_unreadable(first: u64, text: &str) -> Error {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    let events = match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(events) => events,
        Err(error) => return Error::Unreadable { seq: first, reason: error.to_string() },
    };
    for (seq, event) in (first..).zip(events) {
        if let Ok(Version { v }) = serde_json::from_str(event.get())
            && v > VERSION
        {
            return Error::FromTheFuture { seq, found: v, known: VERSION };
        }
        if let Err(error) = serde_json::from_str::<Wire<'_>>(event.get()) {
            return Error::Unreadable { seq, reason: error.to_string() };
        }
    }
    Error::Unreadable { seq: first, reason: "the batch cannot be read as a whole".to_owned() }
}

/// The words in the field `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    RunStarted,
    RunResumed,
    GroupOpened,
    StepStarted,
    StepSucceeded,
    StepFailed,
    StepAbandoned,
    SleepStarted,
    SleepFinished,
    GateOpened,
    GateAnswered,
    GateClosed,
    ValueRecorded,
    NoteWritten,
    CancelRequested,
    RunFinished,
    RunReopened,
}

/// Every field that any event has.
#[derive(Serialize, Deserialize)]
struct Wire<'a> {
    v: u32,
    at: Timestamp,
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<Path>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<Header>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    driver: Option<DriverId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<GroupKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<Fingerprint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spend: Option<Spend>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<Question>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<GateClosed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forgets: Option<Vec<Path>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop: Option<Stop>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    input: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    value: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    output: Option<&'a RawValue>,
}

/// Keeps a JSON `null` as an output of its own: a step that returns nothing has still succeeded.
fn present<'de: 'a, 'a, D: serde::Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

impl<'a> Wire<'a> {
    fn of(at: Timestamp, event: &'a Event) -> Self {
        let mut wire = Wire::empty(at, Kind::RunStarted);
        wire.kind = match event {
            Event::RunStarted(header) => {
                wire.run = Some((**header).clone());
                Kind::RunStarted
            }
            Event::RunResumed { driver } => {
                wire.driver = Some(*driver);
                Kind::RunResumed
            }
            Event::GroupOpened { path, kind } => {
                wire.path = Some(path.clone());
                wire.group = Some(kind.clone());
                Kind::GroupOpened
            }
            Event::StepStarted { path, fingerprint, attempt } => {
                wire.path = Some(path.clone());
                wire.fingerprint = Some(*fingerprint);
                wire.attempt = Some(*attempt);
                Kind::StepStarted
            }
            Event::StepSucceeded { path, output, spend } => {
                wire.path = Some(path.clone());
                wire.output = Some(output);
                wire.spend = *spend;
                Kind::StepSucceeded
            }
            Event::StepFailed { path, failure, retry_at, spend } => {
                wire.path = Some(path.clone());
                wire.failure = Some(failure.clone());
                wire.retry_at = *retry_at;
                wire.spend = *spend;
                Kind::StepFailed
            }
            Event::StepAbandoned { path, spend } => {
                wire.path = Some(path.clone());
                wire.spend = Some(*spend);
                Kind::StepAbandoned
            }
            Event::SleepStarted { path, until } => {
                wire.path = Some(path.clone());
                wire.until = Some(*until);
                Kind::SleepStarted
            }
            Event::SleepFinished { path } => {
                wire.path = Some(path.clone());
                Kind::SleepFinished
            }
            Event::GateOpened { path, question, deadline } => {
                wire.path = Some(path.clone());
                wire.question = Some(question.clone());
                wire.deadline = *deadline;
                Kind::GateOpened
            }
            Event::GateAnswered { path, answer } => {
                wire.path = Some(path.clone());
                wire.answer = Some(answer.clone());
                Kind::GateAnswered
            }
            Event::GateClosed { path, why } => {
                wire.path = Some(path.clone());
                wire.why = Some(*why);
                Kind::GateClosed
            }
            Event::ValueRecorded { path, value } => {
                wire.path = Some(path.clone());
                wire.value = Some(value);
                Kind::ValueRecorded
            }
            Event::NoteWritten { path, text } => {
                wire.path = Some(path.clone());
                wire.text = Some(text.clone());
                Kind::NoteWritten
            }
            Event::CancelRequested { reason, by } => {
                wire.reason = Some(reason.clone());
                wire.by = Some(by.clone());
                Kind::CancelRequested
            }
            Event::RunFinished(ending) => {
                wire.status = Some(ending.status);
                wire.stop = ending.stop;
                wire.output = ending.output.as_deref();
                wire.failure = ending.failure.clone();
                wire.reason = ending.reason.clone();
                Kind::RunFinished
            }
            Event::RunReopened { by, forgets, input } => {
                wire.by = Some(by.clone());
                wire.forgets = Some(forgets.clone());
                wire.input = input.as_deref();
                Kind::RunReopened
            }
        };
        wire
    }

    fn empty(at: Timestamp, kind: Kind) -> Self {
        Self {
            v: VERSION,
            at,
            kind,
            path: None,
            run: None,
            driver: None,
            group: None,
            fingerprint: None,
            attempt: None,
            failure: None,
            retry_at: None,
            spend: None,
            until: None,
            question: None,
            deadline: None,
            answer: None,
            why: None,
            text: None,
            reason: None,
            by: None,
            forgets: None,
            status: None,
            stop: None,
            input: None,
            value: None,
            output: None,
        }
    }

    fn into_record(self, seq: u64) -> Result<Record, Error> {
        if self.v > VERSION {
            return Err(Error::FromTheFuture { seq, found: self.v, known: VERSION });
        }
        let at = self.at;
        let kind = self.kind;
        let event = self.into_event().ok_or_else(|| Error::Unreadable {
            seq,
            reason: format!("an event of the type {kind:?} lacks a field that it must have"),
        })?;
        Ok(Record { seq, at, event })
    }

    /// Returns nothing if a field is missing that the type must have.
    fn into_event(self) -> Option<Event> {
        Some(match self.kind {
            Kind::RunStarted => Event::RunStarted(Box::new(self.run?)),
            Kind::RunResumed => Event::RunResumed { driver: self.driver? },
            Kind::GroupOpened => Event::GroupOpened { path: self.path?, kind: self.group? },
            Kind::StepStarted => Event::StepStarted {
                path: self.path?,
                fingerprint: self.fingerprint?,
                attempt: self.attempt?,
            },
            Kind::StepSucceeded => {
                Event::StepSucceeded { path: self.path?, output: self.output?.to_owned(), spend: self.spend }
            }
            Kind::StepFailed => Event::StepFailed {
                path: self.path?,
                failure: self.failure?,
                retry_at: self.retry_at,
                spend: self.spend,
            },
            Kind::StepAbandoned => Event::StepAbandoned { path: self.path?, spend: self.spend? },
            Kind::SleepStarted => Event::SleepStarted { path: self.path?, until: self.until? },
            Kind::SleepFinished => Event::SleepFinished { path: self.path? },
            Kind::GateOpened => {
                Event::GateOpened { path: self.path?, question: self.question?, deadline: self.deadline }
            }
            Kind::GateAnswered => Event::GateAnswered { path: self.path?, answer: self.answer? },
            Kind::GateClosed => Event::GateClosed { path: self.path?, why: self.why? },
            Kind::ValueRecorded => Event::ValueRecorded { path: self.path?, value: self.value?.to_owned() },
            Kind::NoteWritten => Event::NoteWritten { path: self.path?, text: self.text? },
            Kind::CancelRequested => Event::CancelRequested { reason: self.reason?, by: self.by? },
            Kind::RunFinished => Event::RunFinished(Box::new(RunEnding {
                status: self.status?,
                stop: self.stop,
                output: self.output.map(ToOwned::to_owned),
                failure: self.failure,
                reason: self.reason,
            })),
            Kind::RunReopened => Event::RunReopened {
                by: self.by?,
                forgets: self.forgets?,
                input: self.input.map(ToOwned::to_owned),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line per variant, as the versions of redraft wrote them. Lines are added, never changed.
    const FIXTURES: &str = concat!(include_str!("fixtures/v1.jsonl"), include_str!("fixtures/v2.jsonl"));

    #[test]
    fn every_variant_of_every_version_still_loads_and_is_written_the_same() {
        let mut kinds = Vec::new();
        let mut newest = 0;
        for line in FIXTURES.lines() {
            let mut records = Vec::new();
            decode(7, &format!("[{line}]"), &mut records).unwrap();
            let [record] = records.as_slice() else { panic!("one event per line") };
            assert_eq!(record.seq, 7);
            let mut batch = Batch::default();
            batch.push(record.at, &record.event);
            // Lines of older versions need only load; the present version is also written as it was.
            if serde_json::from_str::<Wire<'_>>(line).unwrap().v == VERSION {
                assert_eq!(batch.into_text(), format!("[{line}]"));
                newest += 1;
            }
            kinds.push(serde_json::from_str::<Wire<'_>>(line).unwrap().kind);
        }
        assert!(newest >= 17, "the present version has a line per variant");
        let mut next = Some(Kind::RunStarted);
        while let Some(kind) = next {
            assert!(kinds.contains(&kind), "no fixture for {kind:?}");
            next = after(kind);
        }
    }

    /// Walks through every kind; the compiler asks for a line when one is added.
    fn after(kind: Kind) -> Option<Kind> {
        Some(match kind {
            Kind::RunStarted => Kind::RunResumed,
            Kind::RunResumed => Kind::GroupOpened,
            Kind::GroupOpened => Kind::StepStarted,
            Kind::StepStarted => Kind::StepSucceeded,
            Kind::StepSucceeded => Kind::StepFailed,
            Kind::StepFailed => Kind::StepAbandoned,
            Kind::StepAbandoned => Kind::SleepStarted,
            Kind::SleepStarted => Kind::SleepFinished,
            Kind::SleepFinished => Kind::GateOpened,
            Kind::GateOpened => Kind::GateAnswered,
            Kind::GateAnswered => Kind::GateClosed,
            Kind::GateClosed => Kind::ValueRecorded,
            Kind::ValueRecorded => Kind::NoteWritten,
            Kind::NoteWritten => Kind::CancelRequested,
            Kind::CancelRequested => Kind::RunFinished,
            Kind::RunFinished => Kind::RunReopened,
            Kind::RunReopened => return None,
        })
    }

    #[test]
    fn an_unreadable_event_is_named() {
        let good = FIXTURES.lines().next().unwrap();
        let cases = [
            ("not json at all".to_owned(), 5, "journal-unreadable"),
            (format!("[{good},{{\"v\":1}}]"), 6, "journal-unreadable"),
            (format!("[{good},{}]", good.replace("\"v\":1", "\"v\":9")), 6, "journal-from-the-future"),
            ("[{\"v\":3,\"brand\":\"new\"}]".to_owned(), 5, "journal-from-the-future"),
            (
                "[{\"v\":1,\"at\":\"2026-01-01T00:00:00Z\",\"type\":\"step_started\"}]".to_owned(),
                5,
                "journal-unreadable",
            ),
        ];
        for (text, at, code) in cases {
            let error = decode(5, &text, &mut Vec::new()).unwrap_err();
            let (Error::Unreadable { seq, .. }
            | Error::FromTheFuture { seq, .. }
            | Error::Illegal { seq, .. }) = &error;
            assert_eq!((*seq, error.code()), (at, code), "{text}");
        }
    }
}
