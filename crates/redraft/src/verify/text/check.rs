//! Checking a draft against the rules: what is wrong, where, and what to do about it.
//!
//! Every rule gives 1.0 if it holds and something less if not; the score is their mean. A finding's subject leaves counts
//! out, so that "has 5 sentences" and "has 4 sentences" are the same finding.

use std::collections::HashMap;
use std::ops::Range;

use regex::Regex;
use unicode_segmentation::UnicodeSegmentation;

use super::layout::Layout;
use super::word::{float, reading_ease, words};
use super::{Bounds, OneOrMany, Text, counted, sentence, token};
use crate::verify::shorten::shortened;
use crate::verify::{Finding, Verdict};

/// More places of the same fault than this help nobody.
const MOST_PLACES: usize = 20;

/// A draft, taken apart once for all rules.
pub(super) struct Reading<'a> {
    text: &'a str,
    pub(super) layout: Layout,
    pub(super) sentences: Vec<Range<usize>>,
    pub(super) words: Vec<Range<usize>>,
}

impl<'a> Reading<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let layout = Layout::of(text);
        let mut sentences = Vec::new();
        for prose in &layout.prose {
            sentence::sentences(text, prose, &mut sentences);
        }
        Self { text, layout, sentences, words: words(text) }
    }

    fn at(&self, range: &Range<usize>) -> &'a str {
        self.text.get(range.clone()).unwrap_or_default()
    }
}

/// What the rules have said so far.
#[derive(Default)]
struct Tally {
    findings: Vec<Finding>,
    credits: Vec<f64>,
}

impl Tally {
    fn holds(&mut self) {
        self.credits.push(1.0);
    }

    fn broken(&mut self, credit: f64, findings: impl IntoIterator<Item = Finding>) {
        self.credits.push(credit.clamp(0.0, 0.99));
        self.findings.extend(findings);
    }

    fn verdict(self) -> Verdict {
        let count = float(self.credits.len()).max(1.0);
        let score = self.credits.iter().sum::<f64>() / count;
        let verdict = Verdict::of(self.findings);
        if verdict.passes() { verdict } else { verdict.graded(score) }
    }
}

pub(super) fn check(rule: &Text, text: &str) -> Verdict {
    let reading = Reading::of(text);
    let config = &rule.config;
    let mut tally = Tally::default();
    check_counts(rule, &reading, &mut tally);
    if let Some(bounds) = config.first_sentence_words {
        check_first_sentence(bounds, &reading, &mut tally);
    }
    if !rule.endings.is_empty() {
        check_last_token(rule, text, &mut tally);
    }
    if let Some(list) = &config.contains {
        check_contains(list, text, config.ignore_case, &mut tally);
    }
    if let Some(list) = &config.not_contains {
        let found = list.as_slice().iter().map(|needle| {
            let places = occurrences(text, needle, config.ignore_case);
            (needle.as_str(), places)
        });
        check_unwanted("not-contains", found.collect(), text, &mut tally);
    }
    if !rule.wanted.is_empty() {
        check_wanted(&rule.wanted, text, &mut tally);
    }
    if !rule.unwanted.is_empty() {
        let found = rule.unwanted.iter().map(|pattern| {
            let places = pattern.find_iter(text).map(|found| found.range()).collect();
            (pattern.as_str(), places)
        });
        check_unwanted("not-regex", found.collect(), text, &mut tally);
    }
    check_ease(rule, &reading, &mut tally);
    if config.no_duplicate_sentences {
        check_duplicates(&reading, &mut tally);
    }
    tally.verdict()
}

/// How near a count comes to its bounds: `exactly: 3` and 5 there gives 1 - 2/5.
fn credit(count: usize, bound: usize) -> f64 {
    1.0 - float(count.abs_diff(bound)) / float(count.max(bound).max(1))
}

fn check_counts(rule: &Text, reading: &Reading<'_>, tally: &mut Tally) {
    let config = &rule.config;
    let characters = || {
        let inside = reading.text.trim();
        let offset = reading.text.len() - reading.text.trim_start().len();
        inside.grapheme_indices(true).map(|(at, c)| offset + at..offset + at + c.len()).collect::<Vec<_>>()
    };
    if let Some(bounds) = config.characters {
        check_count("characters", bounds, &characters(), reading, tally);
    }
    let parts = [
        ("words", config.words, &reading.words),
        ("sentences", config.sentences, &reading.sentences),
        ("paragraphs", config.paragraphs, &reading.layout.paragraphs),
        ("headings", config.headings, &reading.layout.headings),
    ];
    for (unit, bounds, found) in parts {
        if let Some(bounds) = bounds {
            check_count(unit, bounds, found, reading, tally);
        }
    }
}

