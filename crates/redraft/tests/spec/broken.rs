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
