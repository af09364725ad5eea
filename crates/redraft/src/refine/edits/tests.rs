//! What edits do and what they never do.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

fn applied(text: &str, search: &str, replace: &str) -> String {
    apply(text, &[Edit::new(search, replace)], &[]).unwrap().text
}

fn reason(text: &str, edit: Edit, protected: &[Range<usize>]) -> Reason {
    let mut refusals = apply(text, &[edit], protected).unwrap_err();
    assert_eq!(refusals.len(), 1);
    refusals.remove(0).reason
}

#[test]
fn edits_do_not_see_each_others_work() {
    let swap = [Edit::new("cat", "dog").answers("f_1"), Edit::new("dog", "cat")];
    let applied = apply("a cat, a dog", &swap, &[]).unwrap();
    assert_eq!(applied.text, "a dog, a cat");
    let finding = Some("f_1".to_owned());
    assert_eq!(applied.spans[0], Changed { edit: 1, before: 2..5, after: 2..5, finding });
}

#[test]
fn spans_are_in_the_order_of_the_text() {
    let edits = [Edit::new("three", "3"), Edit::new("one", "eins")];
    let applied = apply("one two three", &edits, &[]).unwrap();
    assert_eq!(applied.text, "eins two 3");
    let places: Vec<_> =
        applied.spans.iter().map(|span| (span.edit, &applied.text[span.after.clone()])).collect();
    assert_eq!(places, [(2, "eins"), (1, "3")]);
}

#[test]
fn words_that_stand_twice_need_more_words_or_a_number() {
    assert_eq!(reason("a b a", Edit::new("a", "c"), &[]), Reason::Ambiguous { times: 2 });
    assert_eq!(reason("aaa", Edit::new("aa", "b"), &[]), Reason::Ambiguous { times: 2 });
    let second = Edit::new("a", "c").occurrence(2);
    assert_eq!(apply("a b a", std::slice::from_ref(&second), &[]).unwrap().text, "a b c");
    assert_eq!(reason("a b", second, &[]), Reason::NoSuchOccurrence { asked: 2, times: 1 });
    let zeroth = Edit::new("a", "c").occurrence(0);
    assert_eq!(reason("a b a", zeroth, &[]), Reason::NoSuchOccurrence { asked: 0, times: 2 });
    let far = Edit::new("é", "e").occurrence(150);
    assert!(apply(&"é".repeat(200), &[far], &[]).is_ok());
}

#[test]
fn an_empty_search_fits_only_an_empty_text() {
    assert_eq!(applied("", "", "first words"), "first words");
    assert_eq!(reason("text", Edit::new("", "more"), &[]), Reason::EmptySearch);
    let twice = [Edit::new("", "one"), Edit::new("", "two")];
    let (applied, refusals) = apply_what_fits("", &twice, &[]);
    assert_eq!(applied.text, "one");
    assert_eq!(refusals[0].reason, Reason::Overlaps { with: 1 });
}

#[test]
fn edits_about_the_same_words_are_refused_and_neighbours_are_not() {
    let overlapping = [Edit::new("one two", "1 2"), Edit::new("two three", "2 3")];
    let refusals = apply("one two three", &overlapping, &[]).unwrap_err();
    assert_eq!(refusals[0].reason, Reason::Overlaps { with: 1 });
    assert_eq!(refusals[0].edit, 2);
    let neighbours = [Edit::new("one ", ""), Edit::new("two", "2")];
    assert_eq!(apply("one two three", &neighbours, &[]).unwrap().text, "2 three");
}

#[test]
fn what_is_to_be_kept_cannot_be_touched_even_in_part() {
    let text = "see KEEP THIS here";
    let kept = protected_spans(text, &[Keep::words("KEEP THIS")]);
    for search in ["see KEEP", "THIS here", "P T", "KEEP THIS", "see KEEP THIS here", " K"] {
        let refused = reason(text, Edit::new(search, "x"), &kept);
        assert!(
            matches!(&refused, Reason::Protected { kept } if kept.text == "KEEP THIS"),
            "{search}: {refused:?}"
        );
    }
    let around = [Edit::new("see ", ""), Edit::new(" here", "!")];
    assert_eq!(apply(text, &around, &kept).unwrap().text, "KEEP THIS!");
}

#[test]
fn an_edit_that_changes_nothing_is_refused() {
    assert_eq!(reason("same", Edit::new("same", "same"), &[]), Reason::NoChange);
    assert_eq!(reason("same\r\nold\r\n", Edit::new("same\nold", "same\nold"), &[]), Reason::NoChange);
}

