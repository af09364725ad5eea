//! Recorded outputs of real tools, and what is read from them.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("fixtures/", $name, ".txt"))
    };
}

/// Writes findings a line each: severity, rule, place, message, and the suggestion if there is one.
fn written(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let sign = match finding.severity {
            Severity::Blocking => '!',
            _ => '~',
        };
        let place = finding.place.as_ref().map_or("-".to_owned(), ToString::to_string);
        let _ = write!(text, "{sign} {} @ {place} {}", finding.rule, finding.message);
        if let Some(suggestion) = &finding.suggestion {
            let _ = write!(text, " => {suggestion}");
        }
        text.push('\n');
    }
    text
}

/// The format by its name and the one that is guessed must see the same.
#[track_caller]
fn check(format: Format, output: &str, expected: &[&str]) {
    for (format, out, err) in [(format, output, ""), (format, "", output), (Format::Auto, output, "")] {
        let found = findings(format, out, err);
        let lines = written(&found);
        assert_eq!(lines.lines().collect::<Vec<_>>(), expected, "{format:?}");
    }
}

#[test]
fn the_json_of_cargo_and_rustc() {
    let expected = [
        "! E0308 @ src/lib.rs:3:20 mismatched types: expected `u32`, found `&str`",
        "! E0599 @ src/lib.rs:13:10 no method named `to_upercase` found for reference `&str` in the current scope => there is a method `to_uppercase` with a similar name: `to_uppercase` at src/lib.rs:13:10",
        "! E0508 @ src/lib.rs:8:16 cannot move out of type `[String]`, a non-copy slice: cannot move out of here => consider borrowing here: `&` at src/lib.rs:8:16; or consider cloning the value if the performance cost is acceptable: `.clone()` at src/lib.rs:8:24",
    ];
    check(Format::Cargo, fixture!("cargo-json"), &expected);
    check(Format::Cargo, fixture!("rustc-json"), &expected);
    let found = findings(Format::Cargo, fixture!("cargo-json"), "");
    assert!(found[0].evidence.as_ref().unwrap().contains("expected due to this"));
}

#[test]
fn the_words_of_rustc_with_and_without_colours() {
    let expected = [
        "! E0308 @ src/lib.rs:3:20 mismatched types",
        "! E0599 @ src/lib.rs:13:10 no method named `to_upercase` found for reference `&str` in the current scope => there is a method `to_uppercase` with a similar name: `word.to_uppercase()`",
        "! E0508 @ src/lib.rs:8:16 cannot move out of type `[String]`, a non-copy slice => consider borrowing here: `let name = &names[0];`; or consider cloning the value if the performance cost is acceptable: `let name = names[0].clone();`",
    ];
    check(Format::Rustc, fixture!("rustc-human"), &expected);
    check(Format::Rustc, fixture!("rustc-color"), &expected);
}

#[test]
fn the_tests_of_rust() {
    check(
        Format::RustTest,
        fixture!("rust-test"),
        &[
            "! tests::a_missing_value_panics @ src/lib.rs:22:14 `tests::a_missing_value_panics` failed: called `Option::unwrap()` on a `None` value",
            "! tests::panics_as_it_should @ src/lib.rs:32:8 `tests::panics_as_it_should` failed: it did not panic as expected",
            "! tests::two_becomes_four @ src/lib.rs:16:9 `tests::two_becomes_four` failed: assertion `left == right` failed: double of two, left: 5, right: 4",
            "! tests::zero_stays_zero @ src/lib.rs:11:9 `tests::zero_stays_zero` failed: assertion `left == right` failed, left: 1, right: 0",
            "! tests::an_error_is_returned @ - `tests::an_error_is_returned` failed: Error: \"no luck\"",
        ],
    );
    check(
        Format::RustTest,
        "thread 'main' panicked at 'boom, twice', src/main.rs:2:5\nnote: run with\n",
        &["! panic @ src/main.rs:2:5 boom, twice"],
    );
}

