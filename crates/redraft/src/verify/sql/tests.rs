//! Queries as data: what is right in which dialect, and what is found where.

use std::fmt::Write as _;
use std::fs;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const SHOP: &str = "
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER, total NUMERIC, placed DATE);
CREATE TABLE \"Odd Names\" (\"First Name\" TEXT, \"select\" INTEGER);
CREATE VIEW big AS SELECT o.id AS order_id, o.total, u.name FROM orders o JOIN users u ON u.id = o.user_id;
INSERT INTO users VALUES (1, 'Ada', 'ada@example.org'), (2, 'Bob', NULL), (3, 'Cy', 'cy@example.org');
INSERT INTO orders VALUES (1, 1, 10, '2024-01-01'), (2, 1, 2.5, '2024-01-02'), (3, 2, 7, '2024-02-01');
";

/// The same tables, for those that cannot read SQLite's.
const PLAIN: &str = "
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER, total NUMERIC, placed DATE);
CREATE VIEW big AS SELECT o.id AS order_id, o.total, u.name FROM orders o JOIN users u ON u.id = o.user_id;
";

fn sqlite() -> Settings {
    Settings { dialect: Some(Dialect::Sqlite), schema: Some(SHOP.to_owned()), ..Settings::default() }
}

fn other(dialect: Dialect) -> Settings {
    Settings { dialect: Some(dialect), schema: Some(PLAIN.to_owned()), ..Settings::default() }
}

fn run(expect: Value) -> Settings {
    Settings { run: true, expect: Some(serde_json::from_value(expect).unwrap()), ..sqlite() }
}

/// Writes findings a line each: rule, place, message, and the suggestion if there is one.
fn written(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|finding| {
            let place = match &finding.place {
                Some(crate::verify::Place::Span { start, .. }) => start.to_string(),
                _ => "-".to_owned(),
            };
            let mut line = format!("{} @ {place} {}", finding.rule, finding.message);
            if let Some(suggestion) = &finding.suggestion {
                let _ = write!(line, " => {suggestion}");
            }
            line
        })
        .collect()
}

#[track_caller]
fn check(settings: &Settings, draft: &str, expected: &[&str]) {
    let verdict = Sql::new(settings.clone()).unwrap().check(draft).unwrap();
    assert_eq!(written(&verdict.findings), expected, "{draft}");
}

#[track_caller]
fn check_all(settings: &Settings, cases: &[(&str, &[&str])]) {
    for (draft, expected) in cases {
        check(settings, draft, expected);
    }
}

/// Queries that are right in every dialect.
const RIGHT: [&str; 34] = [
    "SELECT id, name FROM users",
    "SELECT * FROM users u WHERE u.id = 1",
    "SELECT u.* FROM users AS u",
    "SELECT USERS.NAME FROM Users",
    "SELECT u.name, o.total FROM users u JOIN orders o ON o.user_id = u.id",
    "SELECT name, total FROM users JOIN orders ON users.id = orders.user_id",
    "SELECT u.id FROM users u JOIN orders o ON u.id = o.user_id ORDER BY u.id",
    "SELECT id FROM users JOIN orders USING (id)",
    "SELECT name AS n FROM users ORDER BY n",
    "SELECT name, count(*) AS n FROM users GROUP BY name HAVING count(*) > 1 ORDER BY n DESC",
    "SELECT order_id, total, name FROM big",
    "WITH rich AS (SELECT user_id, sum(total) AS s FROM orders GROUP BY user_id) SELECT s FROM rich",
    "WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT x, y FROM a, b",
    "WITH t(n, m) AS (SELECT id, name FROM users) SELECT n, m FROM t",
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n FROM c",
    "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n FROM c",
    "SELECT d.n FROM (SELECT name AS n FROM users) AS d",
    "SELECT x.id FROM (SELECT * FROM users) AS x WHERE x.email IS NULL",
    "SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM orders o WHERE o.user_id = u.id)",
    "SELECT name, (SELECT max(total) FROM orders WHERE user_id = users.id) AS m FROM users",
    "SELECT name FROM users WHERE id IN (SELECT user_id FROM orders WHERE total > 5)",
    "SELECT id FROM users UNION SELECT user_id FROM orders ORDER BY id",
    "SELECT CASE WHEN total > 5 THEN 'big' ELSE 'small' END FROM orders",
    "SELECT CURRENT_TIMESTAMP",
    "SELECT name, row_number() OVER (PARTITION BY email ORDER BY id) AS r FROM users",
    "SELECT sum(total) OVER w FROM orders WINDOW w AS (PARTITION BY user_id)",
    "SELECT a.id FROM users a, users b WHERE a.id < b.id",
    "SELECT u.name FROM users u LEFT JOIN (SELECT user_id, count(*) AS n FROM orders GROUP BY user_id) o ON o.user_id = u.id WHERE o.n IS NULL",
    "VALUES (1, 'a'), (2, 'b')",
    "SELECT coalesce(email, name) FROM users WHERE name LIKE 'A%' AND id BETWEEN 1 AND 9",
    "SELECT CAST(total AS INTEGER) FROM orders -- a comment\n;",
    "SELECT count(DISTINCT user_id) FROM orders WHERE placed > '2024-01-01' LIMIT 3",
    "SELECT n FROM (SELECT id AS n FROM users UNION ALL SELECT id FROM orders) AS both_of_them",
    "SELECT id FROM users WHERE id = (SELECT min(o.id) FROM orders o WHERE o.user_id IN (SELECT id FROM users WHERE o.total > 1))",
];

