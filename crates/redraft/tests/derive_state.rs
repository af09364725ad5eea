//! What a derived update does: it holds only the new data, and applying it is a fold.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in its helpers too")]

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use proptest::prelude::*;
use redraft::State;
use redraft::workflow::{Append, Change, Merge};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Critique {
    text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, State)]
struct Essay {
    topic: String,
    draft: Option<String>,
    score: f64,
    #[state(append)]
    critiques: Vec<Critique>,
    #[state(merge)]
    facts: BTreeMap<String, String>,
}

fn critique(text: &str) -> Critique {
    Critique { text: text.to_owned() }
}

fn facts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn json(update: &impl Serialize) -> String {
    serde_json::to_string(update).unwrap()
}

/// Writes an update as the journal does and reads it back.
fn through_json<T: Serialize + DeserializeOwned>(update: &T) -> T {
    serde_json::from_str(&json(update)).unwrap()
}

#[test]
fn an_update_holds_only_what_changed() {
    assert_eq!(json(&Essay::update()), "{}");
    assert_eq!(json(&Essay::update().draft("x".to_owned())), r#"{"draft":"x"}"#);
    assert_eq!(
        json(&Essay::update().append_critiques(critique("too long")).draft("x".to_owned())),
        r#"{"draft":"x","critiques":[{"text":"too long"}]}"#
    );
    assert_eq!(json(&Essay::update().merge_facts(facts(&[("a", "b")]))), r#"{"facts":{"a":"b"}}"#);
}

#[test]
fn an_update_does_not_grow_with_the_state() {
    let mut essay = Essay::default();
    let mut sizes = Vec::new();
    for _ in 0..10 {
        let update = Essay::update().append_critiques(critique("x")).merge_facts(facts(&[("a", "b")]));
        sizes.push(json(&update).len());
        essay.apply(update);
    }
    assert_eq!(essay.critiques.len(), 10);
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
}

#[test]
fn an_empty_update_changes_nothing() {
    let before = Essay { topic: "tides".to_owned(), critiques: vec![critique("a")], ..Essay::default() };
    let mut after = before.clone();
    after.apply(Essay::update());
    after.apply(serde_json::from_str("{}").unwrap());
    assert_eq!(after, before);
}

#[test]
fn replace_sets_the_fields_it_names_and_no_others() {
    let mut essay = Essay { topic: "tides".to_owned(), score: 0.5, ..Essay::default() };
    essay.apply(Essay::update().draft("first".to_owned()).draft("second".to_owned()));
    assert_eq!(essay.draft.as_deref(), Some("second"));
    assert_eq!((essay.topic.as_str(), essay.score), ("tides", 0.5));
}

#[test]
fn setting_an_option_to_none_survives_json() {
    let mut essay = Essay { draft: Some("x".to_owned()), ..Essay::default() };
    let update = Essay::update().draft(None);
    assert_eq!(json(&update), r#"{"draft":null}"#);
    essay.apply(through_json(&update));
    assert_eq!(essay.draft, None);
}

#[test]
fn append_adds_exactly_the_new_entries() {
    let mut essay = Essay { critiques: vec![critique("a")], ..Essay::default() };
    let update = Essay::update()
        .append_critiques(critique("b"))
        .append_critiques(critique("b"))
        .extend_critiques(["c", "d"].map(critique))
        .extend_critiques(Vec::new());
    essay.apply(through_json(&update));
    assert_eq!(essay.critiques, ["a", "b", "b", "c", "d"].map(critique));
}

#[test]
fn a_merged_entry_wins_over_an_earlier_one_and_leaves_the_others() {
    let mut essay = Essay { facts: facts(&[("moon", "pulls"), ("sun", "shines")]), ..Essay::default() };
    let update = Essay::update()
        .merge_facts(facts(&[("sun", "sets"), ("sea", "rises")]))
        .merge_facts(facts(&[("sea", "falls")]));
    essay.apply(through_json(&update));
    assert_eq!(essay.facts, facts(&[("moon", "pulls"), ("sun", "sets"), ("sea", "falls")]));
}

#[test]
fn names_that_a_later_version_dropped_are_ignored() {
    let update: EssayUpdate = serde_json::from_str(r#"{"mood":"grim","score":1.0}"#).unwrap();
    assert_eq!(json(&update), r#"{"score":1.0}"#);
}

#[test]
fn a_value_of_the_wrong_type_is_an_error() {
    assert!(serde_json::from_str::<EssayUpdate>(r#"{"topic":null}"#).is_err());
    assert!(serde_json::from_str::<EssayUpdate>(r#"{"critiques":null}"#).is_err());
}

#[test]
fn an_update_can_be_looked_into() {
    let update = Essay::update().topic("tides").append_critiques(critique("a"));
    assert_eq!(update.topic, Change::Set("tides".to_owned()));
    assert_eq!(update.draft, Change::Keep);
    assert_eq!(update.critiques, [critique("a")]);
}

#[test]
fn debug_names_the_changes_and_keeps_the_values_to_itself() {
    let update = Essay::update().topic("secret").append_critiques(critique("secret"));
    assert_eq!(format!("{update:?}"), "EssayUpdate(topic, critiques)");
    assert_eq!(format!("{:?}", Essay::update()), "EssayUpdate");
}

prop_compose! {
    fn any_update()(
        topic in any::<Option<String>>(),
        draft in any::<Option<Option<String>>>(),
        score in proptest::option::of(-1.0..1.0_f64),
        critiques in prop::collection::vec("[a-c]{0,2}", 0..4),
        facts in prop::collection::btree_map("[a-c]", "[a-c]", 0..4),
    ) -> EssayUpdate {
        let mut update = Essay::update();
        if let Some(topic) = topic {
            update = update.topic(topic);
        }
        if let Some(draft) = draft {
            update = update.draft(draft);
        }
        if let Some(score) = score {
            update = update.score(score);
        }
        update.extend_critiques(critiques.iter().map(|text| critique(text))).merge_facts(facts)
    }
}

fn applied<const N: usize>(essay: &Essay, updates: [EssayUpdate; N]) -> Essay {
    let mut essay = essay.clone();
    for update in updates {
        essay.apply(update);
    }
    essay
}

proptest! {
    #[test]
    fn joined_updates_equal_updates_one_after_the_other(
        start in any_update(), a in any_update(), b in any_update(), c in any_update(),
    ) {
        let essay = applied(&Essay::default(), [start]);
        let one_by_one = applied(&essay, [a.clone(), b.clone(), c.clone()]);
        prop_assert_eq!(&applied(&essay, [a.clone().and(b.clone()).and(c.clone())]), &one_by_one);
        prop_assert_eq!(&applied(&essay, [a.and(b.and(c))]), &one_by_one);
    }

    #[test]
    fn joining_nothing_changes_nothing(update in any_update()) {
        prop_assert_eq!(json(&update.clone().and(Essay::update())), json(&update));
        prop_assert_eq!(json(&Essay::update().and(update.clone())), json(&update));
    }

    #[test]
    fn an_update_read_back_does_the_same(start in any_update(), update in any_update()) {
        let essay = applied(&Essay::default(), [start]);
        prop_assert_eq!(applied(&essay, [through_json(&update)]), applied(&essay, [update]));
    }
}

#[test]
fn bare_numbers_fit_every_number_type() {
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, State)]
    struct Counters {
        small: u8,
        wide: u64,
        single: f32,
        limit: Option<u16>,
        pair: (u8, i64),
        #[state(append)]
        history: Vec<u32>,
    }
    let mut counters = Counters::default();
    let update = Counters::update().small(1).wide(2).single(0.5).limit(3).pair((4, 5)).append_history(6);
    counters.apply(through_json(&update));
    let expected =
        Counters { small: 1, wide: 2, single: 0.5, limit: Some(3), pair: (4, 5), history: vec![6] };
    assert_eq!(counters, expected);
}

#[test]
fn every_collection_that_can_append_or_merge_does() {
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, State)]
    struct All {
        #[state(append)]
        log: String,
        #[state(append)]
        queue: VecDeque<u8>,
        #[state(merge)]
        index: HashMap<String, u8>,
        #[state(merge)]
        seen: HashSet<u8>,
        #[state(merge)]
        maybe: Option<BTreeMap<u8, u8>>,
        #[state(replace)]
        list: Vec<u8>,
    }
    let mut all = All { log: "a".to_owned(), list: vec![1, 2], ..All::default() };
    let update = All::update()
        .append_log("b".to_owned())
        .extend_log(["c".to_owned(), "d".to_owned()])
        .append_queue(1)
        .merge_index([("a".to_owned(), 1)].into())
        .merge_seen([1].into())
        .merge_maybe(Some([(1, 1)].into()))
        .list([3]);
    assert_eq!(
        json(&update),
        r#"{"log":"bcd","queue":[1],"index":{"a":1},"seen":[1],"maybe":{"1":1},"list":[3]}"#
    );
    all.apply(through_json(&update));
    all.apply(All::update().merge_seen([2].into()).merge_maybe(Some([(2, 2)].into())));
    let expected = All {
        log: "abcd".to_owned(),
        queue: [1].into(),
        index: [("a".to_owned(), 1)].into(),
        seen: [1, 2].into(),
        maybe: Some([(1, 1), (2, 2)].into()),
        list: vec![3],
    };
    assert_eq!(all, expected);
}

#[test]
fn a_collection_of_ones_own_can_append_and_merge() {
    /// Keeps the last two lines only.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Tail(Vec<String>);

    impl Append for Tail {
        type Item = String;

        fn append_item(&mut self, item: String) {
            self.0.push(item);
            let surplus = self.0.len().saturating_sub(2);
            self.0.drain(..surplus);
        }

        fn append_all(&mut self, later: Self) {
            later.0.into_iter().for_each(|item| self.append_item(item));
        }

        fn is_nothing(&self) -> bool {
            self.0.is_empty()
        }
    }

    #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Highest(u8);

    impl Merge for Highest {
        fn merge(&mut self, later: Self) {
            self.0 = self.0.max(later.0);
        }

        fn is_nothing(&self) -> bool {
            self.0 == 0
        }
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, State)]
    struct Watch {
        #[state(append)]
        tail: Tail,
        #[state(merge)]
        highest: Highest,
    }

    let mut watch = Watch { tail: Tail(vec!["a".to_owned()]), highest: Highest(2) };
    watch.apply(Watch::update().append_tail("b".into()).merge_highest(Highest(1)));
    watch.apply(Watch::update().extend_tail(["c".into()]).merge_highest(Highest(3)));
    assert_eq!(watch, Watch { tail: Tail(vec!["b".into(), "c".into()]), highest: Highest(3) });
    assert_eq!(json(&Watch::update()), "{}");
}

#[test]
fn a_state_may_have_type_parameters_and_where_clauses() {
    trait Topic {
        type Note;
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Tides;

    impl Topic for Tides {
        type Note = String;
    }

    // No `Default` and no `Debug` is asked of the parameters.
    #[derive(Clone, PartialEq, Serialize, Deserialize, State)]
    struct Book<T, U = u8, L: Append<Item = u8> = VecDeque<u8>, const PARTS: usize = 3>
    where
        U: Copy,
    {
        topic: T,
        #[state(append)]
        pages: Vec<U>,
        #[state(append)]
        log: L,
        #[state(merge)]
        index: BTreeMap<String, Option<T>>,
    }

    #[derive(Clone, Serialize, Deserialize, State)]
    #[serde(bound = "")]
    struct Notes<T>
    where
        T: Topic<Note: Clone + Send + Sync + Serialize + DeserializeOwned + 'static>
            + DeserializeOwned
            + Serialize,
    {
        topic: T,
        #[state(append)]
        notes: Vec<T::Note>,
    }

    let mut book: Book<Tides> =
        Book { topic: Tides, pages: vec![1], log: [7].into(), index: BTreeMap::new() };
    let update =
        Book::update().append_pages(2).append_log(8).merge_index([("a".to_owned(), Some(Tides))].into());
    book.apply(through_json(&update));
    assert_eq!(book.pages, [1, 2]);
    assert_eq!(book.log, [7, 8]);
    assert_eq!(book.index.len(), 1);
    assert_eq!(json(&BookUpdate::<Tides>::default().topic(Tides)), r#"{"topic":null}"#);

    let mut notes = Notes { topic: Tides, notes: Vec::new() };
    notes.apply(through_json(&Notes::<Tides>::update().append_notes("low".to_owned())));
    assert_eq!(notes.notes, ["low"]);
}

#[test]
fn a_field_may_hold_the_state_itself() {
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, State)]
    struct Chapter {
        title: String,
        previous: Option<Box<Self>>,
        #[state(append)]
        parts: Vec<Self>,
    }
    let part = Chapter { title: "a".to_owned(), ..Chapter::default() };
    let update = Chapter::update().append_parts(part.clone()).previous(Box::new(part.clone()));
    let mut chapter = Chapter::default();
    chapter.apply(through_json(&update));
    assert_eq!(chapter.previous.as_deref(), Some(&part));
    assert_eq!(chapter.parts, vec![part]);
}

#[test]
fn any_name_but_and_is_free() {
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, State)]
    struct Odd {
        r#type: String,
        #[state(append)]
        r#loop: Vec<u8>,
        #[state(append)]
        and: Vec<u8>,
        #[state(merge)]
        r#match: BTreeMap<u8, u8>,
        update: u8,
        apply: u8,
        default: u8,
        clone: u8,
        value: u8,
        item: u8,
        json: u8,
        count: u8,
        later: Option<u8>,
        f: u8,
        serializer: u8,
    }
    let update = Odd::update()
        .r#type("a")
        .append_loop(1)
        .append_and(2)
        .merge_match([(3, 4)].into())
        .update(5)
        .apply(6)
        .default(7)
        .clone(8)
        .value(9)
        .item(10)
        .json(11)
        .count(12)
        .later(13)
        .f(14)
        .serializer(15);
    let written = json(&update);
    assert!(
        written.starts_with(r#"{"type":"a","loop":[1],"and":[2],"match":{"3":4},"update":5,"#),
        "{written}"
    );
    let mut odd = Odd::default();
    odd.apply(through_json(&update.and(Odd::update())));
    assert_eq!((odd.r#type.as_str(), odd.r#loop.as_slice(), odd.serializer), ("a", [1].as_slice(), 15));
}

#[test]
fn the_json_names_are_the_names_of_the_fields_whatever_serde_calls_them() {
    #[derive(Clone, Default, Serialize, Deserialize, State)]
    #[serde(rename_all = "camelCase")]
    struct Renamed {
        #[serde(rename = "entwurf")]
        first_draft: String,
        #[serde(skip)]
        cached_score: f64,
    }
    let update = Renamed::update().first_draft("x").cached_score(1.0);
    assert_eq!(json(&update), r#"{"first_draft":"x","cached_score":1.0}"#);
    let mut renamed = Renamed::default();
    renamed.apply(through_json(&update));
    assert_eq!(serde_json::to_string(&renamed).unwrap(), r#"{"entwurf":"x"}"#);
    assert_eq!(renamed.cached_score, 1.0);
}

mod elsewhere {
    use redraft::State;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Default, Serialize, Deserialize)]
    struct Secret;

    #[derive(Clone, Default, Serialize, Deserialize, State)]
    pub(crate) struct Open {
        pub(crate) draft: String,
        // A private field's setter is private too; if it were not, it would show a private type to everyone.
        #[state(append)]
        secrets: Vec<Secret>,
    }

    pub(crate) fn hide() -> OpenUpdate {
        Open::update().append_secrets(Secret)
    }
}

#[test]
fn an_update_is_as_visible_as_its_state_and_a_setter_as_its_field() {
    let update: elsewhere::OpenUpdate = elsewhere::hide().draft("x");
    assert_eq!(json(&update), r#"{"draft":"x","secrets":[null]}"#);
}
