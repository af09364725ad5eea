//! Whether every table and column that a query names is there.
//!
//! The resolver follows the scopes of SQL: FROM, aliases, WITH, derived tables, subqueries that use the query around
//! them. Where it is in doubt it says nothing: a table function, a column of a table whose columns are not all known, a
//! word that some dialect gives a meaning. It must never accuse a query that is right; it may miss one that is wrong.

mod lookup;
mod walk;

use std::collections::HashSet;
use std::ops::Range;

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, OrderBy, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement, TableAlias, TableFactor, TableObject,
    TableWithJoins, WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Span;

use super::dialect::Dialect;
use super::schema::{Column, Columns, Schema, parts, path_of};

/// A name that is not there, or is there twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misnamed {
    pub rule: &'static str,
    /// As it was written, with what stands before it.
    pub name: String,
    pub quoted: bool,
    pub span: Span,
    pub message: String,
    pub suggestion: Option<String>,
    pub evidence: Option<String>,
}

/// Something that columns come from.
#[derive(Debug)]
struct Source {
    /// What it is called in the query.
    name: Option<String>,
    columns: Columns,
    shown: String,
}

/// What can be named at a place of a query.
#[derive(Debug, Default)]
struct Scope<'a> {
    sources: Vec<Source>,
    /// Columns that a join made one of.
    merged: HashSet<String>,
    /// All columns of the same name may be one.
    natural: bool,
    /// There may be columns that are not known of.
    open: bool,
    /// Names that the SELECT list gives.
    aliases: HashSet<String>,
    /// Names that its columns have, given or not.
    outputs: HashSet<String>,
    /// Its columns may have other names, which the database makes up.
    unnamed: bool,
    parent: Option<&'a Scope<'a>>,
}

impl Scope<'_> {
    fn is_open(&self) -> bool {
        self.open || self.sources.iter().any(|source| source.columns.open)
    }
}

/// Which names of the SELECT list an expression may use, and which tables.
#[derive(Clone)]
enum Uses {
    Nothing,
    /// A condition of a join: it sees the tables that are joined so far, from this one to that.
    Joined(Range<usize>),
    Aliases,
    Outputs,
}

