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
    "nos", "nr", "fig", "figs", "vol", "vols", "p", "pp", "chap", "ch", "eq", "kap", "bd", "s", "n", "v",
    "c", "b", "d", "jan", "feb", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "okt", "nov", "dec",
    "dez", "núm", "tel", "ext", "ver", "abb", "tab", "ref", "refs", "max", "min", "est", "op", "pt",
];

/// The same, if it is written with a capital: "Art. 5", but "it is art. 40% agree".
const BEFORE_NUMBER_AS_NAME: &[&str] = &["no", "art", "sec", "abs", "mar"];

/// The last word of a sentence only if a word follows with which sentences begin.
const SELDOM_LAST: &[&str] = &[
    "inc", "ltd", "corp", "co", "jr", "sr", "bros", "ph.d", "u.a", "al", "mio", "mrd", "tsd", "univ", "geb",
];

/// The last word of a sentence, but not if a small letter follows.
const OFTEN_LAST: &[&str] = &["etc", "usw", "a.m", "p.m", "u.s.w"];

/// What one letter follows that is no initial: "vitamin C. Studies show".
const BEFORE_LETTER: &[&str] = &[
    "plan",
    "vitamin",
    "hepatitis",
    "option",
    "type",
    "class",
    "grade",
    "group",
    "team",
    "section",
    "part",
    "appendix",
    "point",
    "phase",
    "step",
    "case",
    "version",
    "series",
    "figure",
    "table",
    "level",
    "side",
    "exhibit",
    "gate",
    "answer",
    "language",
    "variant",
    "drive",
    "generation",
    "letter",
    "and",
    "or",
];

/// What stands before an ordinal in German: "das 2. Spiel".
const BEFORE_ORDINAL: &[&str] = &[
    "der", "das", "dem", "den", "des", "im", "vom", "zum", "zur", "beim", "ein", "eine", "einem", "einer",
    "jeder", "jede", "jedes", "seit",
];

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
    // UAX #29 sees no border in "in 2025. 40% of them", nor after "…", nor after "said so.[1]".
    let small = !block.chars().any(char::is_uppercase);
    let mut ended: Option<char> = None;
    let mut noted = false;
    let mut spaced = false;
    for (at, c) in block.char_indices() {
        match ended {
            Some(_) if c.is_whitespace() => spaced = true,
            Some(sign) if spaced && begins_after(sign == '…' || noted, small, near(&block[at..])) => {
                found.push(at);
                ended = None;
            }
            Some(_) if !spaced && is_closer(c) => {}
            Some(_) if !spaced && (is_note(c) || noted && c.is_numeric()) => noted = true,
            _ => {
                ended = is_terminator(c).then_some(c);
                (noted, spaced) = (false, false);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found.retain(|at| (1..block.len()).contains(at));
    found
}

/// Says whether a sentence begins here that UAX #29 does not see: with a digit, with a name such as `iPhone`, with a
/// capital after a sign that it does not know, or with any letter in a text without capitals.
fn begins_after(unknown_sign: bool, small: bool, rest: &str) -> bool {
    let mut word = rest.chars().skip_while(|c| is_opener(*c));
    let (Some(first), second) = (word.next(), word.next()) else { return false };
    let capital = first.is_alphabetic() && !first.is_lowercase();
    let name = first.is_lowercase() && second.is_some_and(char::is_uppercase);
    first.is_numeric() || name || unknown_sign && capital || small && first.is_lowercase()
}

/// A sign of a footnote: "said so.[1]", "said so.²"
fn is_note(c: char) -> bool {
    matches!(c, '[' | ']' | '¹' | '²' | '³' | '⁰' | '⁴'..='⁹')
}

/// Says whether the border after `before` is none.
fn is_false(before: &str, after: &str) -> bool {
    let spaced = before.ends_with(char::is_whitespace);
    let ended = before.trim_end();
    let bare = ended.trim_end_matches(is_closer);
    let next = after.trim_start().chars().find(|c| !is_opener(*c));
    match bare.chars().next_back() {
        // Footnotes and brackets right behind a full stop.
        Some('(' | '[' | '{') => !spaced,
        Some('.') if !spaced && next.is_some_and(char::is_numeric) => true,
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
    let mut words = before.rsplit(char::is_whitespace);
    let written = words.next().unwrap_or_default().trim_start_matches(|c| is_opener(c) || is_closer(c));
    let previous = words.next().map(str::to_lowercase);
    let capital = written.chars().next().is_some_and(char::is_uppercase);
    let word = written.to_lowercase();
    let word = word.as_str();
    let following = after.trim_start().trim_start_matches(is_opener).unicode_words().next();
    let following = following.unwrap_or_default().to_lowercase();
    let begins = BEGINNERS.contains(&following.as_str());
    let number_follows = next.is_some_and(char::is_numeric);
    let after_one_of = |list: &[&str]| previous.as_deref().is_some_and(|previous| list.contains(&previous));

    if NEVER_LAST.contains(&word) || BEFORE_NUMBER.contains(&word) && number_follows {
        true
    } else if BEFORE_NUMBER_AS_NAME.contains(&word) {
        // "No." alone is an answer.
        number_follows && capital && previous.is_some()
    } else if SELDOM_LAST.contains(&word) {
        !begins
    } else if OFTEN_LAST.contains(&word) {
        next.is_some_and(char::is_lowercase)
    } else if !word.is_empty() && word.len() <= 2 && word.chars().all(|c| c.is_ascii_digit()) {
        AFTER_ORDINAL.contains(&following.as_str())
            || after_one_of(BEFORE_ORDINAL) && !begins && !number_follows
    } else {
        is_initials(written) && !begins && !number_follows && !after_one_of(BEFORE_LETTER)
    }
}

/// Says whether a word is one capital letter, or several letters with full stops between them: "J", "U.S".
fn is_initials(word: &str) -> bool {
    let letter = |part: &str| part.chars().count() == 1 && part.chars().all(char::is_alphabetic);
    word.chars().next_back().is_some_and(char::is_uppercase) && word.split('.').all(letter)
}

/// Tells how much at the beginning of what follows still belongs to the sentence before: "« Oui. » Il part."
fn closers_after(after: &str) -> usize {
    let rest = after.trim_start_matches(['»', '”', ')', ']', '」', '』', '）', '*', '_', '`']);
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
