//! What is counted as what, in many languages; what is found where; and what holds for any text.

use proptest::prelude::*;

use super::check::Reading;
use super::{Bounds, Config, EaseBounds, LastToken, Text, token};
use crate::failure::Fault;
use crate::verify::{Case, Error, Place, Position, Rule, Verdict};

fn check(config: Config, draft: &str) -> Verdict {
    config.compile().unwrap().check(&Case::new("", draft))
}

/// The text, its sentences, the words of its first sentence, its last token.
const TEXTS: &[(&str, usize, usize, &str)] = &[
    ("", 0, 0, ""),
    (" \n\t\r\n ", 0, 0, ""),
    ("Hello", 1, 1, "Hello"),
    ("Hello.", 1, 1, "Hello"),
    ("Clocks lie. Networks fail. Retries rose by 40%.", 3, 2, "40%"),
    ("It began in 1999. It grew. It ended in 2025.", 3, 4, "2025"),
    ("It ended in 2025. 40% of them left. The rest stayed.", 3, 4, "stayed"),
    ("Sales hit $3.5 million in 2024. Costs fell by 1.5. Profit rose to 3,000.", 3, 6, "3,000"),
    ("Dr. Smith met Mr. Jones at 5 p.m. yesterday. They talked. They left at 7.", 3, 9, "7"),
    ("Use tools, e.g. a hammer. Or nails, i.e. steel ones. That is all.", 3, 5, "all"),
    ("The U.S. Senate met. It voted.", 2, 4, "voted"),
    ("He moved to the U.S. The rest stayed.", 2, 5, "stayed"),
    ("J. R. R. Tolkien wrote it. People read it.", 2, 6, "it"),
    ("We chose plan B. It failed.", 2, 4, "failed"),
    ("See Fig. 3 and No. 7. Then see p. 12.", 2, 6, "12"),
    ("No. 40 of them stayed.", 2, 1, "stayed"),
    ("Apple Inc. Chief Tim spoke. Apple Inc. The end.", 3, 5, "end"),
    ("Wait... what? He paused… Then he left.", 3, 2, "left"),
    ("\u{201c}Really?\u{201d} he asked. \u{201c}Yes.\u{201d} She left.", 3, 3, "left"),
    ("\"Stop!\" she cried. He said \"go.\" Then silence.", 3, 3, "silence"),
    ("What?! No!!! Yes.", 3, 1, "Yes"),
    ("See https://example.org/?a=1&b=2 for more. Bye.", 2, 9, "Bye"),
    ("Version 2.0.1 is out. Get v3.5 soon.", 2, 4, "soon"),
    ("# A heading\n\nOne sentence here. Two.", 2, 3, "Two"),
    ("A heading\n=========\nOne. Two.", 2, 1, "Two"),
    ("Title. Yes.\n---\n\nOne sentence.", 1, 2, "sentence"),
    ("- first item\n- second item\n- third item", 3, 2, "item"),
    ("1. Boil water.\n2. Add tea.\n3. Wait.", 3, 2, "Wait"),
    ("It all ended in\n12. Then came the rest.", 2, 5, "rest"),
    ("2025. That was the year.", 2, 1, "year"),
    ("Look:\n\n```rust\nlet a = 1. + 2.;\nfoo(). Bar.\n```\n\nDone now.", 2, 1, "now"),
    ("```\nonly. Code. Here.\n", 0, 0, "Here"),
    ("This line is\nwrapped by hand. So\nis this.", 2, 6, "this"),
    ("This is\r\nwrapped.\r\n\r\nAnd so on in 2025.\r\n", 2, 3, "2025"),
    ("> Quoted words.\n> And more.", 2, 2, "more"),
    ("It rose by 40%.[1] It fell again.[2][3]", 2, 4, "again"),
    ("It rose by 40%.[12]", 1, 4, "40%"),
    ("So they say.² Others disagree.", 2, 3, "disagree"),
    ("**Bold claim.** Then proof. _It was 7._", 3, 2, "7"),
    ("It rose (by 40%!) in 2025. He asked, \"Why?\" and left.", 2, 6, "left"),
    ("Take vitamin C. Studies agree. Written by J. Smith.", 3, 3, "Smith"),
    ("It works. iPhone sales rose. eBay fell.", 3, 2, "fell"),
    ("clocks lie. networks fail, e.g. often. retries rose by 40%.", 3, 2, "40%"),
    ("He likes art. 40% agree. See Art. 5 of the law.", 3, 3, "law"),
    ("Apples, pears etc. are fruit. So are plums etc. That is all.", 3, 5, "all"),
    ("Smith et al. (2020) found it. Jones et al. The rest did not.", 3, 6, "not"),
    ("Wait . . . what? (This is one.) This is two.", 3, 2, "two"),
    // German
    ("Das 2. Spiel kostete 5 Mio. Euro. Wir haben 2. Das reicht.", 3, 7, "reicht"),
    ("Am 3. Oktober 1990 geschah es. Im 19. Jahrhundert nicht. Es waren 40 %.", 3, 6, "40 %"),
    ("Das gilt z.B. für Dr. Müller. „Wirklich?“ Ja, d.h. zu 3,5 %.", 3, 6, "3,5 %"),
    ("»Gut.« Er ging. »Schön«, sagte sie.", 3, 1, "sie"),
    // French, with no-break spaces
    ("«\u{a0}Bonjour.\u{a0}» Il part. Vraiment\u{202f}? Oui, à 40\u{202f}%.", 4, 1, "40\u{202f}%"),
    ("M. Dupont gagne 3\u{202f}000\u{202f}€. C’est l’an\u{a0}2025\u{202f}!", 2, 4, "2025"),
    // Spanish
    ("¿Qué pasó? ¡Nada! El Sr. Gómez llegó en 2025.", 3, 2, "2025"),
    // Chinese and Japanese
    ("我爱你。你爱我吗？太好了！", 3, 3, "太好了"),
    ("销售额增长了40%。", 1, 7, "40%"),
    ("それは2025年。", 1, 5, "2025年"),
    ("「そうだ。」と言った。終わり。", 2, 7, "終わり"),
    // Arabic, Hindi, Greek
    ("هل أنت بخير؟ نعم. ارتفع بنسبة ٤٠٪.", 3, 3, "٤٠٪"),
    ("वह आया। वह गया।", 2, 2, "गया"),
    ("Πού είσαι; Εδώ.", 1, 3, "Εδώ"),
    // Emoji and combining marks
    ("Great news 👩‍👩‍👧‍👦. We won! 🎉", 2, 2, "🎉"),
    ("🎉🎉🎉", 0, 0, "🎉🎉🎉"),
    ("Cafe\u{301} ole\u{301}. Ende.", 2, 2, "Ende"),
    // Endings
    ("It was **40%**.", 1, 3, "40%"),
    ("It was (in 2025).", 1, 4, "2025"),
    ("It was \u{201c}2025.\u{201d}", 1, 3, "2025"),
    ("A third is 1/3...", 1, 5, "1/3"),
    ("The peak came late\u{2014}2025.", 1, 5, "2025"),
    ("From 2019\u{2013}2023.", 1, 3, "2023"),
    ("It cost about −5 .", 1, 4, "−5"),
    ("state-of-the-art well-known things don't count twice.", 1, 6, "twice"),
];

