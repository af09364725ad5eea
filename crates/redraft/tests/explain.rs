//! Every error code has a page, and every page an error code.
//!
//! The codes are found by reading the crate's sources where codes are written down: in methods called `code`, and as the
//! first argument of `Failure::terminal`, `Failure::passing` and `Problem::new`. Comments and test code are left out.
//! No list of codes is kept here: a code that is added without a page fails a test by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The longest page that still reads as one.
const MOST_LINES: usize = 30;

#[test]
fn every_code_has_a_page() {
    let scan = Scan::of_the_crate().unwrap();
    assert!(!scan.codes.is_empty(), "the sources hold no codes at all, so they were not read");
    for (code, file) in &scan.codes {
        assert!(
            redraft::explain(code).is_some(),
            "`{code}`, given in {file}, has no page: write src/errors/{code}.md"
        );
    }
}

#[test]
fn every_page_is_about_a_code_that_can_be_given() {
    let scan = Scan::of_the_crate().unwrap();
    for code in redraft::codes() {
        assert!(
            scan.codes.contains_key(code),
            "nothing gives `{code}` any more: remove src/errors/{code}.md"
        );
    }
}

#[test]
fn every_code_is_written_down_where_it_is_given() {
    let scan = Scan::of_the_crate().unwrap();
    assert!(scan.hidden.is_empty(), "a code is neither a literal nor a constant: {:#?}", scan.hidden);
}

#[test]
fn every_page_in_the_folder_can_be_asked_for() {
    let mut pages = BTreeSet::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/errors")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        pages.extend(name.strip_suffix(".md").map(str::to_owned));
    }
    assert_eq!(pages, redraft::codes().map(str::to_owned).collect());
}

#[test]
fn codes_are_sorted_unique_and_in_kebab_case() {
    let codes: Vec<&str> = redraft::codes().collect();
    assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    for code in codes {
        let words_are_plain = code.split('-').all(|word| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        });
        assert!(words_are_plain, "`{code}` is not in kebab-case");
    }
}

#[test]
fn every_page_says_what_happened_why_and_what_to_do() {
    for code in redraft::codes() {
        let page = redraft::explain(code).unwrap();
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(lines.first(), Some(&format!("# {code}").as_str()), "the first line of `{code}`");
        assert!(lines.len() <= MOST_LINES, "the page of `{code}` has {} lines", lines.len());
        assert!(
            page.ends_with('\n') && !page.ends_with("\n\n"),
            "the page of `{code}` ends with one line break"
        );

        let headings: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].starts_with("## ")).collect();
        let titles: Vec<&str> = headings.iter().map(|&at| lines[at]).collect();
        assert_eq!(titles, ["## Why", "## What to do"], "the headings of `{code}`");
        let says_something = |part: &[&str]| part.iter().any(|line| line.ends_with(['.', ':', ')', '`']));
        for part in [&lines[1..headings[0]], &lines[headings[0] + 1..headings[1]], &lines[headings[1] + 1..]]
        {
            assert!(says_something(part), "a part of the page of `{code}` is empty");
        }
        let fences = lines.iter().filter(|line| line.starts_with("```")).count();
        assert_eq!(fences % 2, 0, "a code block of `{code}` is not closed");
    }
}

#[test]
fn the_scan_finds_codes_and_nothing_else() {
    let source = r##"
        /// Never `Failure::terminal("in-a-comment", "")`.
        pub const WORD: &'static str = "from-a-constant";
        const OTHER: &str = "not-a-code";
        fn code(&self) -> &'static str {
            match self {
                Self::Own => "in-a-method",
                Self::Bad('"') => Bad::WORD,
                Self::Of(error) => error.code(),
            }
        }
        fn codec() -> &str { "not-a-method-called-code" }
        fn passing(code: impl Into<String>) -> Self { Self::terminal(code, "passed on") }
        fn fails() {
            let text = "Failure::terminal(\"in-a-text\", 1)"; /* Problem::new("in-a-block", 2) */
            Failure::terminal(
                "after-a-line-break",
                "a message",
            );
            Failure::passing("passing", r#"a "raw" message"#);
            Problem::new("problem", place, "a message");
            Question::new("a question");
            Failure::terminal(format!("made-{up}"), "");
        }
        #[cfg(test)]
        #[expect(dead_code)]
        mod inline { fn f() { Failure::terminal("in-a-test", "") } }
        #[cfg(test)]
        mod elsewhere;
        fn last() { Failure::terminal("last", "") }
    "##;
    let mut scan = Scan::default();
    let (kept, test_files) = without_tests(tokens(source));
    scan.read("sample.rs", &kept);
    scan.resolve_constants();
    let found: Vec<&str> = scan.codes.keys().map(String::as_str).collect();
    assert_eq!(found, ["after-a-line-break", "from-a-constant", "in-a-method", "last", "passing", "problem"]);
    assert_eq!(test_files, ["elsewhere"]);
    assert_eq!(scan.hidden, ["sample.rs: format ! ( made-{up} )"]);
}

