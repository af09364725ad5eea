//! The dialects of SQL: how each is parsed, how it writes names, and what it knows besides the schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlparser::ast::Ident;
use sqlparser::dialect as parse;

/// A dialect of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Dialect {
    /// What most databases understand: lenient.
    Generic,
    /// The standard.
    Ansi,
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    #[serde(alias = "postgresql")]
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
    /// Microsoft SQL Server.
    Mssql,
    /// Oracle.
    Oracle,
    /// BigQuery.
    Bigquery,
    /// Snowflake.
    Snowflake,
    /// DuckDB.
    Duckdb,
    /// ClickHouse.
    Clickhouse,
    /// Databricks.
    Databricks,
    /// Spark.
    Spark,
    /// Hive.
    Hive,
    /// Redshift.
    Redshift,
    /// Teradata.
    Teradata,
}

/// What stands for a value in some dialect without being a column.
const WORDS: [&str; 22] = [
    "current_date",
    "current_time",
    "current_timestamp",
    "current_user",
    "current_role",
    "current_schema",
    "current_catalog",
    "session_user",
    "system_user",
    "user",
    "localtime",
    "localtimestamp",
    "sysdate",
    "systimestamp",
    "rownum",
    "level",
    "default",
    "true",
    "false",
    "null",
    "value",
    "excluded",
];

impl Dialect {
    pub(super) fn parser(self) -> Box<dyn parse::Dialect> {
        match self {
            Self::Generic => Box::new(parse::GenericDialect {}),
            Self::Ansi => Box::new(parse::AnsiDialect {}),
            Self::Sqlite => Box::new(parse::SQLiteDialect {}),
            Self::Postgres => Box::new(parse::PostgreSqlDialect {}),
            Self::Mysql => Box::new(parse::MySqlDialect {}),
            Self::Mssql => Box::new(parse::MsSqlDialect {}),
            Self::Oracle => Box::new(parse::OracleDialect {}),
            Self::Bigquery => Box::new(parse::BigQueryDialect {}),
            Self::Snowflake => Box::new(parse::SnowflakeDialect {}),
            Self::Duckdb => Box::new(parse::DuckDbDialect {}),
            Self::Clickhouse => Box::new(parse::ClickHouseDialect {}),
            Self::Databricks => Box::new(parse::DatabricksDialect {}),
            Self::Spark => Box::new(parse::SparkSqlDialect {}),
            Self::Hive => Box::new(parse::HiveDialect {}),
            Self::Redshift => Box::new(parse::RedshiftSqlDialect {}),
            Self::Teradata => Box::new(parse::TeradataDialect {}),
        }
    }

