//! Where sentences begin and end.
//!
//! The borders of Unicode's text segmentation (UAX #29) come first. They are then mended where they are known to be
//! wrong: some are taken away (abbreviations, initials, ordinals, questions in quotation marks, addresses), and a few are
//! added (before a digit, after an ellipsis). Every sentence has at least one letter or digit.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// How far is looked ahead, in bytes.
const WINDOW: usize = 200;

/// Never the last word of a sentence.
const NEVER_LAST: &[&str] = &[
    "dr", "mr", "mrs", "ms", "prof", "rev", "hon", "gen", "col", "capt", "lt", "sgt", "sen", "rep", "gov",
    "st", "mt", "messrs", "mme", "mlle", "e.g", "i.e", "eg", "viz", "cf", "vs", "approx", "ca", "z.b", "d.h",
    "bzw", "ggf", "vgl", "sog", "hr", "fr", "inkl", "exkl", "p.ej", "sra", "srta", "dra", "ud", "uds",
    "dipl", "ing",
];

/// Not the last word of a sentence if a number follows.
const BEFORE_NUMBER: &[&str] = &[
    "no", "nos", "nr", "fig", "figs", "vol", "p", "pp", "art", "sec", "ch", "eq", "kap", "bd", "abs", "s",
    "n", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "okt", "nov", "dec", "dez",
    "núm", "tel",
];

/// The last word of a sentence only if a word follows with which sentences begin.
const SELDOM_LAST: &[&str] = &["inc", "ltd", "corp", "co", "jr", "sr", "bros", "ph.d", "u.a", "al"];

/// Words with which sentences begin, and names and titles hardly ever.
const BEGINNERS: &[&str] = &[
    "the", "a", "an", "it", "its", "he", "she", "they", "we", "you", "i", "this", "that", "these", "those",
    "there", "here", "but", "and", "or", "so", "yet", "if", "when", "while", "after", "before", "since",
    "because", "although", "in", "on", "at", "by", "for", "from", "to", "with", "as", "his", "her", "their",
    "our", "my", "your", "what", "who", "why", "how", "where", "now", "then", "today", "however", "most",
    "many", "some", "all", "no", "not", "one", "der", "die", "das", "ein", "eine", "es", "er", "sie", "wir",
    "ich", "und", "aber", "dies", "diese", "doch", "le", "la", "les", "un", "une", "il", "elle", "ils",
    "elles", "nous", "vous", "mais", "et", "el", "los", "las", "una", "pero", "y", "ella", "ellos",
];

/// Words that follow an ordinal written with a full stop: "am 3. Oktober", "im 19. Jahrhundert".
const AFTER_ORDINAL: &[&str] = &[
    "januar",
    "jänner",
    "februar",
    "märz",
    "april",
    "mai",
    "juni",
    "juli",
    "august",
    "september",
    "oktober",
    "november",
    "dezember",
    "jahrhundert",
    "jahrhunderts",
    "quartal",
    "weltkrieg",
    "kapitel",
    "klasse",
    "platz",
    "auflage",
    "mal",
    "stock",
    "jahrestag",
    "geburtstag",
];

/// Finds the sentences of a stretch of prose, without white space around them.
pub(super) fn sentences(text: &str, prose: &Range<usize>, into: &mut Vec<Range<usize>>) {
    let Some(block) = text.get(prose.clone()) else { return };
    // A line break inside of a paragraph is a space; all of these are one byte long, so that places stay.
    let block = block.replace(['\n', '\r'], " ");
    let first = into.len();
    let mut start = 0;
    for end in borders(&block) {
        if is_false(&block[start..end], near(&block[end..])) {
            continue;
        }
        let end = end + closers_after(near(&block[end..]));
        push(&block, start..end, prose.start, first, into);
        start = end;
    }
    push(&block, start..block.len(), prose.start, first, into);
}

/// Returns as much of what follows as is looked at: the work grows with the text and not with its square.
fn near(after: &str) -> &str {
    &after[..after.floor_char_boundary(WINDOW)]
}

/// Adds a sentence; what has neither letter nor digit belongs to the one before.
fn push(block: &str, range: Range<usize>, offset: usize, first: usize, into: &mut Vec<Range<usize>>) {
    let Some(piece) = block.get(range.clone()) else { return };
    let trimmed = piece.trim_end();
    let lead = trimmed.len() - trimmed.trim_start().len();
    let range = offset + range.start + lead..offset + range.start + trimmed.len();
    if range.is_empty() {
        return;
    }
    let speaks = |text: &str| text.chars().any(char::is_alphanumeric);
    match into.get_mut(first..).and_then(<[_]>::last_mut) {
        Some(last) if !speaks(trimmed) || !speaks(&block[last.start - offset..last.end - offset]) => {
            last.end = range.end;
        }
        None if !speaks(trimmed) => {}
        _ => into.push(range),
    }
}

