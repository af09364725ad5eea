//! Walks through an expression: every column is looked at, and every subquery handed back to the resolver.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Query, Visit, Visitor,
};
use sqlparser::tokenizer::Location;

use super::{Resolver, Scope, Uses};

impl Resolver<'_> {
    /// Looks at the columns of a part of a query.
    pub(super) fn walk(&mut self, part: &impl Visit, scope: &Scope<'_>, uses: Uses) {
        let mut walk = Walk { resolver: self, scope, uses, skipped: HashSet::new(), inside: 0 };
        let _: ControlFlow<()> = part.visit(&mut walk);
    }
}

/// An expression on the way, and what is known around it.
struct Walk<'r, 'a, 's> {
    resolver: &'r mut Resolver<'a>,
    scope: &'s Scope<'s>,
    uses: Uses,
    /// Where names stand that are no columns.
    skipped: HashSet<Location>,
    /// How many subqueries and other scopes of their own are around the place.
    inside: usize,
}

impl Walk<'_, '_, '_> {
    fn skip(&mut self, expr: &Expr) {
        if let Expr::Identifier(ident) = expr {
            self.skipped.insert(ident.span.start);
        }
    }

    /// Notes the arguments that are names rather than columns: `DATEDIFF(day, a, b)`, `f(name => 1)`.
    fn arguments(&mut self, name: &ObjectName, arguments: &FunctionArguments) {
        let name = name.to_string().to_ascii_lowercase();
        let takes_words = ["date", "time", "extract", "last_day", "next_day", "trunc"];
        let takes_words = takes_words.iter().any(|part| name.contains(part));
        let FunctionArguments::List(list) = arguments else { return };
        for argument in &list.args {
            match argument {
                FunctionArg::ExprNamed { name, .. } => self.skip(name),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if takes_words => self.skip_word(expr),
                _ => {}
            }
        }
    }

    fn skip_word(&mut self, expr: &Expr) {
        const UNITS: [&str; 30] = [
            "year",
            "yyyy",
            "yy",
            "isoyear",
            "quarter",
            "qq",
            "q",
            "month",
            "mm",
            "m",
            "week",
            "wk",
            "ww",
            "isoweek",
            "day",
            "dd",
            "d",
            "dayofyear",
            "dayofweek",
            "weekday",
            "dw",
            "hour",
            "hh",
            "minute",
            "mi",
            "second",
            "ss",
            "millisecond",
            "microsecond",
            "nanosecond",
        ];
        if let Expr::Identifier(ident) = expr
            && UNITS.contains(&ident.value.to_ascii_lowercase().as_str())
        {
            self.skip(expr);
        }
    }
}

impl Visitor for Walk<'_, '_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if self.inside == 0 {
            self.resolver.query(query, Some(self.scope));
        }
        self.inside += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.inside = self.inside.saturating_sub(1);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Lambda(_)) {
            self.inside += 1;
        }
        if self.inside > 0 {
            return ControlFlow::Continue(());
        }
        match expr {
            Expr::Identifier(ident) if !self.skipped.contains(&ident.span.start) => {
                self.resolver.column(ident, self.scope, &self.uses);
            }
            Expr::CompoundIdentifier(idents) => self.resolver.qualified(idents, self.scope),
            Expr::CompoundFieldAccess { access_chain, .. } => {
                for access in access_chain {
                    if let AccessExpr::Dot(field) = access {
                        self.skip(field);
                    }
                }
            }
            Expr::Function(function) => self.arguments(&function.name, &function.args),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Lambda(_)) {
            self.inside = self.inside.saturating_sub(1);
        }
        ControlFlow::Continue(())
    }
}
