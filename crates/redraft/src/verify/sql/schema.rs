//! Which tables there are, and which columns each has.
//!
//! What is not understood in a schema is never taken for absent: a table whose columns are in doubt is *open*, and
//! nothing is said about its columns.

use rusqlite::Connection;
use sqlparser::ast::{AlterTableOperation, CreateTable, Ident, ObjectName, RenameTableNameKind, Statement};

use super::dialect::Dialect;
use super::names::Resolver;

/// The columns of a table or of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    pub names: Vec<Column>,
    /// There may be others.
    pub open: bool,
    /// It is a single value, and a name behind its dot may be a function.
    pub scalar: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// What it is compared by.
    pub key: String,
    /// As it was written.
    pub shown: String,
}

impl Column {
    pub(super) fn of(dialect: Dialect, ident: &Ident) -> Self {
        Self { key: dialect.key(ident), shown: ident.value.clone() }
    }
}

impl Columns {
    pub(super) fn unknown() -> Self {
        Self { open: true, ..Self::default() }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.names.iter().any(|column| column.key == key)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Its name, after those of the schemas it is in.
    pub path: Vec<String>,
    /// The whole of it, as it was written.
    pub shown: String,
    pub columns: Columns,
}

/// The tables and views there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Schema {
    pub tables: Vec<Table>,
}

/// Returns the names a path is made of, or nothing if a part of it is computed.
pub(super) fn parts(name: &ObjectName) -> Option<Vec<&Ident>> {
    name.0.iter().map(|part| part.as_ident()).collect()
}

impl Schema {
    /// Reads the schema that a SQLite database has.
    pub(super) fn of_database(connection: &Connection) -> rusqlite::Result<Self> {
        let mut names = connection.prepare(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY type = 'view', rowid",
        )?;
        let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let mut columns = connection.prepare("SELECT name FROM pragma_table_xinfo(?1)")?;
        let mut schema = Self::default();
        for name in names.into_iter().filter(|name| !name.starts_with("sqlite_")) {
            // A view that no longer fits its tables has no columns that could be asked for.
            let found: rusqlite::Result<Vec<String>> =
                columns.query_map([&name], |row| row.get(0)).and_then(Iterator::collect);
            let columns = found.map_or_else(
                |_| Columns::unknown(),
                |found| Columns {
                    names: found
                        .into_iter()
                        .map(|shown| Column { key: shown.to_ascii_lowercase(), shown })
                        .collect(),
                    ..Columns::default()
                },
            );
            schema.tables.push(Table { path: vec![name.to_ascii_lowercase()], shown: name, columns });
        }
        Ok(schema)
    }

    /// Reads the schema that statements make.
    pub(super) fn of_statements(dialect: Dialect, statements: &[Statement]) -> Self {
        let mut schema = Self::default();
        for statement in statements {
            schema.apply(dialect, statement);
        }
        schema
    }

    /// Finds a table. A name without its schema fits a table of any, and the reverse.
    pub(super) fn find(&self, path: &[String]) -> Option<&Table> {
        self.tables.iter().find(|table| fits(&table.path, path))
    }

    /// Does what a statement does to the schema; others than those on tables and views do nothing.
    pub(super) fn apply(&mut self, dialect: Dialect, statement: &Statement) {
        match statement {
            Statement::CreateTable(create) => {
                let columns = self.columns_of(dialect, create);
                self.put(dialect, &create.name, columns);
            }
            Statement::CreateView(view) => {
                let mut columns = Resolver::new(dialect, self).quietly(&view.query);
                if !view.columns.is_empty() {
                    let names = view.columns.iter().map(|column| Column::of(dialect, &column.name)).collect();
                    columns = Columns { names, ..Columns::default() };
                }
                self.put(dialect, &view.name, columns);
            }
            Statement::CreateVirtualTable { name, .. } => self.put(dialect, name, Columns::unknown()),
            Statement::AlterTable(alter) => {
                let path = path_of(dialect, &alter.name);
                let Some(table) = self.tables.iter_mut().find(|table| fits(&table.path, &path)) else {
                    return;
                };
                for operation in &alter.operations {
                    table.alter(dialect, operation);
                }
            }
            Statement::Drop { names, .. } => {
                for name in names {
                    let path = path_of(dialect, name);
                    self.tables.retain(|table| !fits(&table.path, &path));
                }
            }
            _ => {}
        }
    }

    fn columns_of(&self, dialect: Dialect, create: &CreateTable) -> Columns {
        let mut columns = Columns {
            names: create.columns.iter().map(|column| Column::of(dialect, &column.name)).collect(),
            open: create.like.is_some()
                || create.clone.is_some()
                || create.inherits.is_some()
                || create.partition_of.is_some(),
            scalar: false,
        };
        if let Some(query) = &create.query
            && columns.names.is_empty()
        {
            columns = Resolver::new(dialect, self).quietly(query);
        }
        // An external table gets its columns from a file.
        columns.open |= columns.names.is_empty();
        columns
    }

    fn put(&mut self, dialect: Dialect, name: &ObjectName, columns: Columns) {
        let path = path_of(dialect, name);
        self.tables.retain(|table| table.path != path);
        self.tables.push(Table { path, shown: shown(name), columns });
    }

    /// Writes each table with its columns, for whoever writes a query.
    pub(super) fn shown(&self) -> String {
        let table = |table: &Table| {
            let mut columns: Vec<&str> =
                table.columns.names.iter().map(|column| column.shown.as_str()).collect();
            if table.columns.open {
                columns.push("…");
            }
            format!("{}({})", table.shown, columns.join(", "))
        };
        self.tables.iter().map(table).collect::<Vec<_>>().join(", ")
    }
}

impl Table {
    /// Returns its name without those of the schemas it is in.
    pub(super) fn last(&self) -> &str {
        self.shown.rsplit('.').next().unwrap_or(&self.shown)
    }

    fn alter(&mut self, dialect: Dialect, operation: &AlterTableOperation) {
        let names = &mut self.columns.names;
        match operation {
            AlterTableOperation::AddColumn { column_def, .. } => {
                names.push(Column::of(dialect, &column_def.name))
            }
            AlterTableOperation::DropColumn { column_names, .. } => {
                let gone: Vec<String> = column_names.iter().map(|name| dialect.key(name)).collect();
                names.retain(|column| !gone.contains(&column.key));
            }
            AlterTableOperation::RenameColumn { old_column_name: old, new_column_name: new }
            | AlterTableOperation::ChangeColumn { old_name: old, new_name: new, .. } => {
                let old = dialect.key(old);
                for column in names.iter_mut().filter(|column| column.key == old) {
                    *column = Column::of(dialect, new);
                }
            }
            AlterTableOperation::RenameTable {
                table_name: RenameTableNameKind::To(name) | RenameTableNameKind::As(name),
            } => {
                self.path = path_of(dialect, name);
                self.shown = shown(name);
            }
            _ => {}
        }
    }
}

/// Writes a name without its quotes.
pub(super) fn shown(name: &ObjectName) -> String {
    let parts: Vec<&str> = parts(name).unwrap_or_default().iter().map(|ident| ident.value.as_str()).collect();
    parts.join(".")
}

pub(super) fn path_of(dialect: Dialect, name: &ObjectName) -> Vec<String> {
    parts(name).unwrap_or_default().into_iter().map(|ident| dialect.key(ident)).collect()
}

/// Says whether two paths end alike, as far as both reach.
fn fits(a: &[String], b: &[String]) -> bool {
    !a.is_empty() && !b.is_empty() && a.iter().rev().zip(b.iter().rev()).all(|(a, b)| a == b)
}