fn check_count(unit: &str, bounds: Bounds, found: &[Range<usize>], reading: &Reading<'_>, tally: &mut Tally) {
    let count = found.len();
    let message = format!("the text has {}; it must have {}", counted(count, unit), bounds.of(unit));
    let finding = Finding::new(unit, message).about("count");
    match (bounds.least(), bounds.most()) {
        (_, Some(most)) if count > most => {
            let surplus = found[most].start..found[count - 1].end;
            let finding = finding
                .evidence(shortened(reading.at(&surplus)))
                .span(reading.text, surplus)
                .suggest(format!("remove {}", counted(count - most, unit)));
            tally.broken(credit(count, most), [finding]);
        }
        (Some(least), _) if count < least => {
            tally.broken(
                credit(count, least),
                [finding.suggest(format!("add {}", counted(least - count, unit)))],
            );
        }
        _ => tally.holds(),
    }
}

fn check_first_sentence(bounds: Bounds, reading: &Reading<'_>, tally: &mut Tally) {
    let demanded = bounds.of("words");
    let Some(first) = reading.sentences.first() else {
        let message = format!("there is no first sentence; it must have {demanded}");
        let finding = Finding::new("first-sentence-words", message).about("count");
        return tally.broken(0.0, [finding.suggest("write a sentence")]);
    };
    let count = words(reading.at(first)).len();
    let message = format!("the first sentence has {}; it must have {demanded}", counted(count, "words"));
    let finding = Finding::new("first-sentence-words", message)
        .about("count")
        .evidence(shortened(reading.at(first)))
        .span(reading.text, first.clone());
    match (bounds.least(), bounds.most()) {
        (_, Some(most)) if count > most => {
            let words = format!("shorten the first sentence by {}", counted(count - most, "words"));
            tally.broken(credit(count, most), [finding.suggest(words)]);
        }
        (Some(least), _) if count < least => {
            let words = format!("lengthen the first sentence by {}", counted(least - count, "words"));
            tally.broken(credit(count, least), [finding.suggest(words)]);
        }
        _ => tally.holds(),
    }
}

fn check_last_token(rule: &Text, text: &str, tally: &mut Tally) {
    let found = token::last_token(text);
    let last = found.as_ref().and_then(|range| text.get(range.clone()));
    if last.is_some_and(|last| rule.endings.iter().any(|ending| ending.fits(last))) {
        return tally.holds();
    }
    let only = super::Config { last_token: rule.config.last_token.clone(), ..super::Config::default() };
    let demanded = only.demands().join("; ");
    let demanded = demanded.strip_prefix("the last word is ").unwrap_or(&demanded);
    let message = match last {
        Some(last) => format!("the text ends with “{}”, which is not {demanded}", shortened(last)),
        None => format!("the text has no last word; it must be {demanded}"),
    };
    let mut finding = Finding::new("last-token", message)
        .about("kind")
        .suggest(format!("end the last sentence with {demanded}"));
    if let Some((range, last)) = found.zip(last) {
        finding = finding.evidence(shortened(last)).span(text, range);
    }
    tally.broken(0.0, [finding]);
}

fn check_contains(list: &OneOrMany<String>, text: &str, ignore_case: bool, tally: &mut Tally) {
    let all = list.as_slice();
    let missing: Vec<&String> =
        all.iter().filter(|needle| occurrences(text, needle, ignore_case).is_empty()).collect();
    if missing.is_empty() {
        return tally.holds();
    }
    let credit = 1.0 - float(missing.len()) / float(all.len());
    tally.broken(
        credit,
        missing.into_iter().map(|needle| {
            Finding::new("contains", format!("the text does not contain “{needle}”"))
                .about(needle.as_str())
                .suggest(format!("work “{needle}” into the text, in just these words"))
        }),
    );
}

fn check_wanted(patterns: &[Regex], text: &str, tally: &mut Tally) {
    let missing: Vec<&Regex> = patterns.iter().filter(|pattern| !pattern.is_match(text)).collect();
    if missing.is_empty() {
        return tally.holds();
    }
    let credit = 1.0 - float(missing.len()) / float(patterns.len());
    tally.broken(
        credit,
        missing.into_iter().map(|pattern| {
            Finding::new("regex", format!("nothing in the text matches `{pattern}`"))
                .about(pattern.as_str())
                .suggest(format!("add something that matches `{pattern}`"))
        }),
    );
}

