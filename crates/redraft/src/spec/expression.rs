//! Expressions that decide what is accepted, in the Common Expression Language.
//!
//! They are checked before anything is paid: the grammar, every name, and by trying them on drafts that never were,
//! whether they give yes or no. What still goes wrong when a real draft is judged counts as "not accepted" and is said.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::{Context, ExecutionError, Program, Value};

use crate::refine::{Accept, Iteration};
use crate::suggest::nearest;
use crate::verify::Severity;

/// What an expression can speak of.
pub(super) const VARIABLES: [&str; 7] =
    ["score", "findings", "gates_passed", "gates", "iteration", "verdicts", "text"];

/// What an expression can call. Operators have names that are no words.
const FUNCTIONS: [&str; 14] = [
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "string",
    "int",
    "uint",
    "double",
    "bool",
    "max",
    "min",
    "has",
    "type",
];

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) message: String,
    /// The word it is about, where there is one.
    pub(super) word: Option<String>,
    pub(super) did_you_mean: Option<String>,
    pub(super) expected: Vec<String>,
    /// Line and column, counted from 1, where the grammar knows.
    pub(super) at: Option<(usize, usize)>,
}

/// What went wrong when drafts were judged by an expression.
pub(super) type Troubles = Arc<Mutex<Vec<String>>>;

/// Finds everything that is wrong with an expression.
pub(super) fn check(expression: &str, verifiers: &[String]) -> Vec<Wrong> {
    let program = match Program::compile(expression) {
        Ok(program) => program,
        Err(errors) => return errors.errors.iter().map(unreadable).collect(),
    };
    let mut names = Names::default();
    names.collect(program.expression(), &mut Vec::new());
    let known = names.variables.iter().filter(|name| !VARIABLES.contains(&name.as_str()));
    let mut wrong: Vec<Wrong> = known.map(|name| unknown("variable", name, &VARIABLES)).collect();
    let called = names.functions.iter().filter(|name| !FUNCTIONS.contains(&name.as_str()));
    wrong.extend(called.map(|name| unknown("function", name, &FUNCTIONS)));
    if wrong.is_empty() {
        wrong.extend(tried(&program, verifiers));
    }
    wrong
}

/// Makes the rule of acceptance that an expression stands for. What goes wrong is added to `troubles`.
pub(super) fn accept(expression: &str, troubles: &Troubles) -> Result<Accept, String> {
    let program = Program::compile(expression).map_err(|errors| errors.to_string())?;
    let troubles = Arc::clone(troubles);
    let holds = move |iteration: &Iteration| {
        let said = program.execute(&context(&Seen::of(iteration)));
        let trouble = match said {
            Ok(Value::Bool(holds)) => return holds,
            Ok(other) => format!("it gave {} and not yes or no", sort(&other)),
            Err(error) => words(&error),
        };
        let trouble = format!(
            "the draft of iteration {} was not accepted because `accept` could not be computed: {trouble}",
            iteration.n
        );
        let mut troubles = troubles.lock().unwrap_or_else(PoisonError::into_inner);
        // A replay looks at the same drafts again.
        if !troubles.contains(&trouble) {
            troubles.push(trouble);
        }
        false
    };
    Ok(Accept::When(expression.to_owned(), Arc::new(holds)))
}