#[test]
fn sentences_words_and_endings_are_what_people_see() {
    for (text, sentences, words, last) in TEXTS {
        let reading = Reading::of(text);
        let parts: Vec<&str> = reading.sentences.iter().map(|range| &text[range.clone()]).collect();
        assert_eq!(parts.len(), *sentences, "sentences of {text:?}: {parts:?}");
        let first = parts.first().map_or(0, |first| super::word::words(first).len());
        assert_eq!(first, *words, "words of the first sentence of {text:?}: {parts:?}");
        let token = token::last_token(text).map_or("", |range| &text[range]);
        assert_eq!(token, *last, "last token of {text:?}");
    }
}

#[test]
fn a_token_is_a_number_a_percentage_or_a_year() {
    // number, percentage, year
    let kinds = [
        ("7", true, false, false),
        ("2025", true, false, true),
        ("0999", true, false, false),
        ("3000", true, false, false),
        ("1000", true, false, true),
        ("2999", true, false, true),
        ("12025", true, false, false),
        ("3,000", true, false, false),
        ("1.5", true, false, false),
        ("1/3", true, false, false),
        ("½", true, false, false),
        ("-3.5", true, false, false),
        ("1e6", true, false, false),
        ("$20", true, false, false),
        ("20€", true, false, false),
        ("3\u{202f}000", true, false, false),
        ("40%", true, true, false),
        ("40 %", true, true, false),
        ("40\u{202f}%", true, true, false),
        ("2025%", true, true, false),
        ("٤٠٪", true, true, false),
        ("٢٠٢٥", true, false, true),
        ("4０", true, false, false),
        ("2025年", false, false, true),
        ("%", false, false, false),
        ("2025s", false, false, false),
        ("forty", false, false, false),
        ("CO2", false, false, false),
        ("1st", false, false, false),
        ("v2.0", false, false, false),
        ("GPT-4", false, false, false),
        ("1..2", false, false, false),
        ("", false, false, false),
    ];
    for (text, number, percentage, year) in kinds {
        let found = (token::is_number(text), token::is_percentage(text), token::is_year(text));
        assert_eq!(found, (number, percentage, year), "{text:?}");
    }
}

