//! `redraft show` and `redraft explain`

use serde_json::{Value, json};

use crate::support::{GOOD, HOSTILE, Store, settled, stderr, stdout};

#[test]
fn a_run_is_shown_with_its_drafts_what_was_found_and_what_to_do_next() {
    let store = Store::new();
    let run = store.refined(&GOOD);
    let output = store.redraft(&["show", &run.to_string()]);
    assert_eq!(
        settled(&stdout(&output), run),
        "\
essay  RUN   ✓ accepted   accept ≥ 0.80
├─ △ iteration 1  score 0.25  TIME  32→12 tok  $0.00  2 findings
│  ├─ ✓ draft                 TIME  32→12 tok  $0.00
│  ├─ ✗ short     0.00        TIME                    “has 12 words”
│  └─ △ moon      0.50        TIME                    “the moon is missing <b>&”
├─ △ iteration 2  score 0.75  TIME  105→6 tok  $0.00  1 finding
│  ├─ ✓ revise                TIME  105→6 tok  $0.00
│  ├─ ✓ short     1.00        TIME
│  └─ △ moon      0.50        TIME                    “the moon is missing <b>&”
├─ ✓ iteration 3  score 1.00  TIME   91→6 tok  $0.00
│  ├─ ✓ revise                TIME   91→6 tok  $0.00
│  ├─ ✓ short     1.00        TIME
│  └─ ✓ moon      1.00        TIME
└─ best: iteration 3 (1.00)   spent $0.00

best draft: iteration 3, score 1.00
  Tides are made by the moon.

findings
  ✓ fixed      moon: the moon is missing <b>&

accepted: a draft was proven good enough
"
    );
    assert_eq!(
        settled(&stderr(&output), run),
        "  next: redraft show RUN --best   (prints the best draft)\n  next: redraft diff RUN   (shows what made it better)\n"
    );
}

#[test]
fn a_narrow_terminal_never_gets_a_wider_line() {
    let store = Store::new();
    store.refined(&[
        "潮汐は月によって作られ、風によって作られるのではありません。潮汐は月によって作られます。",
    ]);
    store.waiting(&GOOD);
    store.refined(&GOOD);
    let runs = store.json(&["list"]);
    for run in runs["runs"].as_array().unwrap() {
        for columns in [20, 40, 70] {
            for command in ["show", "explain"] {
                let args = [command, run["run_id"].as_str().unwrap()];
                let text = stdout(&store.with(&args, &[("COLUMNS", &columns.to_string())]));
                let wide = |line: &&str| {
                    let double = line.chars().filter(|c| ('\u{3000}'..'\u{a000}').contains(c)).count();
                    let commands = line.starts_with("  redraft ");
                    line.chars().count() + double > columns && !commands
                };
                assert_eq!(text.lines().find(wide), None, "{columns}:\n{text}");
            }
        }
    }
}

#[test]
fn one_draft_alone_comes_as_it_is() {
    let store = Store::new();
    store.refined(&GOOD);
    store.refined(&HOSTILE);
    // A file gets the draft as it is; only a terminal is protected.
    assert_eq!(store.text(&["show", "last", "--best"]), format!("{}\n", HOSTILE[0]));
    assert_eq!(store.text(&["show", "last", "--draft", "2"]), format!("{}\n", HOSTILE[1]));
    assert_eq!(store.json(&["show", "last", "--draft", "2"])["text"], HOSTILE[1]);
    let output = store.redraft(&["show", "last", "--draft", "9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there is no judged draft of iteration 9; it has iterations 1 to 2"));
}

#[test]
fn drafts_give_no_orders_to_a_terminal() {
    let store = Store::new();
    store.refined(&HOSTILE);
    let commands: [&[&str]; 10] = [
        &["show", "last"],
        &["show", "last", "--full"],
        &["show", "last", "--transcript"],
        &["show", "last", "--journal"],
        &["show", "last", "--json"],
        &["diff", "last", "1..2"],
        &["watch", "last"],
        &["explain", "last"],
        &["export", "last", "--format", "markdown"],
        &["export", "last", "--format", "html"],
    ];
    for command in commands {
        let output = store.redraft(command);
        let said = stdout(&output) + &stderr(&output);
        let obeyed = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
        assert_eq!(said.find(obeyed), None, "{command:?}: {said:?}");
    }
}

#[test]
fn the_transcript_has_what_was_asked_and_what_was_answered() {
    let store = Store::new();
    let run = store.refined(&GOOD);
    let text = settled(&store.text(&["show", "last", "--transcript"]), run);
    assert!(
        text.starts_with("── asked\nSay why there are tides.\n\n── 1/draft  scripted:author  32→12 tok"),
        "{text}"
    );
    assert!(
        text.contains("── 3/revise  scripted:author  91→6 tok  $0.00  TIME\nTides are made by the moon.\n")
    );
    let json = store.json(&["show", "last", "--transcript"]);
    assert_eq!(json["steps"][0]["answer"], GOOD[0]);
    assert_eq!(json["task"], "Say why there are tides.");
}