#[test]
fn no_query_that_is_right_is_accused() {
    for query in RIGHT {
        check(&sqlite(), query, &[]);
        for dialect in [
            Dialect::Generic,
            Dialect::Ansi,
            Dialect::Postgres,
            Dialect::Mysql,
            Dialect::Mssql,
            Dialect::Duckdb,
        ] {
            let is_foreign =
                dialect == Dialect::Mssql && (query.contains("LIMIT") || query.contains("WINDOW w"));
            if !is_foreign {
                check(&other(dialect), query, &[]);
            }
        }
    }
}

#[test]
fn what_only_one_dialect_knows_is_not_accused() {
    for (dialect, query) in [
        (Dialect::Postgres, "SELECT u FROM users u"),
        (Dialect::Postgres, "SELECT \"name\" FROM \"users\""),
        (Dialect::Postgres, "SELECT x.v FROM users u, LATERAL (SELECT u.id AS v) x"),
        (Dialect::Postgres, "SELECT g FROM generate_series(1, 3) AS g"),
        (Dialect::Postgres, "SELECT table_name FROM information_schema.tables"),
        (Dialect::Postgres, "SELECT u.count, user FROM users u, user"),
        (Dialect::Postgres, "SELECT k, e.v FROM (VALUES (1, 'a')) AS e(k, v)"),
        (Dialect::Postgres, "SELECT count(*) FROM users ORDER BY count"),
        (Dialect::Postgres, "SELECT (SELECT 1 AS s) FROM users ORDER BY s"),
        (
            Dialect::Postgres,
            "SELECT u.id FROM users u JOIN orders o ON name IS NULL JOIN big b ON b.total = o.total",
        ),
        (Dialect::Postgres, "SELECT ctid, name FROM users"),
        (Dialect::Postgres, "SELECT date_trunc('day', placed) AS day, sum(total) FROM orders GROUP BY day"),
        (
            Dialect::Postgres,
            "SELECT DISTINCT ON (user_id) user_id, total FROM app.orders ORDER BY user_id, placed",
        ),
        (Dialect::Postgres, "SELECT name FROM users NATURAL JOIN orders WHERE id > 1"),
        (Dialect::Mysql, "SELECT `name` FROM `users` WHERE name = \"Ada\""),
        (Dialect::Mysql, "SELECT total AS t FROM orders HAVING t > 1"),
        (Dialect::Mysql, "SELECT @total, TIMESTAMPDIFF(MONTH, placed, NOW()) FROM orders"),
        (Dialect::Mssql, "SELECT TOP 3 [name] FROM [users]"),
        (Dialect::Mssql, "SELECT DATEDIFF(day, placed, GETDATE()) FROM orders"),
        (
            Dialect::Mssql,
            "SELECT u.name, x.t FROM users u CROSS APPLY (SELECT max(total) AS t FROM orders o WHERE o.user_id = u.id) x",
        ),
        (Dialect::Snowflake, "SELECT total * 2 AS twice, twice + 1 FROM orders WHERE twice > 3"),
        (Dialect::Bigquery, "SELECT x FROM UNNEST([1, 2]) AS x"),
        (Dialect::Duckdb, "SELECT list_transform([1, 2], v -> v + 1)"),
        (Dialect::Oracle, "SELECT ids.nextval FROM users"),
        (Dialect::Oracle, "SELECT sysdate FROM dual WHERE rownum < 2"),
        (Dialect::Sqlite, "SELECT rowid, name FROM users WHERE name GLOB 'A*' AND email ISNULL"),
        (Dialect::Sqlite, "SELECT value FROM json_each('[1, 2]')"),
        (Dialect::Sqlite, "SELECT total * 2 AS twice FROM orders WHERE twice > 3"),
        (Dialect::Sqlite, "SELECT [First Name], `select` FROM \"Odd Names\""),
        (Dialect::Sqlite, "SELECT name FROM pragma_table_info('users')"),
        (Dialect::Sqlite, "EXPLAIN QUERY PLAN SELECT * FROM users"),
    ] {
        let settings = if dialect == Dialect::Sqlite { sqlite() } else { other(dialect) };
        check(&settings, query, &[]);
    }
}

