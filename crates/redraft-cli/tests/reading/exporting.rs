//! `redraft export`

use serde_json::Value;

use crate::support::{GOOD, HOSTILE, Store, settled, stderr, stdout};

#[test]
fn a_report_in_markdown_tells_the_whole_story() {
    let store = Store::new();
    let run = store.refined(&GOOD);
    let text = settled(&store.text(&["export", "last", "--format", "markdown"]), run);
    let from = text.find("## What was asked").unwrap();
    assert!(text.starts_with("# essay: ✓ accepted\n\nA draft was proven good enough.\n"), "{text}");
    assert_eq!(
        &text[from..],
        "\
## What was asked

```text
Say why there are tides.
```

## Criteria

- **short**: at most 8 words
- **moon**: speaks of the moon

## How it went

| iteration | score | gates | open findings | made | by |
|---:|---:|---:|---:|---|---|
| 1 | 0.25 | 0 of 1 | 2 | drafted | scripted:author |
| 2 | 0.75 | 1 of 1 | 1 | rewritten from 1 | scripted:author |
| 3 ✓ | 1.00 | 1 of 1 | 0 | rewritten from 2 | scripted:author |

```text
  1  0.25  █████          ┊
  2  0.75  ███████████████┊
  3  1.00  ███████████████▓████  ◀ best
           accepted from 0.80 on
```

## Findings

| | criterion | what | how it stands |
|---|---|---|---|
| ✓ | short | line 1: has 12 words | fixed; found in 1 |
| ✓ | moon | the moon is missing &lt;b&gt;&amp; | fixed; found in 1, 2 |

## The best draft: iteration 3

```text
Tides are made by the moon.
```
"
    );
}

#[test]
fn the_page_stands_alone_and_shows_what_models_wrote_as_text() {
    let store = Store::new();
    store.refined(&HOSTILE);
    let page = store.text(&["export", "last", "--format", "html"]);
    assert!(page.starts_with("<!doctype html>\n"));
    assert!(page.contains(
        "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\""
    ));
    assert!(page.contains("&lt;script&gt;alert(&#39;潮汐&#39;)&lt;/script&gt; &amp; \u{fffd}wind"), "{page}");
    for never in ["<script", "http:", "https:", "url(", "@import", " src=", "javascript:", " onclick"] {
        assert!(!page.contains(never), "{never}");
    }
    // The chart has a table that says the same.
    assert!(
        page.contains("<polyline points=\"28.0,59.0 612.0,59.0\"/>") && page.contains("<td>0.75</td>"),
        "{page}"
    );
    assert!(page.contains("@media (prefers-color-scheme: dark)"));
    // Every tag that is opened is closed.
    for tag in
        ["main", "dl", "table", "tr", "td", "th", "details", "pre", "ul", "li", "del", "ins", "svg", "text"]
    {
        let count = |needle: &str| page.matches(needle).count();
        let opened = count(&format!("<{tag}>")) + count(&format!("<{tag} "));
        assert_eq!(opened, count(&format!("</{tag}>")), "{tag}");
    }
}

#[test]
fn each_criterion_is_a_test_of_the_best_draft() {
    let store = Store::new();
    store.refined(&["Tides are made by the wind, which blows over all of the seas."]);
    let text = store.text(&["export", "last", "--format", "junit"]);
    let from = text.find("    <testcase").unwrap();
    assert!(
        text.contains("<testsuite name=\"essay\" tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"0\""),
        "{text}"
    );
    assert_eq!(
        &text[from..],
        "    <testcase classname=\"essay\" name=\"short\">
      <failure message=\"has 13 words\">line 1: has 13 words</failure>
    </testcase>
    <testcase classname=\"essay\" name=\"moon\"/>
    <testcase classname=\"essay\" name=\"accepted\">
      <failure message=\"as many drafts were made as were allowed, and none was good enough\">short: line 1: has 13 words
moon: the moon is missing &lt;b&gt;&amp;</failure>
    </testcase>
  </testsuite>
</testsuites>
"
    );
    store.refined(&GOOD);
    assert!(store.text(&["export", "last", "-f", "junit"]).contains("tests=\"3\" failures=\"0\""));
    store.waiting(&GOOD);
    let waiting = store.text(&["export", "last", "-f", "junit"]);
    assert!(waiting.contains("<skipped message=\"the run has not ended\"/>"), "{waiting}");
}

#[test]
fn programs_get_what_run_prints() {
    let store = Store::new();
    store.refined(&GOOD);
    let exported: Value = serde_json::from_str(&store.text(&["export", "last", "--format", "json"])).unwrap();
    assert_eq!(exported, store.json(&["export", "last"]));
    assert_eq!(exported["status"], "accepted");
    assert_eq!(exported["stop"], "accepted");
    assert_eq!(exported["best"]["text"], GOOD[2]);
    assert_eq!(exported["iterations"][1]["findings"][0]["status"], "open");
    assert_eq!(exported["iterations"][0]["verdicts"][0]["verifier"], "short");
    assert_eq!(exported["spend"]["usd"], "0.00");
    assert_eq!(exported["criteria"]["task"], "Say why there are tides.");
}

#[test]
fn a_file_is_written_where_it_is_wanted() {
    let store = Store::new();
    store.refined(&GOOD);
    let output = store.redraft(&["export", "last", "-f", "html", "-o", "report.html"]);
    assert_eq!((stdout(&output), stderr(&output)), (String::new(), "wrote report.html\n".to_owned()));
    let written = std::fs::read_to_string(store.folder().join("report.html")).unwrap();
    assert_eq!(written, store.text(&["export", "last", "-f", "html"]));

    let output = store.redraft(&["export", "last", "-o", "no/such/folder.jsonl"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).starts_with("error: `no/such/folder.jsonl` could not be written: "));
    assert_eq!(store.redraft(&["export", "last", "--format", "pdf"]).status.code(), Some(2));
}

#[test]
fn every_refinement_of_a_run_is_in_its_reports() {
    let store = Store::new();
    store.several();
    let tests = store.text(&["export", "last", "-f", "junit"]);
    assert!(tests.contains("<testsuites tests=\"6\" failures=\"1\" skipped=\"0\""), "{tests}");
    assert!(tests.contains("<testsuite name=\"book/title/essay\" tests=\"3\" failures=\"0\""), "{tests}");
    assert!(tests.contains("<failure message=\"iterations_spent\">moon: "), "{tests}");
    let report = store.text(&["export", "last", "-f", "markdown"]);
    assert!(
        report.contains("\n# book/title/essay\n") && report.contains("\n# book/text/essay\n"),
        "{report}"
    );
    assert_eq!(report.matches("## What was asked").count(), 2);
    let page = store.text(&["export", "last", "-f", "html"]);
    assert!(page.contains("id=\"draft-0-3\"") && page.contains("href=\"#draft-1-2\""), "{page}");
    let one = store.json(&["export", "last", "--at", "text/essay"]);
    assert_eq!(one["best"]["text"], HOSTILE[0]);
}