/// What the sources say about codes.
#[derive(Debug, Default)]
struct Scan {
    /// Each code with a file that gives it.
    codes: BTreeMap<String, String>,
    /// Places that give a code which cannot be read off.
    hidden: Vec<String>,
    /// Constants of type `&str`, by name.
    constants: BTreeMap<String, Vec<String>>,
    /// Constants that stand where a code is given, with the file.
    named: Vec<(String, String)>,
}

impl Scan {
    fn of_the_crate() -> io::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        rust_files(&root, &mut files)?;
        // The pages of this crate's sibling are kept here as well, so that `explain` knows them all.
        rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../redraft-local/src"), &mut files)?;
        let mut sources = Vec::new();
        let mut tests = BTreeSet::new();
        for file in files {
            let (kept, test_files) = without_tests(tokens(&fs::read_to_string(&file)?));
            tests.extend(test_files.iter().map(|name| module_folder(&file).join(format!("{name}.rs"))));
            sources.push((file, kept));
        }
        let mut scan = Self::default();
        for (file, kept) in sources.iter().filter(|(file, _)| !tests.contains(file)) {
            scan.read(&file.strip_prefix(&root).unwrap_or(file).display().to_string(), kept);
        }
        scan.resolve_constants();
        Ok(scan)
    }

    fn read(&mut self, file: &str, source: &[Token]) {
        for at in 0..source.len() {
            let rest = &source[at..];
            if starts(rest, &["fn", "code"]) {
                self.give(file, method_body(rest));
            } else if starts(rest, &["::", "terminal", "("]) || starts(rest, &["::", "passing", "("]) {
                self.give_one(file, first_argument(&rest[3..]));
            } else if starts(rest, &["Problem", "::", "new", "("]) {
                self.give_one(file, first_argument(&rest[4..]));
            } else if starts(rest, &["const"])
                && let [_, Token::Word(name), type_and_value @ ..] = rest
                && let Some(Token::Text(value)) = value_of_constant(type_and_value)
            {
                self.constants.entry(name.clone()).or_default().push(value.clone());
            }
        }
    }

    /// Takes the codes out of tokens that may hold several, or none.
    fn give(&mut self, file: &str, source: &[Token]) {
        for (at, token) in source.iter().enumerate() {
            match token {
                Token::Text(code) => drop(self.codes.insert(code.clone(), file.to_owned())),
                Token::Word(name) if at > 0 && source[at - 1].is("::") && is_constant(name) => {
                    self.named.push((name.clone(), file.to_owned()));
                }
                _ => {}
            }
        }
    }

    /// Takes the code out of an argument that must hold one, or pass on the `code` of something else.
    fn give_one(&mut self, file: &str, argument: &[Token]) {
        match argument {
            [Token::Text(_)] | [.., Token::Sign("::"), Token::Word(_)] => self.give(file, argument),
            _ if argument.iter().any(|token| token.is("code")) => {}
            _ => {
                let words: Vec<&str> = argument.iter().map(Token::as_str).collect();
                self.hidden.push(format!("{file}: {}", words.join(" ")));
            }
        }
    }

    fn resolve_constants(&mut self) {
        for (name, file) in &self.named {
            match self.constants.get(name) {
                Some(values) => self.codes.extend(values.iter().map(|value| (value.clone(), file.clone()))),
                None => self.hidden.push(format!("{file}: {name}")),
            }
        }
    }
}

/// A piece of Rust, as far as it matters here.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    /// A string literal, without its quotes.
    Text(String),
    Sign(&'static str),
}

impl Token {
    fn as_str(&self) -> &str {
        match self {
            Self::Word(text) | Self::Text(text) => text,
            Self::Sign(sign) => sign,
        }
    }

    /// Says whether this is that word or sign; a text never is.
    fn is(&self, wanted: &str) -> bool {
        !matches!(self, Self::Text(_)) && self.as_str() == wanted
    }
}