    /// Returns its name as people write it.
    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::Generic => "any dialect",
            Self::Ansi => "standard SQL",
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::Mysql => "MySQL",
            Self::Mssql => "SQL Server",
            Self::Oracle => "Oracle",
            Self::Bigquery => "BigQuery",
            Self::Snowflake => "Snowflake",
            Self::Duckdb => "DuckDB",
            Self::Clickhouse => "ClickHouse",
            Self::Databricks => "Databricks",
            Self::Spark => "Spark",
            Self::Hive => "Hive",
            Self::Redshift => "Redshift",
            Self::Teradata => "Teradata",
        }
    }

    /// Writes a name so that two that mean the same are equal.
    pub(super) fn key(self, ident: &Ident) -> String {
        let is_quoted = ident.quote_style.is_some();
        match self {
            Self::Postgres if is_quoted => ident.value.clone(),
            Self::Ansi | Self::Oracle | Self::Snowflake if is_quoted => ident.value.clone(),
            Self::Ansi | Self::Oracle | Self::Snowflake => ident.value.to_ascii_uppercase(),
            _ => ident.value.to_ascii_lowercase(),
        }
    }

    /// Says whether it is one of those whose scoping rules are known well enough to accuse by them.
    pub(super) fn is_strict(self) -> bool {
        matches!(self, Self::Ansi | Self::Sqlite | Self::Postgres | Self::Mysql | Self::Mssql)
    }

    /// Says whether a name of the SELECT list can be used in WHERE.
    pub(super) fn has_aliases_in_where(self) -> bool {
        !matches!(self, Self::Ansi | Self::Postgres | Self::Mysql | Self::Mssql)
    }

    /// Says whether a query of WITH can use itself without the word RECURSIVE.
    pub(super) fn recurses_without_a_word(self) -> bool {
        !matches!(self, Self::Postgres | Self::Mysql | Self::Ansi)
    }

    /// Says whether a name that no table has as a column may still be one.
    pub(super) fn knows_column(self, ident: &Ident) -> bool {
        let name = ident.value.to_ascii_lowercase();
        let pseudo: &[&str] = match self {
            Self::Sqlite => &["rowid", "oid", "_rowid_"],
            Self::Postgres | Self::Redshift => &["ctid", "oid", "tableoid", "xmin", "xmax", "cmin", "cmax"],
            Self::Oracle => &["rowid", "uid", "ora_rowscn", "nextval", "currval"],
            Self::Mysql | Self::Ansi => &[],
            Self::Mssql => &["$identity", "$rowguid", "$action"],
            // Lenient: some of these have many.
            _ => &[
                "rowid",
                "oid",
                "_rowid_",
                "nextval",
                "_partitiontime",
                "_partitiondate",
                "_file",
                "_metadata",
            ],
        };
        name.starts_with("metadata$") || pseudo.contains(&name.as_str())
    }

    /// Says whether a name behind that of a table may mean something else than a column: PostgreSQL takes `t.count` for
    /// `count(t)`.
    pub(super) fn knows_attribute(self, ident: &Ident) -> bool {
        const FUNCTIONS: [&str; 12] = [
            "count",
            "array_agg",
            "json_agg",
            "jsonb_agg",
            "row_to_json",
            "to_json",
            "to_jsonb",
            "pg_typeof",
            "pg_column_size",
            "num_nulls",
            "num_nonnulls",
            "hstore",
        ];
        let is_function = || FUNCTIONS.contains(&ident.value.to_ascii_lowercase().as_str());
        self.knows_column(ident) || (matches!(self, Self::Postgres | Self::Redshift) && is_function())
    }

    /// Returns the column of a word that PostgreSQL takes for a table of one row and one column.
    pub(super) fn column_of_word(self, ident: &Ident) -> Option<&'static str> {
        const FROM: [&str; 6] =
            ["user", "current_user", "session_user", "current_date", "current_timestamp", "current_role"];
        let is_bare = ident.quote_style.is_none() && matches!(self, Self::Postgres | Self::Redshift);
        FROM.into_iter().find(|word| is_bare && ident.value.eq_ignore_ascii_case(word))
    }

    /// Says whether a name that stands alone may have a meaning without being a column.
    pub(super) fn knows_word(self, ident: &Ident) -> bool {
        let name = ident.value.to_ascii_lowercase();
        self.knows_column(ident)
            || name.starts_with(['@', ':', '$', '#'])
            || (ident.quote_style.is_none() && WORDS.contains(&name.as_str()))
    }

    /// Says whether a table that the schema does not have may still be there.
    pub(super) fn knows_table(self, path: &[String], quote: Option<char>) -> bool {
        const HOUSES: [&str; 7] =
            ["information_schema", "pg_catalog", "sys", "mysql", "performance_schema", "system", "temp"];
        let lower: Vec<String> = path.iter().map(|part| part.to_ascii_lowercase()).collect();
        let last = lower.last().map_or("", String::as_str);
        lower.iter().rev().skip(1).any(|house| HOUSES.contains(&house.as_str()))
            || quote == Some('\'')
            || last.starts_with(['@', '#', '$', ':'])
            || last.starts_with("sqlite_")
            || last.starts_with("pragma_")
            || (last.starts_with("pg_") && matches!(self, Self::Postgres | Self::Redshift | Self::Generic))
            || ["dual", "inserted", "deleted", "stdin", "json_each", "json_tree"].contains(&last)
            // A name with a dot inside its quotes may be a whole path.
            || (self == Self::Bigquery && last.contains(['.', '*']))
    }
}