#[test]
fn pytest_in_three_styles() {
    let told = [
        "! test_needs_database @ test_app.py:21 `test_needs_database` failed: RuntimeError: no database",
        "! test_adds @ test_app.py:7 `test_adds` failed: AssertionError: two and three",
        "! test_first_of_none @ app.py:6 `test_first_of_none` failed: IndexError: list index out of range",
        "! test_table[1-1-2] @ test_app.py:16 `test_table[1-1-2]` failed: assert 0 == 2",
    ];
    check(Format::Pytest, fixture!("pytest"), &told);
    check(Format::Pytest, fixture!("pytest-short"), &told);
    check(
        Format::Pytest,
        fixture!("pytest-line"),
        &[
            "! test_needs_database @ - `test_needs_database` failed: RuntimeError: no database",
            "! test_adds @ /project/test_app.py:7 `test_adds` failed: AssertionError: two and three",
            "! test_first_of_none @ /project/app.py:6 `test_first_of_none` failed: IndexError: list index out of range",
            "! test_table[1-1-2] @ /project/test_app.py:16 `test_table[1-1-2]` failed: assert 0 == 2",
        ],
    );
    check(
        Format::Pytest,
        fixture!("pytest-collect"),
        &[
            "! test_broken.py @ test_broken.py:1 `test_broken.py` failed: ImportError: cannot import name 'missing' from 'app' (/project/app.py)",
        ],
    );
}

#[test]
fn the_unittest_of_python() {
    check(
        Format::Unittest,
        fixture!("unittest"),
        &[
            "! AddTest.test_first @ /project/app.py:6 `AddTest.test_first` failed: IndexError: list index out of range",
            "! AddTest.test_adds @ /project/test_unit.py:8 `AddTest.test_adds` failed: AssertionError: -1 != 5",
            "! AddTest.test_parts (n=0) @ /project/test_unit.py:16 `AddTest.test_parts (n=0)` failed: AssertionError: -1 != 1",
            "! AddTest.test_parts (n=1) @ /project/test_unit.py:16 `AddTest.test_parts (n=1)` failed: AssertionError: 0 != 2",
        ],
    );
}

#[test]
fn tracebacks_point_at_the_draft_and_not_at_its_libraries() {
    let one = ["! IndexError @ /project/app.py:6 IndexError: list index out of range"];
    check(Format::Python, fixture!("traceback"), &one);
    let chained = ["! RuntimeError @ /project/chain.py:6 RuntimeError: bad settings"];
    check(Format::Python, fixture!("traceback-chain"), &chained);
    let syntax = ["! SyntaxError @ /project/syntax.py:1 SyntaxError: invalid syntax"];
    check(Format::Python, fixture!("syntax-error"), &syntax);
}

#[test]
fn the_typescript_compiler_plain_and_pretty() {
    let expected = [
        "! TS2322 @ a.ts:6:38 Type 'string' is not assignable to type 'number'.",
        "! TS2551 @ a.ts:9:43 Property 'page' does not exist on type 'Book'. Did you mean 'pages'? => did you mean 'pages'?",
        "! TS2322 @ a.ts:12:14 Type '(book: { title: number; }) => number' is not assignable to type '(book: Book) => number'.",
    ];
    check(Format::Tsc, fixture!("tsc"), &expected);
    check(Format::Tsc, fixture!("tsc-pretty"), &expected);
    check(Format::Tsc, "error TS18003: No inputs.\n", &["! TS18003 @ - No inputs."]);
}

#[test]
fn eslint_for_people_and_as_json() {
    check(
        Format::Eslint,
        fixture!("eslint"),
        &[
            "! no-unused-vars @ /project/a.js:1:5 'total' is assigned a value but never used",
            "! no-unused-vars @ /project/a.js:2:10 'add' is defined but never used",
            "! eqeqeq @ /project/a.js:3:9 Expected '===' and instead saw '=='",
            "! no-undef @ /project/a.js:3:25 'missing' is not defined",
            "! parsing-error @ /project/bad.js:1:11 Parsing error: Unexpected token ;",
            "~ prefer-const @ /project/a.js:1:5 'total' is never reassigned. Use 'const' instead",
        ],
    );
    check(
        Format::Eslint,
        fixture!("eslint-json"),
        &[
            "! no-unused-vars @ /project/a.js:1:5 'total' is assigned a value but never used. => Remove unused variable 'total'.",
            "! no-unused-vars @ /project/a.js:2:10 'add' is defined but never used. => Remove unused variable 'add'.",
            "! eqeqeq @ /project/a.js:3:9 Expected '===' and instead saw '=='. => Use '===' instead of '=='.",
            "! no-undef @ /project/a.js:3:25 'missing' is not defined.",
            "! parsing-error @ /project/bad.js:1:11 Parsing error: Unexpected token ;",
            "~ prefer-const @ /project/a.js:1:5 'total' is never reassigned. Use 'const' instead. => write `const total = 0;`",
        ],
    );
}

