//! The state of a workflow, and the updates that change it.
//!
//! A step never hands back the whole state: it hands back an *update* that holds only the new data, and the update
//! is what the journal keeps. Folding the updates of a run in order gives its state again, so everything here is
//! pure: no clock, no I/O, no randomness. How a field takes an update in is its *reducer*: replace ([`Change`], the
//! default), append ([`Append`]) or merge ([`Merge`]).
//!
//! The code for one struct is written by `#[derive(State)]`, which lives in the crate `redraft-macros`; when an
//! update is applied, and where it is stored, is decided elsewhere.
//!
//! To add a new reducer: a trait here with the laws of [`Append`], a variant of `Reducer` in `redraft-macros`, its
//! setters in `redraft-macros/src/expand.rs`, a case in `tests/derive_state.rs` and a user mistake in `tests/ui/fail`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

pub use redraft_macros::State;

/// What a workflow knows: a struct that changes by [updates](State::Update) only.
///
/// It is derived, not written by hand:
///
/// ```
/// use redraft::State;
/// use serde::{Deserialize, Serialize};
/// use std::collections::BTreeMap;
///
/// #[derive(Clone, Default, Serialize, Deserialize, State)]
/// struct Essay {
///     topic: String,
///     draft: Option<String>,
///     #[state(append)]
///     critiques: Vec<String>,
///     #[state(merge)]
///     facts: BTreeMap<String, String>,
/// }
///
/// let mut essay = Essay { topic: "tides".to_owned(), ..Essay::default() };
///
/// let update = Essay::update().draft("The moon pulls.".to_owned()).append_critiques("too short".to_owned());
/// let json = serde_json::to_string(&update)?;
/// assert_eq!(json, r#"{"draft":"The moon pulls.","critiques":["too short"]}"#);
///
/// essay.apply(update);
/// essay.apply(Essay::update().append_critiques("no source".to_owned()));
/// assert_eq!(essay.critiques, ["too short", "no source"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// The derive writes a struct named after the state (`EssayUpdate`) with these methods, each as visible as the field
/// it changes:
///
/// | field | methods of the update |
/// |---|---|
/// | `draft: T` | `draft(value)` replaces the value |
/// | `#[state(append)] critiques: T` | `append_critiques(item)` adds one, `extend_critiques(items)` adds many |
/// | `#[state(merge)] facts: T` | `merge_facts(entries)` adds entries; a later one wins |
/// | | `and(later)` joins two updates into one |
///
/// The names in an update's JSON are the names of the fields: `#[serde(…)]` attributes of the state do not reach it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the state of a workflow",
    label = "derive `State` for this type",
    note = "add `#[derive(Clone, serde::Serialize, serde::Deserialize, redraft::State)]` to `{Self}`"
)]
pub trait State: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// What a step hands back: the new data, and nothing else.
    type Update: Serialize + DeserializeOwned + Clone + Default + Send + Sync + 'static;

    /// Folds an update in. Pure, so that replay and life cannot disagree.
    fn apply(&mut self, update: Self::Update);

    /// Returns an update that changes nothing yet.
    #[must_use]
    fn update() -> Self::Update {
        Self::Update::default()
    }
}

/// What an update does to a field that is replaced as a whole.
///
/// In JSON a kept field is absent and a set field is its value, `null` included; so a field of type `Option<T>` can
/// be set to `None`, which an update of type `Option<Option<T>>` would forget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Change<T> {
    /// The field stays as it is.
    #[default]
    Keep,
    /// The field gets this value.
    Set(T),
}

impl<T> Change<T> {
    /// Says whether the field stays as it is.
    pub const fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }

    /// Returns the value the field gets, if it changes.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Keep => None,
            Self::Set(value) => Some(value),
        }
    }

    /// Joins two changes of one field: the later one wins, if it is one.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        match later {
            Self::Keep => self,
            Self::Set(_) => later,
        }
    }

    /// Makes the change.
    pub fn apply_to(self, field: &mut T) {
        if let Self::Set(value) = self {
            *field = value;
        }
    }
}

impl<T: Serialize> Serialize for Change<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // Any value written here would be read back as `Set`, so a kept field must be left out by its owner.
            Self::Keep => Err(ser::Error::custom(
                "a kept field has no value to write; skip it with `skip_serializing_if = \"Change::is_keep\"`",
            )),
            Self::Set(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::Set)
    }
}

/// What a field with `#[state(append)]` must be: something that grows at its end.
///
/// Implement it for a collection of your own and the attribute works on it. Two laws make an update safe to store
/// and to join: the default value [is nothing](Append::is_nothing) and appending it changes nothing; and appending
/// `b` and then `c` is the same as appending `b` with `c` appended.
#[diagnostic::on_unimplemented(
    message = "nothing can be appended to `{Self}`",
    label = "`#[state(append)]` needs `Vec`, `VecDeque` or `String` here",
    note = "to replace the value as a whole, remove `#[state(append)]`",
    note = "to add entries to a map or set, write `#[state(merge)]`",
    note = "to append to a type of your own, implement `redraft::workflow::Append` for it"
)]
pub trait Append: Default {
    /// What is appended one at a time.
    type Item;

    /// Adds one item at the end.
    fn append_item(&mut self, item: Self::Item);

    /// Adds all that `later` holds at the end, in its order.
    fn append_all(&mut self, later: Self);

    /// Returns what changes nothing when it is appended.
    fn nothing() -> Self {
        Self::default()
    }

    /// Says whether appending this would change nothing.
    fn is_nothing(&self) -> bool;
}

impl<T> Append for Vec<T> {
    type Item = T;

    fn append_item(&mut self, item: T) {
        self.push(item);
    }

