//! Both texts can be had back, and what has changed is seen.

use proptest::prelude::*;

use super::*;

fn shown(before: &str, after: &str, context: usize) -> String {
    Diff::of(before, after).show(&Style::BRACKETS, context)
}

#[test]
fn the_words_that_make_the_difference_are_marked() {
    let before = "one\nThe sea rises twice a day, always.\nthree\n";
    let after = "one\nThe sea falls once each day, always.\nthree\n";
    let diff = "@@ −1 +1 @@\n  one\n− The sea [−rises twice a−] day, always.\n\
                + The sea [+falls once each+] day, always.\n  three\n";
    assert_eq!(shown(before, after, 1), diff);
    let stat = Stat { words_added: 3, words_removed: 3, lines_added: 1, lines_removed: 1 };
    assert_eq!(Diff::of(before, after).stat(), stat);
}

#[test]
fn lines_that_came_and_went_are_whole() {
    assert_eq!(shown("a\nb\nc\n", "a\nc\nd\n", 0), "@@ −2 +2 @@\n− b\n@@ −4 +3 @@\n+ d\n");
    assert_eq!(shown("a\nb", "a\nx\nb", 1), "@@ −1 +1 @@\n  a\n+ x\n  b\n");
    assert_eq!(shown("", "a\n", 3), "@@ −1 +1 @@\n+ a\n");
}

#[test]
fn a_paragraph_that_was_only_wrapped_anew_has_no_new_words() {
    let stat = Diff::of("one two\nthree four\n", "one\ntwo three\nfour\n").stat();
    assert_eq!((stat.words_added, stat.words_removed), (0, 0));
    assert_eq!((stat.lines_added, stat.lines_removed), (3, 2));
}

#[test]
fn a_lost_line_break_at_the_end_is_said() {
    assert_eq!(shown("a\n", "a", 0), "@@ −1 +1 @@\n− a\n+ a\n\\ no line break at the end\n");
}

#[test]
fn a_line_break_of_another_kind_is_seen_only_where_it_is_what_has_changed() {
    assert_eq!(shown("a\r\n", "a\n", 0), "@@ −1 +1 @@\n− a[−␍−]\n+ a\n");
    assert_eq!(shown("a\r\nb\r\n", "a\r\nc d\r\n", 1), "@@ −1 +1 @@\n  a\n− b\n+ c d\n");
}

#[test]
fn what_is_the_same_shows_nothing() {
    let diff = Diff::of("a\nb", "a\nb");
    assert!(diff.is_empty());
    assert_eq!((diff.to_string().as_str(), diff.stat()), ("", Stat::default()));
    assert!(!Diff::of("a", "b").is_empty());
}

#[test]
fn far_changes_stand_in_hunks_of_their_own_and_near_ones_together() {
    let text = |x: &str, y: &str| format!("{x}\n1\n2\n3\n4\n{y}\n");
    let hunks = |context| Diff::of(&text("a", "b"), &text("A", "B")).hunks(context).len();
    assert_eq!([0, 1, 2, 3].map(hunks), [2, 2, 1, 1]);
}

#[test]
fn a_draft_cannot_play_with_a_terminal() {
    let shown = Diff::of("", "\u{1b}[2Jx\t\u{7}\u{9b}\r\n").show(&Style::PLAIN, 0);
    assert_eq!(shown, "@@ −1 +1 @@\n+ ␛[2Jx\t␇\u{fffd}\n");
    assert!(Diff::of("a", "b").show(&Style::ANSI, 0).contains("\u{1b}[32m+ b\u{1b}[0m\n"));
}

#[test]
fn texts_too_large_for_words_are_compared_coarsely_and_still_exactly() {
    let (before, after) = ("same\nhead a b c tail\nend\n", "same\nhead x b z tail\nend\n");
    let shape = |most_lines, most_words| {
        let diff = Diff::within(before, after, most_lines, most_words);
        assert_eq!((diff.before().as_str(), diff.after().as_str()), (before, after));
        diff.pieces
            .iter()
            .filter(|piece| piece.change == Change::Removed)
            .map(|piece| piece.text.clone())
            .collect()
    };
    let cases: [(usize, usize, &[&str]); 3] = [(9, 99, &["a", "c"]), (9, 3, &["a b c"]), (0, 0, &["a b c"])];
    for (lines, words, removed) in cases {
        let found: Vec<String> = shape(lines, words);
        assert_eq!(found, removed, "{lines} {words}");
    }
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(
            prop_oneof![
                Just("a"),
                Just("b"),
                Just("word"),
                Just(" "),
                Just("  "),
                Just("\n"),
                Just("\r\n"),
                Just("."),
                Just("語é👩‍👧"),
                Just("\u{301}")
            ],
            0..40,
        )
        .prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn both_texts_can_be_had_back(before in texts(), after in texts()) {
        let diff = Diff::of(&before, &after);
        prop_assert_eq!(diff.before(), before.as_str());
        prop_assert_eq!(diff.after(), after.as_str());
        prop_assert_eq!(diff.is_empty(), before == after);
        prop_assert!(diff.pieces.windows(2).all(|pair| pair[0].change != pair[1].change));
        prop_assert!(diff.pieces.iter().all(|piece| !piece.text.is_empty()));
    }

    #[test]
    fn the_lines_are_those_of_the_texts(before in texts(), after in texts()) {
        let lines = Diff::of(&before, &after).lines();
        let of = |other: Change| -> Vec<String> {
            let lines = lines.iter().filter(|line| line.change != other);
            lines.map(|line| line.pieces.iter().map(|piece| piece.text.as_str()).collect()).collect()
        };
        prop_assert_eq!(of(Change::Added), before.split_inclusive('\n').collect::<Vec<_>>());
        prop_assert_eq!(of(Change::Removed), after.split_inclusive('\n').collect::<Vec<_>>());
    }

    #[test]
    fn hunks_hold_every_change_once_and_say_where_they_stand(
        before in texts(), after in texts(), context in 0..4_usize,
    ) {
        let diff = Diff::of(&before, &after);
        let changed = |lines: &[Line]| -> Vec<Line> {
            lines.iter().filter(|line| line.change != Change::Same).cloned().collect()
        };
        let hunks = diff.hunks(context);
        let lines: Vec<Line> = hunks.iter().flat_map(|hunk| hunk.lines.clone()).collect();
        prop_assert_eq!(changed(&lines), changed(&diff.lines()));
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        for hunk in &hunks {
            let first = hunk.lines.iter().find(|line| line.change != Change::Added);
            if let Some(first) = first {
                let text: String = first.pieces.iter().map(|piece| piece.text.as_str()).collect();
                prop_assert_eq!(old[hunk.before - 1], text);
            }
        }
    }
}