#[test]
fn what_is_not_there_is_named_with_its_place_and_what_was_meant() {
    for settings in [sqlite(), other(Dialect::Generic), other(Dialect::Postgres), other(Dialect::Mysql)] {
        check_all(
            &settings,
            &[
                (
                    "SELECT nmae FROM users",
                    &["unknown-column @ 1:8 there is no column `nmae` in users => did you mean `name`?"],
                ),
                (
                    "SELECT id\nFROM uesrs",
                    &["unknown-table @ 2:6 there is no table `uesrs` => did you mean `users`?"],
                ),
                (
                    "SELECT u.nmae, u.id FROM users u",
                    &["unknown-column @ 1:8 there is no column `nmae` in u => did you mean `name`?"],
                ),
                (
                    "SELECT total FROM users",
                    &[
                        "unknown-column @ 1:8 there is no column `total` in users => `total` is a column of `orders`",
                    ],
                ),
                (
                    "SELECT id FROM users u JOIN orders o ON u.id = o.user_id",
                    &["ambiguous-column @ 1:8 `id` could be a column of `u` and `o` => write `u.id`"],
                ),
                (
                    "SELECT name FROM users WHERE\n  EXISTS (SELECT 1 FROM orders o\n    WHERE o.user = users.idd)",
                    &[
                        "unknown-column @ 3:11 there is no column `user` in o => did you mean `user_id`?",
                        "unknown-column @ 3:20 there is no column `idd` in users => did you mean `id`?",
                    ],
                ),
                (
                    "SELECT x.nme FROM (SELECT name, id FROM users) x",
                    &["unknown-column @ 1:8 there is no column `nme` in x => did you mean `name`?"],
                ),
                (
                    "WITH a AS (SELECT id AS k FROM users) SELECT id FROM a",
                    &["unknown-column @ 1:46 there is no column `id` in a => `id` is a column of `users`"],
                ),
                ("SELECT z.id FROM users u", &["unknown-table @ 1:8 `z` is not a table of this query"]),
                (
                    "SELECT users.id FROM users u",
                    &["unknown-table @ 1:8 `users` is not a table of this query"],
                ),
                ("SELECT z.* FROM users u", &["unknown-table @ 1:8 `z` is not a table of this query"]),
                (
                    "SELECT nam, emial FROM users",
                    &[
                        "unknown-column @ 1:8 there is no column `nam` in users => did you mean `name`?",
                        "unknown-column @ 1:13 there is no column `emial` in users => did you mean `email`?",
                    ],
                ),
                (
                    "SELECT a.name FROM users a JOIN orders b USING (user_id)",
                    &[
                        "unknown-column @ 1:49 there is no column `user_id` in a => `user_id` is a column of `orders`",
                    ],
                ),
                (
                    "SELECT name FROM users ORDER BY agee",
                    &["unknown-column @ 1:33 there is no column `agee` in users"],
                ),
                (
                    "SELECT ordr_id FROM big",
                    &["unknown-column @ 1:8 there is no column `ordr_id` in big => did you mean `order_id`?"],
                ),
                (
                    "SELECT count(nam) FROM users GROUP BY nam",
                    &[
                        "unknown-column @ 1:14 there is no column `nam` in users => did you mean `name`?",
                        "unknown-column @ 1:39 there is no column `nam` in users => did you mean `name`?",
                    ],
                ),
            ],
        );
    }
}

