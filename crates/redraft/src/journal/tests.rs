//! Properties of the fold, over journals that chance writes.

use proptest::prelude::*;
use serde_json::value::to_raw_value;

use super::state::Run;
use super::{Event, GateClosed, GroupKind, Header, Record, RunEnding, codec};
use crate::clock::Timestamp;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::gate::{Answer, Question};
use crate::id::DriverId;
use crate::outcome::{Status, Stop};
use crate::path::Path;
use crate::spend::Spend;

fn header() -> Event {
    Event::RunStarted(Box::new(Header {
        workflow: "essay".to_owned(),
        version: 1,
        definition: Fingerprint::of([b"essay".as_slice()]),
        phases: Vec::new(),
        input: to_raw_value(&1).unwrap(),
        key: None,
        origin: None,
    }))
}

/// Few paths, so that events meet each other.
fn path() -> impl Strategy<Value = Path> {
    prop::sample::select(vec!["a", "b", "loop", "loop/1", "loop/1/a", "loop/2/a", "both/1/a", "gate"])
        .prop_map(Path::new)
}

fn event() -> impl Strategy<Value = Event> {
    let fingerprint =
        || prop::sample::select(vec![b"x", b"y"]).prop_map(|part| Fingerprint::of([part.as_slice()]));
    let failure =
        || prop::sample::select(vec!["timeout", "bad"]).prop_map(|code| Failure::terminal(code, "no"));
    prop_oneof![
        1 => Just(header()),
        1 => Just(Event::RunResumed { driver: DriverId::new() }),
        4 => (path(), 1..4_u32).prop_map(|(path, attempt)| (path, attempt)).prop_flat_map(move |(path, attempt)| {
            fingerprint().prop_map(move |fingerprint| Event::StepStarted { path: path.clone(), fingerprint, attempt })
        }),
        4 => (path(), any::<String>())
            .prop_map(|(path, text)| Event::StepSucceeded { path, output: to_raw_value(&text).unwrap(), spend: None }),
        3 => (path(), failure(), any::<bool>()).prop_map(|(path, failure, again)| {
            let spend = again.then(|| Spend { calls: 1, ..Spend::default() });
            Event::StepFailed { path, failure, retry_at: again.then_some(Timestamp::EPOCH), spend }
        }),
        1 => path().prop_map(|path| Event::StepAbandoned { path, spend: Spend { calls: 2, ..Spend::default() } }),
        2 => path().prop_map(|path| Event::GroupOpened { path, kind: GroupKind::Loop { max: 3 } }),
        1 => path().prop_map(|path| Event::GroupOpened { path, kind: GroupKind::Cleanup }),
        1 => path().prop_map(|path| Event::SleepStarted { path, until: Timestamp::EPOCH }),
        1 => path().prop_map(|path| Event::SleepFinished { path }),
        2 => path().prop_map(|path| Event::GateOpened { path, question: Question::new("?"), deadline: None }),
        2 => path().prop_map(|path| Event::GateAnswered { path, answer: Answer::new("approve") }),
        1 => path().prop_map(|path| Event::GateClosed { path, why: GateClosed::Expired }),
        1 => path().prop_map(|path| Event::ValueRecorded { path, value: to_raw_value(&7).unwrap() }),
        1 => path().prop_map(|path| Event::NoteWritten { path, text: "…".to_owned() }),
        1 => Just(Event::CancelRequested { reason: "enough".to_owned(), by: "ada".to_owned() }),
        1 => prop::sample::select(Status::ALL.to_vec()).prop_map(|status| {
            let stop = Some(Stop::Failed);
            Event::RunFinished(Box::new(RunEnding { status, stop, output: None, failure: None, reason: None }))
        }),
        1 => prop::collection::vec(path(), 0..3)
            .prop_map(|forgets| Event::RunReopened { by: "ada".to_owned(), forgets, input: None }),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(event(), 0..60).prop_map(|mut events| {
        events.insert(0, header());
        events
    })
}

/// Folds what is legal and leaves out the rest, as the engine would have.
fn legal(events: Vec<Event>) -> (Run, Vec<Record>) {
    let mut run = Run::default();
    let mut records = Vec::new();
    for event in events {
        let record = Record { seq: run.seq + 1, at: Timestamp::from_millis(run.seq as i64), event };
        if run.apply(&record).is_ok() {
            records.push(record);
        }
    }
    (run, records)
}

/// The state without the hash index, whose order is not its meaning.
fn shown(run: &Run) -> String {
    format!(
        "{} {:?} {:?} {} {:?} {:?} {:?} {}",
        run.seq,
        run.status(),
        run.updated_at,
        run.lives,
        run.entries,
        run.cancel,
        run.ending,
        run.open_gates()
    )
}

proptest! {
    #[test]
    fn an_illegal_event_changes_nothing(events in events()) {
        let mut run = Run::default();
        for event in events {
            let before = shown(&run);
            let record = Record { seq: run.seq + 1, at: Timestamp::EPOCH, event };
            if run.apply(&record).is_err() {
                prop_assert_eq!(shown(&run), before);
            }
        }
    }

    #[test]
    fn folding_in_two_parts_is_folding_at_once(events in events(), cut in 0..60_usize) {
        let (whole, records) = legal(events);
        let cut = cut.min(records.len());
        let mut parts = Run::fold(&records[..cut]).unwrap();
        for record in &records[cut..] {
            parts.apply(record).unwrap();
        }
        prop_assert_eq!(shown(&parts), shown(&whole));
    }

    #[test]
    fn the_text_form_loses_nothing(events in events()) {
        let (run, records) = legal(events);
        let mut batch = codec::Batch::default();
        for record in &records {
            batch.push(record.at, &record.event);
        }
        let mut read = Vec::new();
        codec::decode(1, &batch.into_text(), &mut read).unwrap();
        prop_assert_eq!(shown(&Run::fold(&read).unwrap()), shown(&run));
    }

    #[test]
    fn a_number_out_of_order_is_refused(events in events(), seq in 0..70_u64) {
        let (mut run, _) = legal(events);
        if seq != run.seq + 1 {
            let note = Event::NoteWritten { path: Path::new("new"), text: String::new() };
            let late = Record { seq, at: Timestamp::EPOCH, event: note };
            prop_assert!(run.apply(&late).is_err());
        }
    }

    #[test]
    fn a_finished_step_never_starts_again(events in events()) {
        let (mut run, _) = legal(events);
        let done: Vec<Path> = run.entries.iter().filter(|entry| !entry.forgotten && entry.closed_seq.is_some())
            .map(|entry| entry.path.clone()).collect();
        for path in done {
            let fingerprint = Fingerprint::of([b"x".as_slice()]);
            for attempt in 1..5 {
                let event = Event::StepStarted { path: path.clone(), fingerprint, attempt };
                let again = Record { seq: run.seq + 1, at: Timestamp::EPOCH, event };
                prop_assert!(run.apply(&again).is_err(), "{} started again", path);
            }
        }
    }
}