fn unreadable(error: &cel::ParseError) -> Wrong {
    let at = usize::try_from(error.pos.0).ok().zip(usize::try_from(error.pos.1).ok());
    let words = error.msg.trim_start_matches("Syntax error: ");
    // What could follow is every sort of token; it says nothing.
    let words = words.split(" expecting ").next().unwrap_or(words);
    let words = if words.contains("<EOF>") { "it ends too early" } else { words };
    let message = format!("the expression cannot be read: {words}");
    Wrong { message, word: None, did_you_mean: None, expected: Vec::new(), at }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> Wrong {
    Wrong {
        message: format!("there is no {what} `{name}` in expressions"),
        word: Some(name.to_owned()),
        did_you_mean: nearest(name, known.iter().copied()),
        expected: known.iter().map(|word| (*word).to_owned()).collect(),
        at: None,
    }
}

/// Tries an expression on drafts that never were. One that fails on all of them will never accept anything.
fn tried(program: &Program, verifiers: &[String]) -> Option<Wrong> {
    let wrong = |message| Wrong { message, word: None, did_you_mean: None, expected: Vec::new(), at: None };
    let mut failed = Vec::new();
    let samples = Seen::samples(verifiers);
    for sample in &samples {
        match program.execute(&context(sample)) {
            Ok(Value::Bool(_)) => {}
            Ok(other) => {
                let given = sort(&other);
                return Some(wrong(format!("the expression gives {given}; it must give true or false")));
            }
            Err(error) => failed.push(error),
        }
    }
    let error = failed.pop().filter(|_| failed.len() + 1 == samples.len())?;
    let found = wrong(format!("the expression cannot be computed: {}", words(&error)));
    let ExecutionError::NoSuchKey(key) = error else { return Some(found) };
    let fields = samples[0].findings.iter().flatten().map(|(field, _)| *field);
    let did_you_mean = nearest(&key, verifiers.iter().map(String::as_str).chain(fields));
    Some(Wrong { word: Some(key.to_string()), did_you_mean, expected: verifiers.to_vec(), ..found })
}

fn words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("there is no `{key}`"),
        ExecutionError::IndexOutOfBounds(_) => "a list is shorter than that".to_owned(),
        ExecutionError::UndeclaredReference(name) => format!("there is no `{name}`"),
        ExecutionError::ValuesNotComparable(a, b) => {
            format!("{} cannot be compared with {}", sort(a), sort(b))
        }
        other => {
            let text = other.to_string();
            let mut letters = text.chars();
            letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
        }
    }
}

fn sort(value: &Value) -> &'static str {
    match value {
        Value::List(_) => "a list",
        Value::Map(_) => "a table",
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => "a number",
        Value::String(_) => "a text",
        Value::Bool(_) => "true or false",
        Value::Null => "nothing",
        _ => "something else",
    }
}