#[test]
fn dialects_differ_in_case_and_in_aliases() {
    check(
        &other(Dialect::Postgres),
        "SELECT id, e.w FROM user, (VALUES (1)) AS e(v)",
        &[
            "unknown-column @ 1:8 there is no column `id` in user, e => `id` is a column of `users`",
            "unknown-column @ 1:12 there is no column `w` in e",
        ],
    );
    check(
        &other(Dialect::Postgres),
        "SELECT \"Name\" FROM users",
        &["unknown-column @ 1:8 there is no column `Name` in users => did you mean `name`?"],
    );
    check(
        &other(Dialect::Postgres),
        "SELECT total * 2 AS twice FROM orders WHERE twice > 3",
        &[
            "unknown-column @ 1:45 there is no column `twice` in orders => `twice` is a name of the SELECT list, which cannot be used here: repeat its expression, or use a subquery",
        ],
    );
    let qualified =
        Settings { schema: Some("CREATE TABLE app.orders (id INT)".to_owned()), ..other(Dialect::Postgres) };
    check(&qualified, "SELECT id FROM orders", &[]);
    check(&qualified, "SELECT id FROM App.Orders", &[]);
    check(
        &qualified,
        "SELECT id FROM shop.orders",
        &["unknown-table @ 1:16 there is no table `shop.orders` => did you mean `app.orders`?"],
    );
}

#[test]
fn for_sqlite_the_last_word_is_its_own() {
    check_all(
        &sqlite(),
        &[
            // The resolver holds the name of a table for a row; SQLite has none.
            ("SELECT u FROM users u", &["unknown-column @ 1:8 there is no column `u`"]),
            (
                "SELECT lenght(name) FROM users",
                &["unknown-function @ 1:8 SQLite has no function `lenght` => did you mean `length`?"],
            ),
            (
                "SELECT name FROM users WHERE \"Ada\" = name",
                &[
                    "text-in-double-quotes @ 1:30 `\"Ada\"` is no column, so SQLite takes it for a text => write 'Ada' for a text",
                ],
            ),
            (
                "SELECT sum(count(id)) FROM users",
                &["rejected @ 1:12 SQLite says: misuse of aggregate function count()"],
            ),
            (
                "SELECT id FROM users UNION SELECT id, name FROM users",
                &[
                    "failed @ - SQLite says: SELECTs to the left and right of UNION do not have the same number of result columns",
                ],
            ),
        ],
    );
}

#[test]
fn what_does_not_parse_is_shown_where_it_breaks() {
    check_all(
        &sqlite(),
        &[
            ("SELECT name\nFORM users", &["syntax @ 2:6 not valid in SQLite: near \"users\": syntax error"]),
            ("SELECT 'open", &["syntax @ 1:8 not valid in SQLite: unrecognized token: \"'open\""]),
            ("SELECT (", &["syntax @ 1:9 not valid in SQLite: incomplete input"]),
        ],
    );
    check_all(
        &other(Dialect::Postgres),
        &[
            (
                "SELECT name\nFORM users",
                &["syntax @ 2:6 not valid in PostgreSQL: expected: end of statement, found: users"],
            ),
            ("SELECT (", &["syntax @ 1:9 not valid in PostgreSQL: expected: an expression, found: EOF"]),
            ("SELECT 'open", &["syntax @ 1:8 not valid in PostgreSQL: unterminated string literal"]),
            ("", &["no-statement @ - there is no SQL"]),
            ("-- only words", &["no-statement @ - there is no SQL but comments"]),
            ("SELECT\0", &["syntax @ 1:7 there is a zero byte"]),
        ],
    );
}

