//! What a text ends with.
//!
//! Tokens are split at white space, with two exceptions that numbers need: a no-break space holds together ("3 000"), and
//! a percent sign belongs to the number before it ("40 %"). Scripts that put no spaces end a token where digits begin.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// In bytes.
const LONGEST_NUMBER: usize = 80;

const PERCENTS: [char; 5] = ['%', '‰', '٪', '％', '﹪'];

static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    built(concat!(
        r"^[+\-−±~≈<>≤≥]?\p{Sc}?[ \u{A0}\u{202F}]?",
        r"(?:\p{Nd}+(?:[.,'’/٫٬\u{A0}\u{202F}\u{2009}]\p{Nd}+)*(?:[eE][+\-−]?\p{Nd}+)?\p{No}?|\p{No})",
        r"(?:[ \u{A0}\u{202F}\u{2009}]?[%‰٪％﹪\p{Sc}])?$"
    ))
});

static YEAR: LazyLock<Regex> = LazyLock::new(|| built(r"^\p{Nd}{4}年?$"));

/// What follows a token without being part of it.
static TRAIL: LazyLock<Regex> = LazyLock::new(|| built(r"^[[\p{P}\p{Cf}\s`~|]--[%‰٪％﹪]]$"));

/// What stands before a token without being part of it; signs of numbers are.
static LEAD: LazyLock<Regex> = LazyLock::new(|| built(r"^[[\p{P}\p{Cf}`|]--[\-−]]+"));

#[expect(clippy::expect_used, reason = "the patterns are constants, and every one is used by a test")]
fn built(pattern: &str) -> Regex {
    Regex::new(pattern).expect("invariant: the pattern is valid")
}

/// Finds the last token of a text, without punctuation around it.
pub(super) fn last_token(text: &str) -> Option<Range<usize>> {
    let mut end = text.len();
    loop {
        let body = without_notes(text.get(..end)?.trim_end()).trim_end_matches(is_trail);
        if body.is_empty() {
            return None;
        }
        let start = body.rfind(splits).map_or(0, |at| at + width(body, at));
        let start = with_number_before(body, start);
        let start = start + LEAD.find(&body[start..]).map_or(0, |lead| lead.end());
        if start < body.len() {
            return Some(narrowed(body, start)..body.len());
        }
        end = body.rfind(splits).unwrap_or(0);
    }
}

/// Takes footnotes off the end: "by 40%.[1][2]"
fn without_notes(text: &str) -> &str {
    let mut text = text;
    while let Some((before, note)) = text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        let is_note = !note.is_empty() && note.chars().all(|c| c.is_ascii_digit());
        if !is_note || before.is_empty() || before.ends_with(char::is_whitespace) {
            break;
        }
        text = before;
    }
    text
}

pub(super) fn is_number(token: &str) -> bool {
    NUMBER.is_match(token)
}

pub(super) fn is_percentage(token: &str) -> bool {
    token.ends_with(PERCENTS) && is_number(token)
}

pub(super) fn is_year(token: &str) -> bool {
    YEAR.is_match(token) && token.chars().next().is_some_and(|first| matches!(digit(first), Some(1 | 2)))
}

/// Returns the value of a digit of any script. Digits stand in rows of ten that begin with zero.
fn digit(c: char) -> Option<u32> {
    if let Some(value) = c.to_digit(10) {
        return Some(value);
    }
    let zero =
        (0..10).rev().filter_map(|back| char::from_u32(u32::from(c).checked_sub(back)?)).find(|zero| {
            let before = char::from_u32(u32::from(*zero).wrapping_sub(1));
            zero.is_numeric() && before.is_some_and(|before| !before.is_numeric())
        })?;
    Some(u32::from(c) - u32::from(zero))
}

fn is_trail(c: char) -> bool {
    TRAIL.is_match(c.encode_utf8(&mut [0; 4]))
}

/// What parts tokens: dashes, the signs of scripts that put no spaces, and white space but for no-break spaces, which hold them together.
fn splits(c: char) -> bool {
    let breaks = c.is_whitespace() && !matches!(c, '\u{A0}' | '\u{202F}' | '\u{2007}');
    breaks || matches!(c, '–' | '—' | '―' | '…' | '。' | '！' | '？' | '、' | '，')
}

fn width(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(1, char::len_utf8)
}

/// Takes the number in if the token is only a percent sign: "40 %".
fn with_number_before(body: &str, start: usize) -> usize {
    if !body[start..].chars().all(|c| PERCENTS.contains(&c)) {
        return start;
    }
    let before = body[..start].trim_end();
    let from = before.rfind(splits).map_or(0, |at| at + width(before, at));
    if before[from..].ends_with(char::is_numeric) { from } else { start }
}

/// Takes away from the front what only looks like one token with the number at the end.
fn narrowed(body: &str, start: usize) -> usize {
    let token = &body[start..];
    if is_number(token) || is_year(token) {
        return start;
    }
    let is_border = |c: char| c.is_whitespace() || writes_without_spaces(c);
    // No number is longer than this; a text without spaces is not to be tried at each of its characters.
    let tail = token.floor_char_boundary(token.len().saturating_sub(LONGEST_NUMBER));
    let borders = token[tail..].char_indices().filter(|(_, c)| is_border(*c));
    let mut candidates = borders.map(|(at, c)| tail + at + c.len_utf8());
    let after = |at: usize| is_number(&token[at..]) || is_year(&token[at..]);
    match candidates.clone().find(|at| after(*at)) {
        Some(at) => start + at,
        // Without a number the last word is what follows the last no-break space.
        None => start + candidates.rfind(|at| token[..*at].ends_with(char::is_whitespace)).unwrap_or(0),
    }
}

/// Han, kana and the like, Thai, Lao, Khmer, Burmese.
fn writes_without_spaces(c: char) -> bool {
    matches!(u32::from(c), 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x2E80..=0x9FFF | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9F | 0xFF01..=0xFF04 | 0xFF06..=0xFF0F | 0xFF1A..=0xFF20 | 0x2_0000..=0x3_FFFF)
}