#[test]
fn the_three_rules_of_an_opening_are_found_with_place_and_advice() {
    let opening = || {
        Text::rules()
            .sentences(Bounds::exactly(3))
            .first_sentence_words(Bounds::max(12))
            .last_token(LastToken::Number)
            .last_token(LastToken::Percentage)
            .last_token(LastToken::Year)
    };
    let good = "Distributed systems are hard. Clocks drift. In 2024 outages rose by 40%.";
    let verdict = check(opening(), good);
    assert!(verdict.passes() && (verdict.score - 1.0).abs() < f64::EPSILON, "{verdict:?}");

    let bad = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen. Two.\nThree. Four. Five!";
    let verdict = check(opening(), bad);
    assert!(!verdict.passes());
    let rules: Vec<&str> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(rules, ["sentences", "first-sentence-words", "last-token"]);
    let advice: Vec<&str> =
        verdict.findings.iter().filter_map(|finding| finding.suggestion.as_deref()).collect();
    assert_eq!(
        advice,
        [
            "remove 2 sentences",
            "shorten the first sentence by 2 words",
            "end the last sentence with a number, a percentage or a year",
        ]
    );
    let places: Vec<String> =
        verdict.findings.iter().filter_map(|finding| finding.place.as_ref().map(Place::to_string)).collect();
    assert_eq!(places, ["line 2:8", "line 1:1", "line 2:14"]);
    assert_eq!(verdict.findings[0].evidence.as_deref(), Some("Four. Five!"));
    assert_eq!(verdict.findings[2].evidence.as_deref(), Some("Five"));
    // (3/5 + 12/14 + 0) / 3
    assert!((verdict.score - (0.6 + 12.0 / 14.0) / 3.0).abs() < 1e-9, "{}", verdict.score);
}

#[test]
fn a_draft_that_comes_nearer_scores_higher_and_keeps_the_finding() {
    let verdicts: Vec<Verdict> = ["A. B c. D e. F g. H i.", "So. B c. D e. F g.", "So.", ""]
        .map(|draft| check(Text::rules().sentences(Bounds::exactly(3)), draft).filed("three"))
        .into();
    let scores: Vec<String> = verdicts.iter().map(|verdict| format!("{:.2}", verdict.score)).collect();
    assert_eq!(scores, ["0.75", "0.75", "0.33", "0.00"]);
    assert!(verdicts.iter().all(|verdict| verdict.findings[0].id == verdicts[0].findings[0].id));
}

