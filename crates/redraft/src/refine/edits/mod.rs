//! A revision as a list of edits: words of the draft, and what is to stand there instead.
//!
//! All edits are located in the original text first and applied at once, so that none sees the work of another. What
//! no edit names stays as it is, byte by byte ([`untouched`] proves it), and a span that is to be kept cannot be
//! changed. An edit that does not fit is refused with words that help whoever wrote it to do better. Nothing is
//! guessed.
//!
//! `locate` finds the place of an edit, `blocks` reads edits from plain text, `protect` finds what is to be kept,
//! `refusal` has the reasons.

mod blocks;
mod locate;
mod protect;
mod refusal;
#[cfg(test)]
mod tests;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::blocks::Malformed;
pub(super) use self::locate::in_the_endings_of;
pub use self::protect::{Find, Keep, protected_spans};
pub use self::refusal::{Passage, Reason, Refusal};

/// Edits to the draft. They are located in the draft as it is, and applied together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edits {
    /// The edits, in any order. They must not overlap.
    pub edits: Vec<Edit>,
}

/// One passage of the draft and what is to stand there instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edit {
    /// The passage to replace, copied from the draft character by character. It must occur exactly once: include
    /// neighbouring words if it does not.
    pub search: String,
    /// What is to stand there instead. Empty to take the passage out.
    pub replace: String,
    /// The id of the finding that this edit answers, if it answers one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// Which occurrence is meant, counted from 1, if the passage occurs more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurrence: Option<u32>,
}

impl Edit {
    /// Makes an edit that puts `replace` where `search` stands.
    #[must_use]
    pub fn new(search: impl Into<String>, replace: impl Into<String>) -> Self {
        Self { search: search.into(), replace: replace.into(), finding: None, occurrence: None }
    }

    /// Says which finding it answers.
    #[must_use]
    pub fn answers(mut self, finding: impl Into<String>) -> Self {
        self.finding = Some(finding.into());
        self
    }

    /// Says which occurrence is meant, counted from 1.
    #[must_use]
    pub fn occurrence(mut self, occurrence: u32) -> Self {
        self.occurrence = Some(occurrence);
        self
    }
}

/// A text after edits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The text.
    pub text: String,
    /// What has changed, in the order of the text.
    pub spans: Vec<Changed>,
}

/// A span that an edit has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The number of the edit, counted from 1.
    pub edit: usize,
    /// The bytes it replaced, in the text before.
    pub before: Range<usize>,
    /// The bytes it wrote, in the text after.
    pub after: Range<usize>,
    /// The finding it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
}

/// Applies all edits to a text, or none.
///
/// Whitespace at the ends of lines, the kind of line breaks and indentation may differ between a search and the text
/// if there is only one place that can be meant; the replacement is then indented as the text is.
///
/// ```
/// use redraft::refine::edits::{Edit, apply};
///
/// let applied = apply("Tides are caused by wind.", &[Edit::new("wind", "the moon")], &[]).unwrap();
/// assert_eq!(applied.text, "Tides are caused by the moon.");
///
/// let refusals = apply("Tides are caused by wind.", &[Edit::new("made by wind", "")], &[]).unwrap_err();
/// assert_eq!(
///     refusals[0].to_string(),
///     "edit 1: the words of `search` are not in the draft; the nearest passage, on line 1, is “by wind”; \
///      copy `search` from the draft character by character",
/// );
/// ```
///
/// # Errors
///
/// If an edit does not fit: every refusal, in the order of the edits. Nothing is changed then.
pub fn apply(text: &str, edits: &[Edit], protected: &[Range<usize>]) -> Result<Applied, Vec<Refusal>> {
    let (applied, refusals) = apply_what_fits(text, edits, protected);
    if refusals.is_empty() { Ok(applied) } else { Err(refusals) }
}

/// Applies the edits that fit, and says why the others do not.
///
/// Of edits that overlap, the first is applied.
#[must_use]
pub fn apply_what_fits(text: &str, edits: &[Edit], protected: &[Range<usize>]) -> (Applied, Vec<Refusal>) {
    let mut placed: Vec<Placed<'_>> = Vec::new();
    let mut refusals = Vec::new();
    for (number, edit) in (1..).zip(edits) {
        match place(text, number, edit, protected, &placed) {
            Ok(fits) => placed.push(fits),
            Err(reason) => refusals.push(Refusal { edit: number, finding: edit.finding.clone(), reason }),
        }
    }
    placed.sort_by_key(|placed| placed.range.start);
    (write(text, placed), refusals)
}

/// An edit that fits.
struct Placed<'a> {
    number: usize,
    range: Range<usize>,
    replacement: String,
    edit: &'a Edit,
}

fn place<'a>(
    text: &str,
    number: usize,
    edit: &'a Edit,
    protected: &[Range<usize>],
    placed: &[Placed<'_>],
) -> Result<Placed<'a>, Reason> {
    let (range, replacement) = locate::locate(text, edit)?;
    if let Some(kept) = protected.iter().find(|kept| meet(&range, kept)) {
        return Err(Reason::protected(text, kept));
    }
    if text.get(range.clone()) == Some(replacement.as_str()) {
        return Err(Reason::NoChange);
    }
    if let Some(other) = placed.iter().find(|other| other.range == range || meet(&other.range, &range)) {
        return Err(Reason::Overlaps { with: other.number });
    }
    Ok(Placed { number, range, replacement, edit })
}

/// Spans that only touch do not meet; an empty one meets another that it lies strictly inside of.
fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn write(text: &str, placed: Vec<Placed<'_>>) -> Applied {
    let mut out = String::with_capacity(text.len());
    let mut spans = Vec::with_capacity(placed.len());
    let mut done = 0;
    for Placed { number, range, replacement, edit } in placed {
        out.push_str(text.get(done..range.start).unwrap_or_default());
        let start = out.len();
        out.push_str(&replacement);
        done = range.end;
        let finding = edit.finding.clone();
        spans.push(Changed { edit: number, before: range, after: start..out.len(), finding });
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Applied { text: out, spans }
}

/// Proves that two texts are the same outside of the spans: byte by byte, and in the same order.
#[must_use]
pub fn untouched(before: &str, after: &str, spans: &[Changed]) -> bool {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let (mut from, mut to) = (0, 0);
    for span in spans {
        let left = old.get(from..span.before.start);
        let right = new.get(to..span.after.start);
        if left.is_none()
            || left != right
            || span.before.end < span.before.start
            || span.after.end < span.after.start
        {
            return false;
        }
        (from, to) = (span.before.end, span.after.end);
    }
    matches!((old.get(from..), new.get(to..)), (Some(left), Some(right)) if left == right)
}