#[test]
fn gcc_and_its_kin() {
    check(
        Format::Gcc,
        fixture!("gcc"),
        &[
            "! error @ a.c:6:20 ‘nn’ undeclared (first use in this function); did you mean ‘n’? => did you mean ‘n’?",
            "! error @ a.c:7:13 expected ‘;’ before ‘}’ token",
            "~ Wint-conversion @ a.c:5:13 initialization of ‘int’ from ‘char *’ makes integer from pointer without a cast",
            "~ Wunused-variable @ a.c:5:9 unused variable ‘n’",
            "~ Wunused-variable @ a.c:4:9 unused variable ‘unused’",
        ],
    );
    check(Format::Gcc, fixture!("ld"), &["! undefined-reference @ - undefined reference to `missing'"]);
    check(
        Format::Gcc,
        "A.java:3: error: ';' expected\n        int n = 1\n                 ^\n1 error\n",
        &["! error @ A.java:3 ';' expected"],
    );
}

#[test]
fn go_as_it_builds_and_tests() {
    check(Format::Go, "# shelf\n./main.go:5:2: undefined: x\n", &["! error @ main.go:5:2 undefined: x"]);
    check(
        Format::Go,
        "--- FAIL: TestAdd (0.00s)\n    add_test.go:9: got 1, want 2\n--- FAIL: TestAll (0.00s)\n    --- FAIL: TestAll/one (0.00s)\n        add_test.go:20: no\nFAIL\nFAIL\tshelf\t0.1s\n",
        &[
            "! TestAdd @ add_test.go:9 `TestAdd` failed: got 1, want 2",
            "! TestAll/one @ add_test.go:20 `TestAll/one` failed: no",
        ],
    );
    check(
        Format::Go,
        "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/project/main.go:4 +0x25\nexit status 2\n",
        &["! panic @ /project/main.go:4 boom"],
    );
}

#[test]
fn what_is_not_recognised_is_kept_by_its_end() {
    let text = format!("{}\nat the very end\n", "x".repeat(5000));
    for format in [Format::Auto, Format::Plain, Format::Cargo] {
        let found = findings(format, &text, " \n");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].message, "the program failed; the last thing it said was: at the very end");
        let evidence = found[0].evidence.as_ref().unwrap();
        assert!(evidence.ends_with("at the very end") && evidence.chars().count() <= MOST_EVIDENCE + 1);
    }
    assert_eq!(findings(Format::Auto, "", "\n")[0].message, "the program failed without a word");
}

#[test]
fn a_flood_is_cut_and_counted_and_errors_come_first() {
    let mut text = String::new();
    for line in 0..60 {
        let _ = writeln!(text, "a.c:{line}:1: warning: dull {line}");
    }
    text.push_str("a.c:99:1: error: broken\n");
    let found = findings(Format::Gcc, "", &text);
    assert_eq!(found.len(), MOST_FINDINGS + 1);
    assert_eq!(found[0].message, "broken");
    let last = found.last().unwrap();
    assert_eq!((last.message.as_str(), last.severity), ("and 11 more", Severity::Minor));
}

#[test]
fn a_finding_that_moved_keeps_its_id_and_one_below_a_folder_its_words() {
    let id = |text: &str, root: &str| {
        let mut found = findings(Format::Gcc, "", text);
        relative_to(Path::new(root), &mut found);
        crate::verify::Verdict::of(found).filed("code").findings[0].clone()
    };
    let first = id("/tmp/a/x.c:1:1: error: broken\n", "/tmp/a");
    let second = id("/tmp/b/x.c:7:9: error: broken\n", "/tmp/b");
    assert_eq!(first.id, second.id);
    assert_eq!(second.to_string(), "x.c:7:9: broken");
}

proptest! {
    #[test]
    fn nothing_that_is_printed_makes_it_panic(
        text in "((error|warning|test |---- | stdout ----|thread 'a' panicked at |File \"a\", line |E  |FAILED |___ a ___|=== short test summary info ===|a.go|--- FAIL: |panic: |a.c|é|:|[0-9]{1,11}|\\[|\\]|'|, | |\u{1b}\\[|\u{1b}\\]|\n){0,30})",
    ) {
        for format in [Format::Auto, Format::Cargo, Format::Rustc, Format::RustTest, Format::Pytest, Format::Unittest,
            Format::Python, Format::Tsc, Format::Eslint, Format::Gcc, Format::Go, Format::Plain] {
            prop_assert!(!findings(format, &text, "").is_empty());
        }
    }
}