#[test]
fn every_rule_finds_what_breaks_it() {
    let three = "One two. Three four.\n\nFive.";
    let cases: Vec<(Config, &str, &[&str])> = vec![
        (Text::rules().characters(Bounds::max(3)), "👩‍👩‍👧‍👦e\u{301}\r\n", &[]),
        (Text::rules().characters(Bounds::max(3)), "four", &["characters: line 1:4"]),
        (Text::rules().words(Bounds::between(1, 4)), three, &["words: line 3:1"]),
        (Text::rules().words(Bounds::min(6)), three, &["words: -"]),
        (Text::rules().paragraphs(Bounds::max(1)), three, &["paragraphs: line 3:1"]),
        (Text::rules().paragraphs(Bounds::exactly(2)), "# Title\n\nOne.\n\n---\n\n```\na\n\nb\n```\n", &[]),
        (Text::rules().headings(Bounds::max(0)), "Text\n\n## Two\n", &["headings: line 3:1"]),
        (Text::rules().headings(Bounds::exactly(2)), "# A\n\nB\n==\n\n```\n# not\n```\n#nor this", &[]),
        (Text::rules().first_sentence_words(Bounds::max(1)), "", &["first-sentence-words: -"]),
        (Text::rules().last_token(LastToken::Year), "In 2025, or so", &["last-token: line 1:13"]),
        (Text::rules().last_token(LastToken::Regex("[a-z]{2}|x".to_owned())), "In or so.", &[]),
        (Text::rules().last_token(LastToken::Regex("s".to_owned())), "so", &["last-token: line 1:1"]),
        (Text::rules().contains("Five").contains("five"), three, &["contains: -"]),
        (Text::rules().contains("FIVE").ignore_case(), three, &[]),
        (Text::rules().not_contains("o"), "go\nso", &["not-contains: line 1:2", "not-contains: line 2:2"]),
        (Text::rules().not_contains("straße").ignore_case(), "STRAßE İ", &["not-contains: line 1:1"]),
        (Text::rules().regex("^One").regex("(?m)^Six"), three, &["regex: -"]),
        (Text::rules().not_regex(r"\bfour\b"), three, &["not-regex: line 1:16"]),
        (
            Text::rules().no_duplicate_sentences(),
            "It is so. No!\nit is  SO.",
            &["duplicate-sentence: line 2:1"],
        ),
        (Text::rules().reading_ease(EaseBounds::min(60.0)), "The cat sat on the mat. It was fat.", &[]),
        (
            Text::rules().reading_ease(EaseBounds::min(60.0)),
            "Organizational interoperability necessitates comprehensive standardization.",
            &["reading-ease: -"],
        ),
        (Text::rules().reading_ease(EaseBounds::max(60.0)), "", &["reading-ease: -"]),
    ];
    for (config, draft, wanted) in cases {
        let label = format!("{config:?} on {draft:?}");
        let verdict = check(config, draft);
        let found: Vec<String> = verdict
            .findings
            .iter()
            .map(|finding| {
                let place = finding.place.as_ref().map_or_else(|| "-".to_owned(), Place::to_string);
                format!("{}: {place}", finding.rule)
            })
            .collect();
        assert_eq!(found, wanted, "{label}");
        assert_eq!(verdict.score < 1.0, !wanted.is_empty(), "{label}");
        assert!(verdict.findings.iter().all(|f| f.suggestion.is_some() && f.subject.is_some()), "{label}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_before_any_draft_is_seen() {
    let cases = [
        (r"{}", "empty-rule"),
        (r#"{"ignore_case": true}"#, "empty-rule"),
        (r#"{"contains": []}"#, "empty-rule"),
        (r#"{"not_contains": ""}"#, "empty-rule"),
        (r#"{"last_token": []}"#, "empty-rule"),
        (r#"{"regex": []}"#, "empty-rule"),
        (r#"{"regex": "("}"#, "bad-regex"),
        (r#"{"not_regex": ["a", "(?=b)"]}"#, "bad-regex"),
        (r#"{"last_token": {"regex": "a)|(b"}}"#, "bad-regex"),
        (r#"{"words": {}}"#, "bad-bounds"),
        (r#"{"words": {"min": 0}}"#, "bad-bounds"),
        (r#"{"words": {"min": 3, "max": 2}}"#, "bad-bounds"),
        (r#"{"words": {"exactly": 3, "max": 3}}"#, "bad-bounds"),
        (r#"{"reading_ease": {}}"#, "bad-bounds"),
        (r#"{"reading_ease": {"min": 70, "max": 60}}"#, "bad-bounds"),
    ];
    for (json, code) in cases {
        let config: Config = serde_json::from_str(json).unwrap();
        let error = Text::compile(config).unwrap_err();
        assert_eq!(error.code(), code, "{json}: {error}");
        assert!(error.hint().is_some());
    }
    let error = Text::compile(Text::rules().regex("(")).unwrap_err();
    assert!(matches!(&error, Error::BadRegex { pattern, .. } if pattern == "("), "{error:?}");
}

#[test]
fn a_config_reads_as_the_spec_writes_it_and_comes_back_the_same() {
    let json = serde_json::json!({
        "sentences": {"exactly": 3},
        "first_sentence_words": {"max": 12},
        "last_token": ["number", {"regex": "n/a"}],
        "contains": "tide",
        "not_contains": ["delve", "tapestry"],
        "reading_ease": {"min": 50.0},
        "no_duplicate_sentences": true,
        "ignore_case": true,
    });
    let config: Config = serde_json::from_value(json.clone()).unwrap();
    let text = Text::compile(config).unwrap();
    assert_eq!(Rule::describe(&text), serde_json::json!({ "text": json }));
    assert_eq!(
        Rule::demand(&text),
        "exactly 3 sentences; the first sentence has at most 12 words; the last word is a number or something that \
         fits `n/a`; it contains “tide”; it does not contain “delve” or “tapestry”; a Flesch reading ease of at least \
         50; no sentence stands twice; capital and small letters are taken for the same"
    );
    for bad in
        [r#"{"sentence": {"exactly": 3}}"#, r#"{"sentences": {"exact": 3}}"#, r#"{"last_token": "digit"}"#]
    {
        assert!(serde_json::from_str::<Config>(bad).is_err(), "{bad}");
    }
    let schema = schemars::schema_for!(Config).to_value().to_string();
    assert!(
        schema.contains("first_sentence_words") && schema.contains("\"additionalProperties\":false"),
        "{schema}"
    );
}

#[test]
fn a_long_draft_is_read_to_its_end() {
    // Signs that are looked past, forty thousand times: work that grows with the square would not come back.
    let pieces = [
        ("So it is. ", 40_000),
        ("7! ", 40_000),
        ("« » ", 0),
        ("\u{a0}1", 1),
        ("- a\n", 40_000),
        ("…", 0),
        ("a?", 1),
    ];
    for (piece, sentences) in pieces {
        let text = piece.repeat(40_000);
        assert_eq!(Reading::of(&text).sentences.len(), sentences, "{piece}");
        assert!(token::last_token(&text).is_none_or(|range| range.end > text.len() - 10), "{piece}");
    }
}

/// Any text, and texts of the signs that rules are made of.
fn texts() -> impl Strategy<Value = String> {
    let signs = "([A-Za-z0-9 .!?…\"'“”«»()%#*_>\\-=+,;:\r\n\t。！？「」と年äé\u{a0}\u{202f}\u{301}\u{200d}👩٤٪]){0,60}";
    prop_oneof![any::<String>(), signs.prop_map(String::from)]
}

fn everything() -> Text {
    Text::rules()
        .characters(Bounds::exactly(1))
        .words(Bounds::exactly(1))
        .sentences(Bounds::exactly(1))
        .paragraphs(Bounds::exactly(1))
        .headings(Bounds::exactly(1))
        .first_sentence_words(Bounds::exactly(1))
        .last_token(LastToken::Year)
        .not_contains("e")
        .not_regex(r"\w")
        .reading_ease(EaseBounds::min(200.0))
        .no_duplicate_sentences()
        .ignore_case()
        .compile()
        .unwrap()
}

fn last_position(text: &str) -> Position {
    Position::of(text, text.len())
}

proptest! {
    #[test]
    fn any_text_gets_a_verdict_with_places_inside_of_it(text in texts()) {
        let verdict = everything().check(&Case::new("", text.as_str()));
        prop_assert!((0.0..1.0).contains(&verdict.score));
        for finding in &verdict.findings {
            if let Some(Place::Span { start, end: Some(end), .. }) = &finding.place {
                prop_assert!(start <= end && *end <= last_position(&text), "{finding:?}");
            }
        }
    }

    #[test]
    fn parts_lie_inside_of_the_text_in_order_and_apart(text in texts()) {
        let reading = Reading::of(&text);
        let lists = [&reading.sentences, &reading.words, &reading.layout.paragraphs, &reading.layout.headings];
        for list in lists {
            let mut end = 0;
            for range in list {
                prop_assert!(end <= range.start && range.start < range.end, "{range:?}");
                prop_assert!(text.get(range.clone()).is_some(), "{range:?}");
                end = range.end;
            }
        }
        if let Some(range) = token::last_token(&text) {
            prop_assert!(text.get(range).is_some_and(|token| !token.is_empty()));
        }
    }

    #[test]
    fn joined_paragraphs_have_what_each_has(first in texts(), second in texts()) {
        prop_assume!(![&first, &second].iter().any(|text| text.contains("```") || text.contains("~~~")));
        let counts = |text: &str| {
            let reading = Reading::of(text);
            [reading.words.len(), reading.sentences.len(), reading.layout.paragraphs.len(), reading.layout.headings.len()]
        };
        let (one, other) = (counts(&first), counts(&second));
        let sum: Vec<usize> = one.iter().zip(other).map(|(a, b)| a + b).collect();
        prop_assert_eq!(counts(&format!("{first}\n\n{second}")).to_vec(), sum);
    }
}