#[test]
fn what_fits_is_applied_and_the_rest_is_explained() {
    let edits = [Edit::new("nowhere", ""), Edit::new("two", "2"), Edit::new("one two", "").answers("f_9")];
    let (applied, refusals) = apply_what_fits("one two", &edits, &[]);
    assert_eq!(applied.text, "one 2");
    let refused: Vec<_> = refusals.iter().map(|refusal| (refusal.edit, refusal.finding.as_deref())).collect();
    assert_eq!(refused, [(1, None), (3, Some("f_9"))]);
}

#[test]
fn other_whitespace_in_lines_is_understood_where_only_one_place_can_be_meant() {
    let cases = [
        // Spaces at the ends of lines.
        ("one  \ntwo\nthree", "one\ntwo", "1\n2", "1\n2\nthree"),
        ("a one\ntwo b", "one \ntwo", "1\n2", "a 1\n2 b"),
        // Line breaks of the other kind: the text keeps its own.
        ("a one\r\ntwo b\r\n", "one\ntwo", "1\n2\n3", "a 1\r\n2\r\n3 b\r\n"),
        // Indentation: the replacement follows the text.
        (
            "{\n    if a {\n        b();\n    }\n}",
            "if a {\n    b();\n}",
            "if c {\n    d();\n}",
            "{\n    if c {\n        d();\n    }\n}",
        ),
        (
            "{\n\tif a {\n\t\tb();\n\t}\n}",
            "    if a {\n        b();\n    }",
            "    if a {\n        c();\n    }",
            "{\n\tif a {\n\t\tc();\n\t}\n}",
        ),
        ("\tgo();\n", "  go();", "  stay();\n  go();", "\tstay();\n\tgo();\n"),
        // A line break that the end of the text does not have.
        ("one\ntwo", "two\n", "2\n", "one\n2"),
        ("one\ntwo", "one \ntwo\n", "2\n", "2"),
    ];
    for (text, search, replace, after) in cases {
        assert_eq!(applied(text, search, replace), after, "{text:?} {search:?}");
    }
}

#[test]
fn other_whitespace_is_not_a_licence_to_guess() {
    let refused = [
        // A word is not a part of another one.
        ("a party\n", " art", "x"),
        // Two places could be meant.
        ("  go();\n\tgo();\n", "    go();", "x"),
        // Lines that are indented alike in the search are not in the text.
        ("a\n  b\n c", "  a\n  b\n  c ", "x"),
        // Words run on.
        ("no one", "noone", "x"),
        ("text", "  \n ", "x"),
    ];
    for (text, search, replace) in refused {
        let (applied, refusals) = apply_what_fits(text, &[Edit::new(search, replace)], &[]);
        assert_eq!((applied.text.as_str(), refusals.len()), (text, 1), "{search:?}");
    }
}

#[test]
fn a_refusal_says_what_to_do() {
    let text = "Intro.\nThe sea rises twice a day, everywhere.\n<!-- keep -->fixed<!-- /keep -->\nBye. Bye.";
    let edits = [
        Edit::new("the sea rises three times a day", "x"),
        Edit::new("bananas", "x"),
        Edit::new("Bye.", "x"),
        Edit::new("fixed", "x"),
        Edit::new("Intro.", "Intro."),
        Edit::new("Intro", "Start"),
        Edit::new("Intro.", "Start."),
    ];
    let said: Vec<_> = apply(text, &edits, &protected_spans(text, &[]))
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        said,
        [
            "edit 1: the words of `search` are not in the draft; the nearest passage, on line 2, is \
             “The sea rises twice a day”; copy `search` from the draft character by character",
            "edit 2: the words of `search` are not in the draft, and nothing in it is like them; \
             copy `search` from the draft character by character",
            "edit 3: the words of `search` are found 2 times; add words before or after them until they are found \
             once, or give `occurrence`",
            "edit 4: it touches words that must stay as they are, on line 3: \
             “<!-- keep -->fixed<!-- /keep -->”; leave them out of `search`",
            "edit 5: `replace` is what stands there already; leave the edit out, or change it",
            "edit 7: it is about some of the same words as edit 6; make one edit of the two, or shorten their searches",
        ]
    );
}