/// What an expression sees of a draft.
#[derive(Default)]
struct Seen {
    score: f64,
    gates_passed: u32,
    gates: u32,
    iteration: u32,
    text: String,
    verdicts: Vec<(String, Option<f64>)>,
    findings: Vec<[(&'static str, String); 6]>,
}

impl Seen {
    fn of(iteration: &Iteration) -> Self {
        let word = |value: serde_json::Result<serde_json::Value>| {
            value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
        };
        let findings = iteration.open().map(|finding| {
            [
                ("id", finding.id.to_string()),
                ("verifier", finding.verifier.clone()),
                ("rule", finding.rule.clone()),
                ("severity", word(serde_json::to_value(finding.severity))),
                ("message", finding.message.clone()),
                ("status", word(serde_json::to_value(finding.status))),
            ]
        });
        Self {
            score: iteration.score,
            gates_passed: iteration.gates_passed,
            gates: iteration.gates,
            iteration: iteration.n,
            text: iteration.text.clone(),
            verdicts: iteration.verdicts.iter().map(|said| (said.verifier.clone(), said.score)).collect(),
            findings: findings.collect(),
        }
    }

    /// A poor draft, a middling one and a perfect one.
    fn samples(verifiers: &[String]) -> [Self; 3] {
        let finding = |severity: Severity| {
            let severity = serde_json::to_value(severity).unwrap_or_default();
            let severity = severity.as_str().unwrap_or_default().to_owned();
            let verifier = verifiers.first().cloned().unwrap_or_default();
            [
                ("id", "f_0".to_owned()),
                ("verifier", verifier),
                ("rule", "rule".to_owned()),
                ("severity", severity),
                ("message", "a message".to_owned()),
                ("status", "open".to_owned()),
            ]
        };
        let draft = |score: f64, iteration, findings| Self {
            score,
            gates_passed: u32::from(score > 0.0),
            gates: 1,
            iteration,
            text: "a draft".to_owned(),
            verdicts: verifiers.iter().map(|name| (name.clone(), Some(score))).collect(),
            findings,
        };
        [
            draft(0.0, 1, vec![finding(Severity::Blocking), finding(Severity::Minor)]),
            draft(0.5, 2, vec![finding(Severity::Major)]),
            draft(1.0, 3, Vec::new()),
        ]
    }
}

fn context(seen: &Seen) -> Context<'static, 'static> {
    let mut context = Context::default();
    let findings: Vec<Value> = seen
        .findings
        .iter()
        .map(|finding| {
            let finding: HashMap<String, Value> =
                finding.iter().map(|(key, value)| ((*key).to_owned(), Value::from(value.as_str()))).collect();
            Value::from(finding)
        })
        .collect();
    let verdicts: HashMap<String, Value> = seen
        .verdicts
        .iter()
        .map(|(name, score)| (name.clone(), score.map_or(Value::Null, Value::Float)))
        .collect();
    context.add_variable_from_value("score", Value::Float(seen.score));
    context.add_variable_from_value("gates_passed", Value::Int(seen.gates_passed.into()));
    context.add_variable_from_value("gates", Value::Int(seen.gates.into()));
    context.add_variable_from_value("iteration", Value::Int(seen.iteration.into()));
    context.add_variable_from_value("text", Value::from(seen.text.as_str()));
    context.add_variable_from_value("verdicts", Value::from(verdicts));
    context.add_variable_from_value("findings", Value::from(findings));
    context
}

/// The names that an expression uses and does not bring itself.
#[derive(Default)]
struct Names {
    variables: BTreeSet<String>,
    functions: BTreeSet<String>,
}

impl Names {
    fn collect(&mut self, expression: &IdedExpr, bound: &mut Vec<String>) {
        match &expression.expr {
            Expr::Ident(name) if !name.starts_with('@') && !bound.contains(name) => {
                self.variables.insert(name.clone());
            }
            Expr::Call(call) => {
                if call.func_name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                    self.functions.insert(call.func_name.clone());
                }
                call.target.iter().for_each(|target| self.collect(target, bound));
                call.args.iter().for_each(|argument| self.collect(argument, bound));
            }
            Expr::Comprehension(inner) => {
                self.collect(&inner.iter_range, bound);
                self.collect(&inner.accu_init, bound);
                let before = bound.len();
                bound.push(inner.iter_var.clone());
                bound.extend(inner.iter_var2.clone());
                bound.push(inner.accu_var.clone());
                self.collect(&inner.loop_cond, bound);
                self.collect(&inner.loop_step, bound);
                self.collect(&inner.result, bound);
                bound.truncate(before);
            }
            Expr::List(list) => list.elements.iter().for_each(|element| self.collect(element, bound)),
            Expr::Select(select) => self.collect(&select.operand, bound),
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.collect(&entry.key, bound);
                        self.collect(&entry.value, bound);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(expression: &str) -> Vec<String> {
        check(expression, &["quality".to_owned()]).into_iter().map(|wrong| wrong.message).collect()
    }

    #[test]
    fn what_can_be_computed_is_let_through() {
        for expression in [
            "score >= 0.8 && findings.size() == 0",
            "score >= 1",
            "size(findings) < 3 || iteration > 2",
            "findings.all(f, f.severity != 'blocking')",
            "!findings.exists(f, f.rule == 'x' && f.status == 'open')",
            "verdicts['quality'] > 0.5",
            "verdicts.quality > 0.5 && gates_passed == gates",
            "text.contains('draft') && text.size() > 3",
            "has(verdicts.other) && verdicts.other > 0.5 || score > 0.9",
            "findings.filter(f, f.severity == 'major').size() <= 1",
            "findings.size() > 0 && findings[0].severity == 'minor'",
        ] {
            assert_eq!(messages(expression), [""; 0], "{expression}");
        }
    }

    #[test]
    fn what_cannot_is_said_before_anything_is_paid() {
        for (expression, message) in [
            ("scroe > 0.8 && itration > 1", "there is no variable `itration` in expressions"),
            ("score + 1.0", "the expression gives a number; it must give true or false"),
            ("findings", "the expression gives a list; it must give true or false"),
            ("sise(findings) == 0", "there is no function `sise` in expressions"),
            ("verdicts.qualty > 0.5", "the expression cannot be computed: there is no `qualty`"),
            ("findings.all(f, f.severity == x)", "there is no variable `x` in expressions"),
        ] {
            assert_eq!(messages(expression)[0], message, "{expression}");
        }
        assert!(messages("score >=")[0].starts_with("the expression cannot be read"));
        assert!(messages("score > 'high'")[0].starts_with("the expression cannot be computed"));
        assert_eq!(messages("scroe > 0.8 && itration > 1").len(), 2);
    }
}
