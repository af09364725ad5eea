//! Finding a name in its scopes, and saying so if it is not there.

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::tokenizer::Span;

use super::{Misnamed, Resolver, Scope, Source, Uses};
use crate::suggest::nearest;
use crate::verify::sql::schema::{Column, Columns, Table, parts, path_of, shown};

impl Resolver<'_> {
    /// Finds a table by its name.
    pub(super) fn table(&mut self, name: &ObjectName) -> Columns {
        let Some(idents) = parts(name) else { return Columns::unknown() };
        let path = path_of(self.dialect, name);
        if let [only] = path.as_slice()
            && let Some((_, columns)) = self.shared.iter().rev().find(|(name, _)| name == only)
        {
            return columns.clone();
        }
        if let Some(table) = self.schema.find(&path) {
            return table.columns.clone();
        }
        let Some(ident) = idents.last() else { return Columns::unknown() };
        if let (Some(word), [_]) = (self.dialect.column_of_word(ident), path.as_slice()) {
            let column = Column { key: word.to_owned(), shown: word.to_owned() };
            return Columns { names: vec![column], open: false, scalar: true };
        }
        if !self.dialect.knows_table(&path, ident.quote_style) {
            let all: Vec<&str> = self.schema.tables.iter().map(|table| table.shown.as_str()).collect();
            let near = self.near_table(ident);
            self.found.push(Misnamed {
                rule: "unknown-table",
                name: name.to_string(),
                quoted: ident.quote_style.is_some(),
                span: span(&idents),
                message: format!("there is no table `{}`", shown(name)),
                suggestion: near.map(|near| format!("did you mean `{near}`?")),
                evidence: (!all.is_empty() && all.len() <= 40).then(|| format!("tables: {}", all.join(", "))),
            });
        }
        Columns::unknown()
    }

    fn near_table(&self, ident: &Ident) -> Option<String> {
        let shared = self.shared.iter().map(|(name, _)| name.as_str());
        let tables = || self.schema.tables.iter();
        let near = nearest(&ident.value, tables().map(Table::last).chain(shared)).or_else(|| {
            tables()
                .find(|table| table.last().eq_ignore_ascii_case(&ident.value))
                .map(|table| table.last().to_owned())
        })?;
        Some(tables().find(|table| table.last() == near).map_or(near, |table| table.shown.clone()))
    }

    /// Looks at `t.*`.
    pub(super) fn star_of(&mut self, name: &ObjectName, scope: &Scope<'_>) {
        let Some(idents) = parts(name) else { return };
        if let Some(last) = idents.last()
            && self.source(&self.dialect.key(last), scope).is_none()
        {
            self.unknown_source(&idents, scope);
        }
    }

    pub(super) fn source<'s>(&self, key: &str, scope: &'s Scope<'s>) -> Option<&'s Source> {
        let mut next = Some(scope);
        while let Some(scope) = next {
            if let Some(source) = scope.sources.iter().find(|source| source.name.as_deref() == Some(key)) {
                return Some(source);
            }
            next = scope.parent;
        }
        None
    }

    /// Looks at a column that is named alone.
    pub(super) fn column(&mut self, ident: &Ident, scope: &Scope<'_>, uses: &Uses) {
        let key = self.dialect.key(ident);
        if self.dialect.knows_word(ident) {
            return;
        }
        let mut all = Vec::new();
        let mut next = Some(scope);
        while let Some(here) = next {
            let is_output = match uses {
                Uses::Nothing | Uses::Joined(_) => false,
                Uses::Aliases => here.aliases.contains(&key),
                Uses::Outputs => here.unnamed || here.outputs.contains(&key) || here.aliases.contains(&key),
            };
            let owners: Vec<(usize, &Source)> =
                here.sources.iter().enumerate().filter(|(_, source)| source.columns.has(&key)).collect();
            let is_joined = |at: &usize| match uses {
                Uses::Joined(tables) => tables.contains(at),
                _ => true,
            };
            let seen: Vec<&Source> =
                owners.iter().filter(|(at, _)| is_joined(at)).map(|(_, source)| *source).collect();
            // Which tables of the query around it a subquery sees depends on where it stands.
            if let [first, second, ..] = seen.as_slice()
                && std::ptr::eq(here, scope)
                && !is_output
                && !here.natural
                && !here.merged.contains(&key)
            {
                let owners = format!("`{}` and `{}`", first.shown, second.shown);
                self.found.push(Misnamed {
                    rule: "ambiguous-column",
                    name: ident.value.clone(),
                    quoted: ident.quote_style.is_some(),
                    span: ident.span,
                    message: format!("`{}` could be a column of {owners}", ident.value),
                    suggestion: Some(format!("write `{}.{}`", first.shown, ident.value)),
                    evidence: None,
                });
                return;
            }
            // The name of a table can stand for its rows.
            let is_row = here.sources.iter().any(|source| source.name.as_deref() == Some(&key));
            if !owners.is_empty() || is_output || is_row || here.is_open() {
                return;
            }
            all.extend(here.sources.iter());
            next = here.parent;
        }
        let columns: Vec<&Columns> = all.iter().map(|source| &source.columns).collect();
        let shown: Vec<&str> = all.iter().map(|source| source.shown.as_str()).collect();
        let before = self.found.len();
        self.unknown_column(ident, &[], &columns, &shown.join(", "));
        if scope.aliases.contains(&key)
            && let Some(found) = self.found.get_mut(before)
        {
            found.suggestion = Some(format!(
                "`{}` is a name of the SELECT list, which cannot be used here: repeat its expression, or use a subquery",
                ident.value
            ));
        }
    }

    /// Looks at a column that is named together with its table.
    pub(super) fn qualified(&mut self, idents: &[Ident], scope: &Scope<'_>) {
        let [before @ .., column] = idents else { return };
        let Some(table) = before.last() else { return };
        let key = self.dialect.key(column);
        match self.source(&self.dialect.key(table), scope) {
            Some(source) => {
                if !source.columns.open
                    && !source.columns.scalar
                    && !source.columns.has(&key)
                    && !self.dialect.knows_attribute(column)
                {
                    let (columns, shown) = (source.columns.clone(), source.shown.clone());
                    self.unknown_column(column, before, &[&columns], &shown);
                }
            }
            None if self.dialect.knows_attribute(column) => {}
            None => self.unknown_source(&before.iter().collect::<Vec<_>>(), scope),
        }
    }

    /// Looks at what stands before a dot and is no table of the query.
    fn unknown_source(&mut self, idents: &[&Ident], scope: &Scope<'_>) {
        let Some((first, last)) = idents.first().zip(idents.last()) else { return };
        let key = self.dialect.key(first);
        let mut known = Vec::new();
        let mut next = Some(scope);
        while let Some(here) = next {
            // A column can have parts of its own, and some tables have names that are not written down.
            let has_parts = here.sources.iter().any(|source| source.columns.has(&key));
            let is_doubtful = here.open || here.sources.iter().any(|source| source.name.is_none());
            let is_open = !self.dialect.is_strict() && here.is_open();
            if has_parts || is_doubtful || is_open {
                return;
            }
            known.extend(here.sources.iter().map(|source| source.shown.clone()));
            next = here.parent;
        }
        let word = last.value.to_ascii_lowercase();
        if self.dialect.knows_word(first) || ["new", "old", "inserted", "deleted"].contains(&word.as_str()) {
            return;
        }
        let near = nearest(&last.value, known.iter().map(String::as_str));
        self.found.push(Misnamed {
            rule: "unknown-table",
            name: last.value.clone(),
            quoted: last.quote_style.is_some(),
            span: span(idents),
            message: format!("`{}` is not a table of this query", last.value),
            suggestion: near.map(|near| format!("did you mean `{near}`?")),
            evidence: (!known.is_empty()).then(|| format!("tables of the query: {}", known.join(", "))),
        });
    }

    pub(super) fn unknown_column(&mut self, ident: &Ident, before: &[Ident], columns: &[&Columns], of: &str) {
        let known: Vec<&str> =
            columns.iter().flat_map(|columns| &columns.names).map(|column| column.shown.as_str()).collect();
        let near = nearest(&ident.value, known.iter().copied())
            .or_else(|| nearest(&ident.value.to_ascii_lowercase(), known.iter().copied()));
        let key = self.dialect.key(ident);
        let owner = || {
            let table = self.schema.tables.iter().find(|table| table.columns.has(&key))?;
            Some(format!("`{}` is a column of `{}`", ident.value, table.shown))
        };
        // One of exactly that name elsewhere is a better guess than one that only looks like it.
        let suggestion = owner().or_else(|| near.map(|near| format!("did you mean `{near}`?")));
        let names = || before.iter().chain([ident]);
        self.found.push(Misnamed {
            rule: "unknown-column",
            name: names().map(|ident| ident.value.as_str()).collect::<Vec<_>>().join("."),
            quoted: ident.quote_style.is_some() && before.is_empty(),
            span: span(&names().collect::<Vec<_>>()),
            message: match of {
                "" => format!("there is no column `{}`", ident.value),
                of => format!("there is no column `{}` in {of}", ident.value),
            },
            suggestion,
            evidence: (!known.is_empty() && known.len() <= 60)
                .then(|| format!("columns: {}", known.join(", "))),
        });
    }
}

/// Returns where names stand, from the first to the last.
fn span(idents: &[&Ident]) -> Span {
    match idents {
        [] => Span::empty(),
        [first, .., last] => Span::new(first.span.start, last.span.end),
        [only] => only.span,
    }
}
