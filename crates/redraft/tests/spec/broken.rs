//! Every mistake is found before anything is paid, all at once, with its place.

use redraft::spec::{Error, Registry, Spec};

use super::{files, same_as};

fn read(path: &std::path::Path) -> Error {
    let name = path.file_name().unwrap().to_string_lossy();
    let bytes = std::fs::read(path).unwrap();
    let refused = Spec::parse(&name, &bytes, path.parent(), &Registry::builtin());
    assert!(refused.is_err(), "{name} should be refused");
    refused.unwrap_err()
}

#[test]
fn every_broken_file_is_refused_in_these_words() {
    let files = files("broken", "yaml");
    assert!(files.len() >= 30, "only {} broken files", files.len());
    let stale: Vec<String> = files
        .iter()
        .filter_map(|path| same_as(&path.with_extension("txt"), &read(path).render(false)).err())
        .collect();
    assert!(stale.is_empty(), "{}\nTo write them anew: REDRAFT_WRITE=1", stale.join("\n"));
}

#[test]
fn every_mistake_has_a_page_and_a_place_in_the_file() {
    for path in files("broken", "yaml") {
        for found in read(&path).diagnostics() {
            assert!(redraft::explain(&found.code).is_some(), "`{}` has no page", found.code);
            assert!(found.line >= 1 && found.column >= 1 && found.length >= 1, "{found:?}");
            let shown = found.snippet.last().unwrap();
            assert_eq!(shown.number, found.line, "{found:?}");
            let width = shown.text.chars().count();
            assert!(found.column as usize <= width + 1, "{found:?}");
        }
    }
}

#[test]
fn a_mistake_can_be_read_by_programs() {
    let path = files("broken", "yaml").into_iter().find(|path| path.ends_with("unknown-key.yaml")).unwrap();
    let found = serde_json::to_value(read(&path).diagnostics()).unwrap();
    assert_eq!(found[0]["code"], "spec-unknown-key");
    assert_eq!(found[0]["did_you_mean"], "prompt");
    assert_eq!(found[0]["line"], 6);
}

#[test]
fn colour_adds_nothing_but_colour() {
    for path in files("broken", "yaml") {
        let error = read(&path);
        let mut plain = String::new();
        let coloured = error.render(true);
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once("\u{1b}[") {
            plain.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        plain.push_str(rest);
        assert_eq!(plain, error.render(false));
    }
}

#[test]
fn a_key_that_stands_in_a_file_is_not_shown() {
    let path =
        files("broken", "yaml").into_iter().find(|path| path.ends_with("key-in-the-file.yaml")).unwrap();
    let error = read(&path);
    assert!(!error.render(false).contains("sk-very"), "{}", error.render(false));
    assert!(!serde_json::to_string(error.diagnostics()).unwrap().contains("sk-very"));
}

/// Reads a text and looks at every place that is named.
fn look(text: &str) {
    if let Err(error) = Spec::parse("a.yaml", text.as_bytes(), None, &Registry::builtin()) {
        for found in error.diagnostics() {
            let shown = found.snippet.last().unwrap();
            let line = text.lines().nth(found.line as usize - 1).unwrap_or_default();
            assert_eq!(shown.text, line.trim_end_matches('\r'), "{found:?}");
            assert!(found.column as usize <= line.chars().count() + 1, "{found:?}");
            assert!(found.render(false).starts_with("error["));
        }
    }
}

#[test]
fn a_file_that_breaks_off_anywhere_is_refused_and_nothing_worse() {
    let file = files("broken", "yaml").into_iter().find(|path| path.ends_with("many-mistakes-at-once.yaml"));
    let text = std::fs::read_to_string(file.unwrap()).unwrap().replace("tides", "Gezeiten – ümlaut 🌊");
    for (at, _) in text.char_indices().step_by(3) {
        look(&text[..at]);
        look(&format!("{}{}", &text[..at], text[at..].chars().skip(1).collect::<String>()));
    }
}

#[test]
fn line_ends_of_other_systems_change_no_place() {
    for path in files("broken", "yaml") {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let places = |text: &str| -> Vec<(u32, u32)> {
            let read = Spec::parse("a.yaml", text.as_bytes(), path.parent(), &Registry::builtin());
            read.unwrap_err().diagnostics().iter().map(|found| (found.line, found.column)).collect()
        };
        assert_eq!(places(&text.replace('\n', "\r\n")), places(&text), "{}", path.display());
    }
}