#[test]
fn a_fence_and_the_words_around_it_do_not_move_a_place() {
    let draft = "Here is the query:\n\n```sql\nSELECT id,\n  nmae FROM users\n```\nIt reads the `users`.\n";
    for settings in [sqlite(), other(Dialect::Mysql)] {
        check(
            &settings,
            draft,
            &["unknown-column @ 5:3 there is no column `nmae` in users => did you mean `name`?"],
        );
    }
}

#[test]
fn only_one_statement_and_only_reading_ones_are_taken() {
    for settings in [sqlite(), other(Dialect::Postgres)] {
        check_all(
            &settings,
            &[
                ("SELECT 1; SELECT 2", &["several-statements @ - there are 2 statements, and one is wanted"]),
                ("SELECT 1;;", &[]),
            ],
        );
        for (draft, what) in [
            ("DROP TABLE users", "is a `DROP` statement"),
            ("DELETE FROM users", "is a `DELETE` statement"),
            ("INSERT INTO users VALUES (4, 'D', NULL)", "is an `INSERT` statement"),
            ("UPDATE users SET name = ''", "is an `UPDATE` statement"),
            ("CREATE TABLE t (id INTEGER)", "is a `CREATE` statement"),
            ("EXPLAIN DELETE FROM users", "is a `DELETE` statement"),
        ] {
            let verdict = Sql::new(settings.clone()).unwrap().check(draft).unwrap();
            assert_eq!(verdict.findings[0].rule, "not-read-only", "{draft}");
            assert_eq!(verdict.findings[0].message, format!("it may only read, and this {what}"), "{draft}");
        }
    }
    for draft in [
        "WITH gone AS (DELETE FROM users RETURNING id) SELECT id FROM gone",
        "SELECT name INTO copy FROM users",
        "SELECT name FROM users FOR UPDATE",
    ] {
        let verdict = Sql::new(other(Dialect::Postgres)).unwrap().check(draft).unwrap();
        assert_eq!(verdict.findings[0].rule, "not-read-only", "{draft}");
    }
    let many = Settings { statements: Statements::Many, read_only: false, ..other(Dialect::Postgres) };
    check(&many, "CREATE TABLE t (k INTEGER); SELECT k FROM t", &[]);
    check(
        &many,
        "CREATE TABLE t (k INTEGER); SELECT kk FROM t",
        &["unknown-column @ 1:36 there is no column `kk` in t => did you mean `k`?"],
    );
    let insert = ["unknown-column @ 1:24 there is no column `nmae` in users => did you mean `name`?"];
    for settings in [sqlite(), other(Dialect::Postgres)] {
        let settings = Settings { read_only: false, ..settings };
        check(&settings, "INSERT INTO users (id, nmae) VALUES (9, 'x')", &insert);
        check(&settings, "INSERT INTO users (id, name) VALUES (9, 'x')", &[]);
    }
}