/// The signs that are told apart; `::` before `:`.
const SIGNS: [&str; 13] = ["::", "(", ")", "[", "]", "{", "}", ",", ";", "#", "=", "!", ":"];

/// Splits a source into tokens and leaves comments, lifetimes and characters out.
fn tokens(source: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some((text, length)) = string(rest) {
            found.push(Token::Text(text.to_owned()));
            length
        } else if next == '\'' {
            character(rest)
        } else if next.is_alphanumeric() || next == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.push(Token::Word(rest[..length].to_owned()));
            length
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            found.push(Token::Sign(sign));
            sign.len()
        } else {
            next.len_utf8()
        };
        rest = &rest[skipped..];
    }
    found
}

/// Reads a string literal: what it holds and how long it is. Escapes are left as they are; codes have none.
fn string(source: &str) -> Option<(&str, usize)> {
    if let Some(raw) = source.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let text = raw[hashes..].strip_prefix('"')?;
        let end = text.find(&format!("\"{}", "#".repeat(hashes)))?;
        return Some((&text[..end], 1 + hashes + 1 + end + 1 + hashes));
    }
    let text = source.strip_prefix('"')?;
    let mut escaped = false;
    let end = text.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    Some((&text[..end], end + 2))
}

/// Tells how long a character literal is; of a lifetime only the quote is skipped.
fn character(source: &str) -> usize {
    let mut inside = source.char_indices().skip(1);
    let first = inside.next();
    let escaped = first.is_some_and(|(_, c)| c == '\\');
    let closing = if escaped { inside.skip(1).find(|(_, c)| *c == '\'') } else { inside.next() };
    match closing {
        Some((at, '\'')) => at + 1,
        _ => 1,
    }
}

/// Takes out what is compiled for tests only, and names the modules among it that stand in files of their own.
fn without_tests(source: Vec<Token>) -> (Vec<Token>, Vec<String>) {
    let mut kept = Vec::new();
    let mut files = Vec::new();
    let mut rest = source.as_slice();
    while let Some(first) = rest.first() {
        if !starts(rest, &["#", "[", "cfg", "(", "test", ")", "]"]) {
            kept.push(first.clone());
            rest = &rest[1..];
            continue;
        }
        while starts(rest, &["#", "["]) {
            rest = &rest[1 + length_of_group(&rest[1..])..];
        }
        if let [Token::Word(word), Token::Word(name), Token::Sign(";"), ..] = rest
            && word == "mod"
        {
            files.push(name.clone());
        }
        let item = rest.iter().position(|token| token.is("{") || token.is(";")).unwrap_or(rest.len());
        let body = if rest.get(item).is_some_and(|token| token.is("{")) {
            length_of_group(&rest[item..])
        } else {
            1
        };
        rest = rest.get(item + body..).unwrap_or_default();
    }
    (kept, files)
}

fn starts(source: &[Token], wanted: &[&str]) -> bool {
    source.len() >= wanted.len() && source.iter().zip(wanted).all(|(token, wanted)| token.is(wanted))
}

/// Counts the tokens of the group that begins here, brackets included.
fn length_of_group(source: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in source.iter().enumerate() {
        match token {
            Token::Sign("(" | "[" | "{") => depth += 1,
            Token::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    source.len()
}

/// Returns the body of the method that begins here; nothing if it is only declared.
fn method_body(source: &[Token]) -> &[Token] {
    match source.iter().position(|token| token.is("{") || token.is(";")) {
        Some(begin) if source[begin].is("{") => &source[begin..begin + length_of_group(&source[begin..])],
        _ => &[],
    }
}

/// Returns the first of the arguments that begin here.
fn first_argument(source: &[Token]) -> &[Token] {
    let mut end = 0;
    while let Some(token) = source.get(end) {
        match token {
            Token::Sign("," | ")") => break,
            Token::Sign("(" | "[" | "{") => end += length_of_group(&source[end..]),
            _ => end += 1,
        }
    }
    &source[..end]
}

/// Returns the token after `=`, if the constant ends with it.
fn value_of_constant(source: &[Token]) -> Option<&Token> {
    let end = source.iter().position(|token| token.is(";"))?;
    match &source[..end] {
        [.., Token::Sign("="), value] => Some(value),
        _ => None,
    }
}

fn is_constant(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

/// Returns the folder in which the modules that a file declares stand.
fn module_folder(file: &Path) -> PathBuf {
    match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib" | "main") | None => file.parent().map(Path::to_owned).unwrap_or_default(),
        Some(_) => file.with_extension(""),
    }
}