/// Returns every place where a sentence may end: after the space behind it, before the end of the text.
fn borders(block: &str) -> Vec<usize> {
    let mut found: Vec<usize> = block.split_sentence_bound_indices().map(|(at, _)| at).collect();
    // UAX #29 sees no border in "in 2025. 40% of them", nor after "…".
    let mut ended: Option<char> = None;
    let mut spaced = false;
    for (at, c) in block.char_indices() {
        match ended {
            Some(_) if c.is_whitespace() => spaced = true,
            Some(sign) if spaced && begins_after(sign, c, near(&block[at..])) => {
                found.push(at);
                ended = None;
            }
            Some(_) if !spaced && is_closer(c) => {}
            _ => {
                ended = is_terminator(c).then_some(c);
                spaced = false;
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found.retain(|at| (1..block.len()).contains(at));
    found
}

fn begins_after(sign: char, c: char, rest: &str) -> bool {
    let first = rest.chars().find(|c| !is_opener(*c)).unwrap_or(c);
    first.is_numeric() || sign == '…' && first.is_alphabetic() && !first.is_lowercase()
}

/// Says whether the border after `before` is none.
fn is_false(before: &str, after: &str) -> bool {
    let spaced = before.ends_with(char::is_whitespace);
    let ended = before.trim_end();
    let bare = ended.trim_end_matches(is_closer);
    let next = after.trim_start().chars().find(|c| !is_opener(*c));
    match bare.chars().next_back() {
        Some('.') => {
            let dots = bare.len() - bare.trim_end_matches('.').len();
            dots == 1 && ended.len() == bare.len() && is_false_stop(bare.trim_end_matches('.'), after, next)
        }
        Some('!' | '?' | '‽') => {
            let quoted = ended.len() > bare.len();
            let goes_on = next.is_some_and(char::is_lowercase);
            // “Really?” he asked. And https://example.org/?a=1 is no question.
            goes_on && quoted || !spaced && next.is_some_and(|c| !c.is_uppercase())
        }
        // 「そうだ。」と言った。
        Some('。' | '！' | '？') => ended.len() > bare.len() && after.starts_with('と'),
        _ => false,
    }
}

/// Says whether a full stop after `before` belongs to its last word.
fn is_false_stop(before: &str, after: &str, next: Option<char>) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default();
    let alone = word.len() == before.trim_start().len();
    let word = word.trim_start_matches(|c| is_opener(c) || is_closer(c)).to_lowercase();
    let following = after.trim_start().trim_start_matches(is_opener).unicode_words().next();
    let following = following.unwrap_or_default().to_lowercase();
    let number_follows = next.is_some_and(char::is_numeric);
    let word = word.as_str();

    if NEVER_LAST.contains(&word) {
        return true;
    }
    if BEFORE_NUMBER.contains(&word) && !(alone && word == "no") {
        return number_follows || word.chars().count() == 1 && !begins_sentence(&following);
    }
    if SELDOM_LAST.contains(&word) {
        return !begins_sentence(&following);
    }
    if !word.is_empty() && word.len() <= 2 && word.chars().all(|c| c.is_ascii_digit()) {
        return AFTER_ORDINAL.contains(&following.as_str());
    }
    is_initials(before, word) && !begins_sentence(&following) && !number_follows
}

/// Says whether a word is one capital letter, or several with full stops between them: "J", "U.S", "z.B".
fn is_initials(before: &str, word: &str) -> bool {
    let capital = before.chars().rev().find(|c| c.is_alphabetic()).is_some_and(char::is_uppercase);
    let mut parts = word.split('.');
    // Half past ten "a.m" may well end a sentence.
    capital && parts.all(|part| part.chars().count() == 1 && part.chars().all(char::is_alphabetic))
}

fn begins_sentence(word: &str) -> bool {
    BEGINNERS.contains(&word)
}

/// Tells how much at the beginning of what follows still belongs to the sentence before: "« Oui. » Il part."
fn closers_after(after: &str) -> usize {
    let rest = after.trim_start_matches(['»', '”', ')', ']', '」', '』', '）']);
    let length = after.len() - rest.len();
    // »Gut« begins with the same sign with which « Bon » ends.
    if rest.is_empty() || rest.starts_with(char::is_whitespace) { length } else { 0 }
}

fn is_terminator(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '‽')
}

fn is_closer(c: char) -> bool {
    matches!(c, '"' | '\'' | '”' | '’' | '“' | '»' | '«' | '›' | '‹' | ')' | ']' | '}' | '*' | '_' | '`')
        || matches!(c, '」' | '』' | '）' | '】' | '》')
}

fn is_opener(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '“'
            | '„'
            | '‚'
            | '‘'
            | '”'
            | '«'
            | '»'
            | '‹'
            | '›'
            | '('
            | '['
            | '{'
            | '*'
            | '_'
            | '`'
    ) || matches!(
        c,
        '¿' | '¡'
            | '「'
            | '『'
            | '（'
            | '【'
            | '《'
            | '$'
            | '€'
            | '£'
            | '¥'
            | '+'
            | '-'
            | '−'
            | '~'
            | '≈'
            | '#'
    )
}