    fn append_all(&mut self, later: Self) {
        self.extend(later);
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<T> Append for VecDeque<T> {
    type Item = T;

    fn append_item(&mut self, item: T) {
        self.push_back(item);
    }

    fn append_all(&mut self, later: Self) {
        self.extend(later);
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

/// Text grows by text: an item is a piece of any length, added without a separator.
impl Append for String {
    type Item = Self;

    fn append_item(&mut self, item: Self) {
        self.push_str(&item);
    }

    fn append_all(&mut self, later: Self) {
        self.push_str(&later);
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

/// What a field with `#[state(merge)]` must be: something whose entries can be taken over one by one.
///
/// Implement it for a collection of your own and the attribute works on it. The laws are those of [`Append`]: the
/// default value [is nothing](Merge::is_nothing) and merging it changes nothing; and merging `b` and then `c` is the
/// same as merging `b` with `c` merged in.
#[diagnostic::on_unimplemented(
    message = "nothing can be merged into `{Self}`",
    label = "`#[state(merge)]` needs a map or a set here: `BTreeMap`, `HashMap`, `BTreeSet`, `HashSet`, or an `Option` of one",
    note = "to replace the value as a whole, remove `#[state(merge)]`",
    note = "to add items to a list or text, write `#[state(append)]`",
    note = "to merge into a type of your own, implement `redraft::workflow::Merge` for it"
)]
pub trait Merge: Default {
    /// Takes over every entry of `later`; where both have one, the later wins.
    fn merge(&mut self, later: Self);

    /// Returns what changes nothing when it is merged.
    fn nothing() -> Self {
        Self::default()
    }

    /// Says whether merging this would change nothing.
    fn is_nothing(&self) -> bool;
}

impl<K: Ord, V> Merge for BTreeMap<K, V> {
    fn merge(&mut self, later: Self) {
        self.extend(later);
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<K: Eq + Hash, V, S: BuildHasher + Default> Merge for HashMap<K, V, S> {
    fn merge(&mut self, later: Self) {
        self.extend(later);
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Ord> Merge for BTreeSet<T> {
    fn merge(&mut self, later: Self) {
        self.extend(later);
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Eq + Hash, S: BuildHasher + Default> Merge for HashSet<T, S> {
    fn merge(&mut self, later: Self) {
        self.extend(later);
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

/// A map that may not be there yet. `Some` of an empty map is not nothing: it brings the map into being.
impl<T: Merge> Merge for Option<T> {
    fn merge(&mut self, later: Self) {
        match (self.as_mut(), later) {
            (_, None) => {}
            (Some(entries), Some(later)) => entries.merge(later),
            (None, later) => *self = later,
        }
    }

    fn is_nothing(&self) -> bool {
        self.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_change_wins_only_if_it_is_one() {
        use Change::{Keep, Set};
        for (first, later, joined) in
            [(Keep, Keep, Keep), (Set(1), Keep, Set(1)), (Keep, Set(2), Set(2)), (Set(1), Set(2), Set(2))]
        {
            assert_eq!(first.and(later), joined);
        }
    }

    #[test]
    fn a_kept_field_refuses_to_be_written_instead_of_becoming_null() {
        assert!(serde_json::to_string(&Change::<Option<u8>>::Keep).is_err());
        assert_eq!(serde_json::to_string(&Change::Set(None::<u8>)).unwrap(), "null");
        assert_eq!(serde_json::from_str::<Change<Option<u8>>>("null").unwrap(), Change::Set(None));
    }

    #[test]
    fn whatever_grows_at_its_end_keeps_its_order() {
        fn check<T: Append>(items: [T::Item; 3]) -> T {
            let [a, b, c] = items;
            let (mut whole, mut later) = (T::nothing(), T::nothing());
            assert!(whole.is_nothing());
            whole.append_item(a);
            later.append_item(b);
            later.append_item(c);
            whole.append_all(later);
            whole.append_all(T::nothing());
            assert!(!whole.is_nothing());
            whole
        }
        assert_eq!(check::<Vec<u8>>([1, 2, 3]), [1, 2, 3]);
        assert_eq!(check::<VecDeque<u8>>([1, 2, 3]), [1, 2, 3]);
        assert_eq!(check::<String>(["a".into(), "bc".into(), "d".into()]), "abcd");
    }

    #[test]
    fn a_later_entry_wins_and_the_others_stay() {
        fn check<T: Merge>(first: T, later: T) -> T {
            let mut whole = T::nothing();
            assert!(whole.is_nothing());
            whole.merge(first);
            whole.merge(later);
            whole.merge(T::nothing());
            assert!(!whole.is_nothing());
            whole
        }
        let expected = [(1, 'a'), (2, 'y'), (3, 'z')];
        let (first, later) = ([(1, 'a'), (2, 'b')], [(2, 'y'), (3, 'z')]);
        assert_eq!(check(BTreeMap::from(first), BTreeMap::from(later)), BTreeMap::from(expected));
        assert_eq!(check(HashMap::from(first), HashMap::from(later)), HashMap::from(expected));
        assert_eq!(check(BTreeSet::from([1, 2]), BTreeSet::from([2, 3])), BTreeSet::from([1, 2, 3]));
        assert_eq!(check(HashSet::from([1, 2]), HashSet::from([2, 3])), HashSet::from([1, 2, 3]));
        assert_eq!(check(Some(BTreeSet::from([1])), Some(BTreeSet::from([2]))), Some(BTreeSet::from([1, 2])));
    }

    #[test]
    fn an_empty_map_brings_an_absent_one_into_being() {
        let mut facts = None;
        facts.merge(Some(BTreeSet::<u8>::new()));
        assert_eq!(facts, Some(BTreeSet::new()));
        facts.merge(None);
        assert_eq!(facts, Some(BTreeSet::new()));
    }
}