fn check_unwanted(rule: &str, found: Vec<(&str, Vec<Range<usize>>)>, text: &str, tally: &mut Tally) {
    let broken = found.iter().filter(|(_, places)| !places.is_empty()).count();
    if broken == 0 {
        return tally.holds();
    }
    let findings = found.iter().flat_map(|(what, places)| {
        let left = places.len().saturating_sub(MOST_PLACES);
        places.iter().take(MOST_PLACES).enumerate().map(move |(nth, place)| {
            let words = shortened(text.get(place.clone()).unwrap_or_default());
            let mut message = match rule {
                "not-regex" => format!("“{words}” matches `{what}`, which must not stand in the text"),
                _ => format!("“{words}” must not stand in the text"),
            };
            if left > 0 && nth + 1 == MOST_PLACES {
                message.push_str(&format!(" (and in {left} more places)"));
            }
            Finding::new(rule, message)
                .about(*what)
                .evidence(line_around(text, place))
                .span(text, place.clone())
                .suggest(format!("remove or replace “{words}”"))
        })
    });
    tally.broken(1.0 - float(broken) / float(found.len()), findings);
}

fn check_ease(rule: &Text, reading: &Reading<'_>, tally: &mut Tally) {
    let Some(bounds) = rule.config.reading_ease else { return };
    let Some(ease) = reading_ease(reading.text, &reading.words, reading.sentences.len()) else {
        let finding = Finding::new("reading-ease", "there are no words to read").about("ease");
        return tally.broken(0.0, [finding.suggest("write something")]);
    };
    let broken = |demanded: String, missing: f64, suggestion: &str| {
        let message = format!("the text has a Flesch reading ease of {ease:.0}; it must have {demanded}");
        (1.0 - missing / 100.0, [Finding::new("reading-ease", message).about("ease").suggest(suggestion)])
    };
    let (credit, findings) = match (bounds.min, bounds.max) {
        (Some(min), _) if ease < min => {
            broken(format!("at least {min}"), min - ease, "use shorter sentences and shorter words")
        }
        (_, Some(max)) if ease > max => {
            broken(format!("at most {max}"), ease - max, "use longer sentences and more exact words")
        }
        _ => return tally.holds(),
    };
    tally.broken(credit, findings);
}

fn check_duplicates(reading: &Reading<'_>, tally: &mut Tally) {
    let mut seen: HashMap<String, &Range<usize>> = HashMap::new();
    let mut findings = Vec::new();
    for range in &reading.sentences {
        let sentence = reading.at(range);
        let plain = sentence.unicode_words().map(str::to_lowercase).collect::<Vec<_>>().join(" ");
        if let Some(first) = seen.get(&plain) {
            let line = crate::verify::Position::of(reading.text, first.start);
            findings.push(
                Finding::new("duplicate-sentence", format!("this sentence stands at line {line} already"))
                    .about(plain)
                    .evidence(shortened(sentence))
                    .span(reading.text, range.clone())
                    .suggest("remove this copy, or say something else"),
            );
        } else if !plain.is_empty() {
            seen.insert(plain, range);
        }
    }
    if findings.is_empty() {
        return tally.holds();
    }
    let credit = 1.0 - float(findings.len()) / float(reading.sentences.len());
    tally.broken(credit, findings);
}

/// Finds where something stands in a text; no two places overlap.
fn occurrences(text: &str, needle: &str, ignore_case: bool) -> Vec<Range<usize>> {
    if !ignore_case {
        return text.match_indices(needle).map(|(at, found)| at..at + found.len()).collect();
    }
    let needle: Vec<char> = needle.chars().flat_map(char::to_lowercase).collect();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(c) = text[from..].chars().next() {
        match length_of_match(&text[from..], &needle) {
            Some(length) => {
                found.push(from..from + length);
                from += length;
            }
            None => from += c.len_utf8(),
        }
    }
    found
}

/// Tells how much of the text, from its beginning, is the needle when both are in small letters.
fn length_of_match(text: &str, needle: &[char]) -> Option<usize> {
    let mut wanted = needle.iter();
    let mut next = wanted.next();
    for (at, c) in text.char_indices() {
        if next.is_none() {
            return Some(at);
        }
        // A letter may become several when it is made small; all of them count, or none.
        for small in c.to_lowercase() {
            if next != Some(&small) {
                return None;
            }
            next = wanted.next();
        }
    }
    next.is_none().then_some(text.len())
}

/// Shows the words around a place, from its own line.
fn line_around(text: &str, place: &Range<usize>) -> String {
    let start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let start = start.max(text.floor_char_boundary(place.start.saturating_sub(40)));
    let end = text[place.start..].find('\n').map_or(text.len(), |at| place.start + at).max(place.end);
    shortened(text.get(start..end).unwrap_or_default())
}