#[test]
fn a_model_is_told_the_form_and_may_leave_out_what_it_does_not_need() {
    let schema = schemars::schema_for!(Edits).to_value().to_string();
    assert!(schema.contains("character by character"), "{schema}");
    let edits: Edits = serde_json::from_str(r#"{"edits":[{"search":"a","replace":"b"}]}"#).unwrap();
    assert_eq!(edits.edits, [Edit::new("a", "b")]);
}

#[test]
fn the_proof_sees_every_change_outside_of_the_spans() {
    let span = |before, after| Changed { edit: 1, before, after, finding: None };
    assert!(untouched("one two", "one 2", &[span(4..7, 4..5)]));
    let lies = [
        ("One 2", vec![span(4..7, 4..5)]),
        ("one 2", vec![]),
        ("one 2!", vec![span(4..7, 4..5)]),
        ("one 2", vec![span(4..9, 4..5)]),
        ("one 2", vec![span(4..7, 4..5), span(0..1, 0..1)]),
        ("one 2", vec![span(3..7, 4..5)]),
    ];
    for (after, spans) in lies {
        assert!(!untouched("one two", after, &spans), "{after} {spans:?}");
    }
}

/// Texts with repetition, with several scripts and with all kinds of line breaks.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("word".to_owned()),
        Just("naïve 語".to_owned()),
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("    ".to_owned()),
        Just("👩‍👩‍👧".to_owned()),
        Just("<!-- keep -->".to_owned()),
        Just("<!-- /keep -->".to_owned()),
        "[a-c]{1,3}",
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Edits whose searches are taken from a text, and some that are not.
fn edits(text: &str, seeds: &[(Index, Index, String, bool)]) -> Vec<Edit> {
    let boundaries: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
    let edits = seeds.iter().map(|(one, other, replace, is_foreign)| {
        let (one, other) = (*one.get(&boundaries), *other.get(&boundaries));
        let search = &text[one.min(other)..one.max(other).min(text.floor_char_boundary(one.min(other) + 12))];
        let search = if *is_foreign { search.replace('\n', " \n\t") } else { search.to_owned() };
        Edit::new(search, replace.clone())
    });
    edits.collect()
}

fn seeds() -> impl Strategy<Value = Vec<(Index, Index, String, bool)>> {
    let replace = prop_oneof![text(), Just(String::new()), Just("word".to_owned())];
    proptest::collection::vec((any::<Index>(), any::<Index>(), replace, any::<bool>()), 0..8)
}

proptest! {
    #[test]
    fn everything_outside_of_the_edits_stays_as_it_was(text in text(), seeds in seeds()) {
        let edits = edits(&text, &seeds);
        let kept = protected_spans(&text, &[Keep::words("word")]);
        let (applied, refusals) = apply_what_fits(&text, &edits, &kept);
        prop_assert!(untouched(&text, &applied.text, &applied.spans));
        prop_assert_eq!(applied.spans.len() + refusals.len(), edits.len());
        prop_assert!(applied.spans.is_sorted_by(|a, b| a.before.end <= b.before.start && a.after.end <= b.after.start));
        // What is to be kept is there, in the same order, at the place that the spans give.
        for kept in &kept {
            let earlier = applied.spans.iter().take_while(|span| span.before.end <= kept.start).last();
            let (from, to) = earlier.map_or((0, 0), |span| (span.before.end, span.after.end));
            let moved = kept.start - from + to..kept.end - from + to;
            prop_assert_eq!(applied.text.get(moved), text.get(kept.clone()));
        }
    }

    #[test]
    fn all_are_applied_or_none(text in text(), seeds in seeds()) {
        let edits = edits(&text, &seeds);
        let (some, refusals) = apply_what_fits(&text, &edits, &[]);
        match apply(&text, &edits, &[]) {
            Ok(all) => {
                prop_assert_eq!(all.spans.len(), edits.len());
                prop_assert_eq!(all, some);
            }
            Err(refused) => {
                prop_assert!(!refused.is_empty());
                prop_assert_eq!(refused, refusals);
            }
        }
    }

    #[test]
    fn what_is_found_exactly_once_is_replaced_exactly(text in text(), seeds in seeds()) {
        for edit in edits(&text, &seeds) {
            let once = text.matches(&edit.search).count() == 1
                && text.find(&edit.search) == text.rfind(&edit.search);
            if edit.search.is_empty() || !once || edit.replace.contains('\n') || edit.search == edit.replace {
                continue;
            }
            let applied = apply(&text, std::slice::from_ref(&edit), &[]);
            prop_assert_eq!(applied.map(|applied| applied.text), Ok(text.replacen(&edit.search, &edit.replace, 1)));
        }
    }
}