#[test]
fn nothing_but_the_database_can_be_reached() {
    for settings in [
        Settings { run: true, ..sqlite() },
        Settings { run: true, read_only: false, statements: Statements::Many, ..sqlite() },
    ] {
        let folder = tempfile::tempdir().unwrap();
        let stolen = folder.path().join("stolen.db");
        for (draft, rules) in [
            (format!("ATTACH '{}' AS other", stolen.display()), ["forbidden", "not-read-only"]),
            (format!("VACUUM INTO '{}'", stolen.display()), ["forbidden", "not-read-only"]),
            ("SELECT load_extension('x')".to_owned(), ["forbidden", "unknown-function"]),
            ("PRAGMA writable_schema = 1".to_owned(), ["forbidden", "not-read-only"]),
            ("PRAGMA query_only = 0".to_owned(), ["forbidden", "not-read-only"]),
        ] {
            let verdict = Sql::new(settings.clone()).unwrap().check(&draft).unwrap();
            assert!(rules.contains(&verdict.findings[0].rule.as_str()), "{draft}: {:?}", verdict.findings);
            assert!(!verdict.passes());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn rows_are_compared_by_what_they_are_worth() {
    let same = json!({"rows": [["Bob", 7], ["Ada", 12.5]]});
    check(
        &run(same),
        "SELECT name, sum(total) FROM users u JOIN orders o ON o.user_id = u.id GROUP BY name",
        &[],
    );
    check(&run(json!({"rows": [[1.0, true, null, "x'0aff'"]]})), "SELECT 1, 1, NULL, x'0AFF'", &[]);
    check(&run(json!({"rows": [[0.3]]})), "SELECT 0.1 + 0.2", &[]);
    check(
        &run(json!({"rows": [[1]]})),
        "SELECT '1'",
        &["wrong-rows @ - the query gives 1 row where 1 was expected: 1 missing, 1 not expected"],
    );
    check(&run(json!({"rows": []})), "SELECT id FROM users WHERE id > 9", &[]);
    check(
        &run(json!({"rows": [[1], [1]]})),
        "SELECT 1",
        &["wrong-rows @ - the query gives 1 row where 2 were expected: 1 missing, 0 not expected"],
    );
}

#[test]
fn wrong_rows_are_shown_as_a_table() {
    let sql = Sql::new(run(json!({"rows": [[1, "Ada"], [2, "Bo"]]}))).unwrap();
    let verdict = sql.check("SELECT id, name FROM users WHERE id < 3").unwrap();
    let expected = "missing:\n| id | name |\n| 2 | 'Bo' |\nnot expected:\n| id | name |\n| 2 | 'Bob' |";
    assert_eq!(verdict.findings[0].evidence.as_deref(), Some(expected));
}

#[test]
fn order_and_names_count_where_they_are_said_to() {
    let ordered = json!({"rows": [[2], [1]], "ordered": true});
    check(&run(ordered.clone()), "SELECT id FROM users WHERE id < 3 ORDER BY id DESC", &[]);
    check(
        &run(ordered),
        "SELECT id FROM users WHERE id < 3 ORDER BY id",
        &[
            "wrong-rows @ - the rows are the expected ones in another order, from row 1 on => sort the rows with ORDER BY",
        ],
    );
    let named = json!({"rows": [[1]], "columns": ["n"]});
    check(&run(named.clone()), "SELECT 1 AS N", &[]);
    check(
        &run(named),
        "SELECT 1 AS m",
        &[
            "wrong-columns @ - the columns are `m`, not `n` => name the columns as expected, in this order, with AS where needed",
        ],
    );
}

#[test]
fn time_rows_and_bytes_are_bounded() {
    let endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT";
    let settings = Settings { run: true, timeout_ms: 50, max_rows: 10, ..sqlite() };
    check(
        &settings,
        &format!("{endless} max(n) FROM c"),
        &[
            "too-slow @ - it took longer than 50 ms and was stopped => look for joins without a condition and recursion without an end",
        ],
    );
    check(
        &settings,
        &format!("{endless} n FROM c"),
        &[
            "too-many-rows @ - the query gives more than 10 rows => narrow it down: look at the joins and the conditions",
        ],
    );
    let found = Sql::new(settings.clone())
        .unwrap()
        .check("SELECT zeroblob(900000), zeroblob(900000)")
        .unwrap()
        .findings;
    assert_eq!(found[0].rule, "too-many-rows");
    check(&settings, "SELECT zeroblob(900000000)", &["failed @ - SQLite says: string or blob too big"]);
    check(
        &settings,
        "SELECT id FROM users WHERE id = ?",
        &[
            "parameters @ - the query waits for values from outside (`?`), and there are none => write the values into the query",
        ],
    );
}

#[test]
fn a_file_is_read_and_never_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(SHOP).unwrap();
    let before = fs::read(&path).unwrap();
    let settings = Settings { database: Some(path.clone()), run: true, ..Settings::default() };
    check(&settings, "SELECT count(*) FROM users", &[]);
    check(
        &settings,
        "SELECT nmae FROM users",
        &["unknown-column @ 1:8 there is no column `nmae` in users => did you mean `name`?"],
    );
    // The parser does not know this one, so it is SQLite that must hold it back.
    let found = Sql::new(settings).unwrap().check("REINDEX users; SELECT 1").unwrap();
    assert!(!found.passes());
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_database_that_cannot_be_used_is_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "these are notes, and by no means a database\n".repeat(100)).unwrap();
    for path in [text, folder.path().join("missing.db"), folder.path().to_owned()] {
        let settings = Settings { database: Some(path.clone()), ..Settings::default() };
        let error = Sql::new(settings).unwrap().check("SELECT 1").unwrap_err();
        assert!(matches!(error, Error::SqlDatabase { .. }), "{error}");
        assert!(!folder.path().join("missing.db").exists());
    }
}

#[tokio::test]
async fn within_a_workflow_a_verdict_is_a_step_and_a_broken_database_a_failure() {
    let judge = |settings: Settings| {
        let sql = Sql::new(settings).unwrap();
        crate::flow("judge", move |ctx: Ctx, draft: String| {
            let sql = sql.clone();
            async move { sql.verify(&ctx, &Case::new("", draft)).await }
        })
    };
    let outcome = async |flow: crate::Flow<String, Verdict>| {
        let engine =
            crate::Engine::on(crate::store::MemoryStore::new()).workflow(flow.clone()).open().await.unwrap();
        let run = engine.start(&flow, "SELECT nmae FROM users".to_owned()).await.unwrap();
        run.outcome().await.unwrap().into_output()
    };
    let verdict = outcome(judge(sqlite())).await.unwrap();
    assert_eq!(verdict.findings[0].rule, "unknown-column");
    let broken = Settings { database: Some("/nowhere/shop.db".into()), ..Settings::default() };
    let failure = outcome(judge(broken)).await.unwrap_err();
    assert!(format!("{failure:?}").contains("sql-database"), "{failure:?}");
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    for (settings, words) in [
        (json!({"dialect": "postgres", "run": true, "schema": ""}), "need `dialect: sqlite`"),
        (json!({"run": true}), "`run` needs"),
        (json!({"schema": "", "expect": {"rows": []}}), "`expect` needs"),
        (json!({"database": "a.db", "read_only": false}), "only ever read"),
        (json!({"schema": "", "run": true, "expect": {"rows": [[1], [1, 2]]}}), "row 2 has 2 values, not 1"),
        (json!({"schema": "", "run": true, "expect": {"rows": [[[]]]}}), "row 1 holds a list"),
        (
            json!({"dialect": "sqlite", "schema": "CREATE TABLE a (b);\nCREATE TABEL c (d)"}),
            "near \"TABEL\": syntax error (line 2:8)",
        ),
        (json!({"dialect": "postgres", "schema": "CREATE TABLE a (b INT);\nCREATE TABEL c"}), "line 2:8"),
        (json!({"max_rows": 0}), "must not be 0"),
    ] {
        let error = Sql::new(serde_json::from_value(settings.clone()).unwrap()).unwrap_err();
        assert!(error.to_string().contains(words), "{settings}: {error}");
    }
    assert!(serde_json::from_value::<Settings>(json!({"dialekt": "sqlite"})).is_err());
}

#[test]
fn a_schema_is_followed_through_its_changes() {
    let schema = "CREATE TABLE a (x INT); ALTER TABLE a ADD COLUMN y INT; ALTER TABLE a RENAME COLUMN x TO z;
        CREATE TABLE copy AS SELECT y, z AS w FROM a; CREATE TABLE child (k INT) INHERITS (a);
        CREATE TABLE gone (x INT); DROP TABLE gone; CREATE MATERIALIZED VIEW v (p, q) AS SELECT y, z FROM a;";
    let settings =
        Settings { dialect: Some(Dialect::Postgres), schema: Some(schema.to_owned()), ..Settings::default() };
    check(&settings, "SELECT y, z FROM a, v WHERE p = q", &[]);
    check(&settings, "SELECT w, y FROM copy", &[]);
    check(&settings, "SELECT anything FROM child", &[]);
    check(&settings, "SELECT x FROM a", &["unknown-column @ 1:8 there is no column `x` in a"]);
    check(&settings, "SELECT 1 FROM gone", &["unknown-table @ 1:15 there is no table `gone`"]);
    assert_eq!(
        Verifier::demand(&Sql::new(settings).unwrap()),
        "a single SQL statement in PostgreSQL that only reads, with no other tables and columns than a(z, y), copy(y, w), child(k, …), v(p, q)"
    );
}

#[test]
fn a_chain_of_thousands_is_walked_and_a_longer_one_is_refused() {
    for settings in [other(Dialect::Postgres), sqlite()] {
        let chain = format!("SELECT id{} FROM users", " + 1".repeat(4900));
        let found = Sql::new(settings.clone()).unwrap().check(&chain).unwrap().findings;
        // SQLite has a bound of its own.
        assert!(found.is_empty() || found[0].message.contains("too large"), "{:?}", written(&found));
        let unions = vec!["SELECT 1"; 3000].join(" UNION ");
        let _ = Sql::new(settings.clone()).unwrap().check(&unions).unwrap();
        let nested = format!("SELECT {}1{}", "(".repeat(4000), ")".repeat(4000));
        let found = Sql::new(settings.clone()).unwrap().check(&nested).unwrap().findings;
        assert!(!found.is_empty());
        check(
            &settings,
            &format!("SELECT 1{}", " + 1".repeat(5000)),
            &["too-long @ - it has 10002 words and signs => stay below 10000"],
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_text_makes_it_panic(
        text in "((SELECT|FROM|WHERE|JOIN|USING|ON|WITH|AS|UNION|users|orders|name|u|\"x\"|'a|```sql\n|é|\\(|\\)|,|;|\\*|\\.|=|1| |\n){0,40})",
        dialect in prop::sample::select(vec![Dialect::Generic, Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql, Dialect::Mssql, Dialect::Bigquery]),
    ) {
        let settings = if dialect == Dialect::Sqlite { sqlite() } else { other(dialect) };
        let sql = Sql::new(settings).unwrap();
        prop_assert!(sql.check(&text).is_ok());
    }

    /// Whatever SQLite prepares must pass: the resolver cannot accuse it.
    #[test]
    fn what_sqlite_takes_is_never_accused_by_the_resolver(
        columns in prop::collection::vec(prop::sample::select(vec!["id", "u.id", "o.id", "name", "total", "u.*", "o.total", "k", "x.k", "count(*)"]), 1..4),
        from in prop::sample::select(vec![
            "users u", "orders o", "users u, orders o", "users u JOIN orders o ON u.id = o.user_id",
            "users u JOIN orders o USING (id)", "users u NATURAL JOIN orders o", "(SELECT id AS k FROM users) x",
            "users u LEFT JOIN (SELECT user_id AS k FROM orders) x ON x.k = u.id",
        ]),
        rest in prop::sample::select(vec!["", "WHERE id = 1", "WHERE u.id = k", "GROUP BY name", "ORDER BY total", "ORDER BY 1", "WHERE EXISTS (SELECT 1 FROM orders WHERE user_id = u.id)"]),
    ) {
        let query = format!("SELECT {} FROM {from} {rest}", columns.join(", "));
        let database = Database::in_memory(SHOP, false).unwrap();
        let schema = Schema::of_database(database.connection()).unwrap();
        let statements = statement::parse(Dialect::Sqlite, &query).ok().unwrap();
        let accused = Resolver::new(Dialect::Sqlite, &schema).check(&statements[0]);
        if database.connection().prepare(&query).is_ok() {
            prop_assert!(accused.is_empty(), "{query}: {accused:?}");
        }
    }
}