pub(super) struct Resolver<'a> {
    dialect: Dialect,
    schema: &'a Schema,
    /// The queries of WITH that can be seen, the nearest last.
    shared: Vec<(String, Columns)>,
    found: Vec<Misnamed>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(dialect: Dialect, schema: &'a Schema) -> Self {
        Self { dialect, schema, shared: Vec::new(), found: Vec::new() }
    }

    /// Returns the columns of a query, and says nothing about it.
    pub(super) fn quietly(mut self, query: &Query) -> Columns {
        self.query(query, None)
    }

    /// Finds the names of a statement that are not there.
    pub(super) fn check(mut self, statement: &Statement) -> Vec<Misnamed> {
        self.statement(statement);
        self.found
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Query(query) => drop(self.query(query, None)),
            Statement::Explain { statement, .. } => self.statement(statement),
            Statement::Insert(insert) => {
                if let TableObject::TableName(name) = &insert.table {
                    let columns = self.table(name);
                    for column in
                        insert.columns.iter().filter_map(parts).filter_map(|parts| parts.last().copied())
                    {
                        let key = self.dialect.key(column);
                        if !columns.open && !columns.has(&key) && !self.dialect.knows_word(column) {
                            self.unknown_column(column, &[], &[&columns], &name.to_string());
                        }
                    }
                }
                if let Some(query) = &insert.source {
                    self.query(query, None);
                }
            }
            // The names in other writing statements are the database's to judge.
            _ => {}
        }
    }

    fn query(&mut self, query: &Query, parent: Option<&Scope<'_>>) -> Columns {
        // Operators that follow a query with `|>` change its columns step by step.
        if !query.pipe_operators.is_empty() {
            return Columns::unknown();
        }
        let outer = self.shared.len();
        if let Some(with) = &query.with {
            for shared in &with.cte_tables {
                let name = self.dialect.key(&shared.alias.name);
                let recurses = with.recursive || self.dialect.recurses_without_a_word();
                if recurses {
                    let known = self.renamed(self.plain_outputs(&shared.query.body), Some(&shared.alias));
                    self.shared.push((name.clone(), known));
                }
                let columns = self.query(&shared.query, parent);
                if recurses {
                    self.shared.pop();
                }
                let columns = self.renamed(columns, Some(&shared.alias));
                self.shared.push((name, columns));
            }
        }
        let columns = self.body(&query.body, parent, query.order_by.as_ref());
        self.shared.truncate(outer);
        columns
    }

    /// Tells the columns of a query by its words alone, for one that uses itself.
    fn plain_outputs(&self, body: &SetExpr) -> Columns {
        match body {
            SetExpr::SetOperation { left, .. } => self.plain_outputs(left),
            SetExpr::Select(select) => {
                let is_star = |item: &SelectItem| {
                    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
                };
                if select.projection.iter().any(is_star) {
                    return Columns::unknown();
                }
                self.outputs(select, &Scope::default())
            }
            _ => Columns::unknown(),
        }
    }

    fn body(&mut self, body: &SetExpr, parent: Option<&Scope<'_>>, order: Option<&OrderBy>) -> Columns {
        let columns = match body {
            SetExpr::Select(select) => return self.select(select, parent, order),
            SetExpr::Query(query) => self.query(query, parent),
            SetExpr::SetOperation { left, right, .. } => {
                let mut columns = self.body(left, parent, None);
                let right = self.body(right, parent, None);
                if let Some(order) = order {
                    let mut all = columns.clone();
                    all.names.extend(right.names);
                    all.open |= right.open;
                    self.order_output(order, all, parent);
                }
                columns.open |= right.open;
                return columns;
            }
            SetExpr::Values(values) => {
                let scope = Scope { parent, ..Scope::default() };
                self.walk(&values.rows, &scope, Uses::Nothing);
                Columns::unknown()
            }
            SetExpr::Table(_)
            | SetExpr::Insert(_)
            | SetExpr::Update(_)
            | SetExpr::Delete(_)
            | SetExpr::Merge(_) => Columns::unknown(),
        };
        if let Some(order) = order {
            self.order_output(order, columns.clone(), parent);
        }
        columns
    }

    /// Looks at an ORDER BY that can only use the columns of the result.
    fn order_output(&mut self, order: &OrderBy, columns: Columns, parent: Option<&Scope<'_>>) {
        let source = Source { name: None, columns, shown: "the result".to_owned() };
        let scope = Scope { sources: vec![source], parent, ..Scope::default() };
        self.walk(order, &scope, Uses::Nothing);
    }

    fn select(&mut self, select: &Select, parent: Option<&Scope<'_>>, order: Option<&OrderBy>) -> Columns {
        let mut scope = Scope { parent, open: !select.lateral_views.is_empty(), ..Scope::default() };
        let mut conditions = Vec::new();
        for tables in &select.from {
            self.tables(tables, &mut scope, &mut conditions);
        }
        for item in &select.projection {
            match item {
                SelectItem::ExprWithAlias { alias, .. } => {
                    scope.aliases.insert(self.dialect.key(alias));
                }
                SelectItem::ExprWithAliases { aliases, .. } => {
                    scope.aliases.extend(aliases.iter().map(|alias| self.dialect.key(alias)));
                }
                _ => {}
            }
        }
        let outputs = self.outputs(select, &scope);
        scope.outputs = outputs.names.iter().map(|column| column.key.clone()).collect();
        for item in &select.projection {
            match item {
                // PostgreSQL calls such a column like its function.
                SelectItem::UnnamedExpr(Expr::Function(function)) => {
                    scope.outputs.extend(path_of(self.dialect, &function.name).pop());
                }
                SelectItem::UnnamedExpr(
                    Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_),
                ) => {}
                SelectItem::UnnamedExpr(_) => scope.unnamed = true,
                _ => {}
            }
        }

        for (condition, tables) in conditions {
            self.walk(condition, &scope, Uses::Joined(tables));
        }
        let in_list = if self.dialect.is_strict() { Uses::Nothing } else { Uses::Aliases };
        for item in &select.projection {
            match item {
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    self.star_of(name, &scope);
                }
                SelectItem::UnnamedExpr(expr)
                | SelectItem::ExprWithAlias { expr, .. }
                | SelectItem::ExprWithAliases { expr, .. } => self.walk(expr, &scope, in_list.clone()),
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {}
            }
        }
        let in_where = if self.dialect.has_aliases_in_where() { Uses::Aliases } else { Uses::Nothing };
        self.walk(&select.prewhere, &scope, in_where.clone());
        self.walk(&select.selection, &scope, in_where);
        if let Some(Distinct::On(list)) = &select.distinct {
            self.walk(list, &scope, Uses::Outputs);
        }
        if let GroupByExpr::Expressions(list, _) = &select.group_by {
            self.walk(list, &scope, Uses::Outputs);
        }
        for list in [&select.cluster_by, &select.distribute_by] {
            self.walk(list, &scope, Uses::Outputs);
        }
        self.walk(&select.sort_by, &scope, Uses::Outputs);
        self.walk(&select.having, &scope, Uses::Outputs);
        self.walk(&select.qualify, &scope, Uses::Outputs);
        self.walk(&select.named_window, &scope, Uses::Outputs);
        if let Some(order) = order {
            self.walk(order, &scope, Uses::Outputs);
        }
        outputs
    }

    /// Adds what a part of FROM brings.
    fn tables<'q>(
        &mut self,
        tables: &'q TableWithJoins,
        scope: &mut Scope<'_>,
        conditions: &mut Vec<(&'q Expr, Range<usize>)>,
    ) {
        let first = scope.sources.len();
        self.factor(&tables.relation, scope, conditions, false);
        for join in &tables.joins {
            let before = scope.sources.len();
            let applies = matches!(join.join_operator, JoinOperator::CrossApply | JoinOperator::OuterApply);
            self.factor(&join.relation, scope, conditions, applies);
            match constraint(&join.join_operator) {
                Some(JoinConstraint::On(condition)) => {
                    conditions.push((condition, first..scope.sources.len()))
                }
                Some(JoinConstraint::Using(names)) => {
                    for ident in names.iter().filter_map(parts).filter_map(|parts| parts.last().copied()) {
                        self.shared_column(ident, scope, before);
                    }
                }
                Some(JoinConstraint::Natural) => scope.natural = true,
                _ => {}
            }
            if let JoinOperator::AsOf { match_condition, .. } = &join.join_operator {
                conditions.push((match_condition, first..scope.sources.len()));
            }
            // These join arrays, whose names are columns and tables at once.
            if matches!(
                join.join_operator,
                JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin
            ) {
                scope.open = true;
            }
        }
    }

    /// Looks at a column of USING, which both sides must have.
    fn shared_column(&mut self, ident: &Ident, scope: &mut Scope<'_>, before: usize) {
        let key = self.dialect.key(ident);
        let (left, right) = scope.sources.split_at(before.min(scope.sources.len()));
        for side in [left, right] {
            let lacks = side.iter().all(|source| !source.columns.open && !source.columns.has(&key));
            if lacks && !side.is_empty() {
                let columns: Vec<&Columns> = side.iter().map(|source| &source.columns).collect();
                let shown: Vec<&str> = side.iter().map(|source| source.shown.as_str()).collect();
                self.unknown_column(ident, &[], &columns, &shown.join(", "));
                break;
            }
        }
        scope.merged.insert(key);
    }

    fn factor<'q>(
        &mut self,
        factor: &'q TableFactor,
        scope: &mut Scope<'_>,
        conditions: &mut Vec<(&'q Expr, Range<usize>)>,
        applies: bool,
    ) {
        let (alias, columns, own_name) = match factor {
            TableFactor::Table { name, alias, args: None, json_path: None, .. } => {
                (alias.as_ref(), self.table(name), parts(name).and_then(|parts| parts.last().copied()))
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let sees_others = *lateral || applies || !self.dialect.is_strict();
                let mut columns = if sees_others {
                    self.query(subquery, Some(scope))
                } else {
                    self.query(subquery, scope.parent)
                };
                // Rows that are written out have as many columns as the first has values.
                if let (SetExpr::Values(values), Some(alias)) = (&*subquery.body, alias) {
                    let width = values.rows.first().map_or(usize::MAX, |row| row.len());
                    columns.open = alias.columns.len() < width;
                }
                (alias.as_ref(), columns, None)
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                self.tables(table_with_joins, scope, conditions);
                let Some(alias) = alias else { return };
                (Some(alias), Columns::unknown(), None)
            }
            TableFactor::Pivot { alias, .. }
            | TableFactor::Unpivot { alias, .. }
            | TableFactor::MatchRecognize { alias, .. } => {
                scope.open = true;
                (alias.as_ref(), Columns::unknown(), None)
            }
            TableFactor::Table { name, alias, .. } | TableFactor::Function { name, alias, .. } => {
                (alias.as_ref(), Columns::unknown(), parts(name).and_then(|parts| parts.last().copied()))
            }
            TableFactor::TableFunction { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::JsonTable { alias, .. }
            | TableFactor::OpenJsonTable { alias, .. } => (alias.as_ref(), Columns::unknown(), None),
            _ => {
                scope.open = true;
                return;
            }
        };
        let ident = alias.map(|alias| &alias.name).or(own_name);
        scope.sources.push(Source {
            name: ident.map(|ident| self.dialect.key(ident)),
            shown: ident.map_or_else(|| "the derived table".to_owned(), |ident| ident.value.clone()),
            columns: self.renamed(columns, alias),
        });
    }

    /// Gives columns the names that stand behind an alias; those that get none keep theirs.
    fn renamed(&self, mut columns: Columns, alias: Option<&TableAlias>) -> Columns {
        let names = alias.map_or(&[][..], |alias| &alias.columns);
        if columns.open && !names.is_empty() {
            // Which of them are renamed is not known.
            columns.names.clear();
        }
        for (at, name) in names.iter().enumerate() {
            let column = Column::of(self.dialect, &name.name);
            match columns.names.get_mut(at) {
                Some(old) => *old = column,
                None => columns.names.push(column),
            }
        }
        columns
    }

    /// Returns the columns that a SELECT gives.
    fn outputs(&self, select: &Select, scope: &Scope<'_>) -> Columns {
        let mut columns = Columns { open: select.exclude.is_some(), ..Columns::default() };
        for item in &select.projection {
            match item {
                SelectItem::ExprWithAlias { alias, .. } => {
                    columns.names.push(Column::of(self.dialect, alias))
                }
                SelectItem::UnnamedExpr(Expr::Identifier(ident)) => {
                    columns.names.push(Column::of(self.dialect, ident));
                }
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(idents)) => {
                    columns.names.extend(idents.last().map(|ident| Column::of(self.dialect, ident)));
                }
                SelectItem::Wildcard(options) if is_plain(options) => {
                    for source in &scope.sources {
                        columns.open |= source.columns.open;
                        columns.names.extend(source.columns.names.iter().cloned());
                    }
                    columns.open |= scope.open;
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                    if is_plain(options) =>
                {
                    let key = path_of(self.dialect, name).pop().unwrap_or_default();
                    match self.source(&key, scope) {
                        Some(source) => {
                            columns.open |= source.columns.open;
                            columns.names.extend(source.columns.names.iter().cloned());
                        }
                        None => columns.open = true,
                    }
                }
                // Each database has its own way to name these.
                _ => columns.open = true,
            }
        }
        columns
    }
}

fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    use JoinOperator as Op;
    match operator {
        Op::Join(constraint)
        | Op::Inner(constraint)
        | Op::Left(constraint)
        | Op::LeftOuter(constraint)
        | Op::Right(constraint)
        | Op::RightOuter(constraint)
        | Op::FullOuter(constraint)
        | Op::CrossJoin(constraint)
        | Op::Semi(constraint)
        | Op::LeftSemi(constraint)
        | Op::RightSemi(constraint)
        | Op::Anti(constraint)
        | Op::LeftAnti(constraint)
        | Op::RightAnti(constraint)
        | Op::StraightJoin(constraint)
        | Op::AsOf { constraint, .. } => Some(constraint),
        Op::CrossApply | Op::OuterApply | Op::ArrayJoin | Op::LeftArrayJoin | Op::InnerArrayJoin => None,
    }
}

/// Says whether a star means all columns, under their own names.
fn is_plain(options: &WildcardAdditionalOptions) -> bool {
    options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_alias.is_none()
}