#[test]
fn the_journal_is_one_event_on_a_line_without_gaps() {
    let store = Store::new();
    store.waiting(&GOOD);
    // The run has not ended, and still the command does.
    let text = store.text(&["show", "last", "--journal"]);
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(events[0]["type"], "run_started");
    assert_eq!(text, store.text(&["export", "last"]));
}

#[test]
fn a_run_that_waits_says_for_what() {
    let store = Store::new();
    let run = store.waiting(&GOOD);
    let output = store.redraft(&["show", "last"]);
    let text = settled(&stdout(&output), run);
    assert!(text.contains("└─ best so far: iteration 1 (0.25)   spent $0.00"), "{text}");
    assert!(text.contains("it waits for a person\n◔ 1/decide asks: What shall be done"), "{text}");
    assert!(settled(&stderr(&output), run).starts_with("  next: redraft approve RUN "));
    let shown = store.json(&["show", "last"]);
    assert_eq!(shown["status"], "waiting");
    assert_eq!(shown["gates"][0]["gate"], "1/decide");
    assert_eq!(shown["gates"][0]["options"], json!(["approve", "reject", "edit", "continue"]));
    assert_eq!(shown["best"]["iteration"], 1);
}

#[test]
fn a_run_is_explained_in_words() {
    let store = Store::new();
    let run = store.refined(&HOSTILE);
    assert_eq!(
        settled(&store.text(&["explain", "last"]), run),
        "\
△ exhausted (iterations_spent)  RUN
as many drafts were made as were allowed, and none was good enough

still wrong:
  ● moon: the moon is missing <b>&

next:
  redraft resume RUN --max-iterations 4
  redraft show RUN --best
"
    );
    let why = store.json(&["explain", "last"]);
    assert_eq!((&why["stop"], &why["exit_code"]), (&json!("iterations_spent"), &json!(1)));
    let page = store.json(&["explain", "budget-spent"]);
    assert!(page["page"].as_str().unwrap().starts_with("# budget-spent"));
    assert!(store.json(&["explain"])["codes"].as_array().unwrap().len() > 50);
}

#[test]
fn a_run_with_several_refinements_is_looked_at_one_by_one() {
    let store = Store::new();
    let run = store.several();
    let text = settled(&store.text(&["show", "last"]), run);
    assert!(text.contains("├─ ✓ title "), "{text}");
    assert!(text.contains("│     ├─ △ iteration 1  score 0.25"), "{text}");
    assert!(
        text.contains(
            "refinements\n  --at title/essay  best 1.00, iteration 3, accepted\n  --at text/essay  best 0.75, iteration 1, iterations_spent\n"
        ),
        "{text}"
    );
    assert_eq!(store.text(&["show", "last", "--best", "--at", "title/essay"]), format!("{}\n", GOOD[2]));
    assert_eq!(store.json(&["diff", "last", "1..2", "--at", "text/essay"])["to"]["iteration"], 2);
    for (args, message) in [
        (&["show", "last", "--best"][..], "this run has several refinements: title/essay, text/essay"),
        (&["diff", "last", "1..2"], "this run has several refinements: title/essay, text/essay"),
        (
            &["show", "last", "--at", "index"],
            "there is no refinement at `index`; there are title/essay, text/essay",
        ),
    ] {
        let output = store.redraft(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(message), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn a_run_that_failed_says_why_and_that_it_can_be_resumed() {
    let store = Store::new();
    let run = store.failed(&GOOD[..1]);
    let output = store.redraft(&["show", "last"]);
    let text = settled(&stdout(&output), run);
    assert!(text.starts_with("essay  RUN   ✗ failed   accept ≥ 0.80\n"), "{text}");
    assert!(text.contains("├─ ✗ iteration 2 "), "{text}");
    assert!(text.contains("\nfailed: it could not be done: "), "{text}");
    assert!(text.contains("best draft: iteration 1, score 0.25"), "{text}");
    let said = settled(&stderr(&output), run);
    assert!(
        said.contains("  next: redraft explain model-") && said.contains("  next: redraft resume RUN "),
        "{said}"
    );
    let watched = store.redraft(&["watch", "last"]);
    assert_eq!(watched.status.code(), Some(3), "a script that is too short is a matter of configuration");
    assert!(stdout(&watched).contains("✗ 2/revise: "), "{}", stdout(&watched));
    assert_eq!(store.json(&["explain", "last"])["exit_code"], 3);
    assert!(store.text(&["export", "last", "-f", "markdown"]).contains("| failure | "));
}
