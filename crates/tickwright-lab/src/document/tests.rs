use core::fmt::Debug;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
enum Kind {
    Plain,
    One(u32),
    Two(f64, bool),
    Parts { a: u64, b: Option<String> },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct All {
    text: String,
    number: i64,
    factor: Option<f64>,
    flag: bool,
    kinds: Vec<Kind>,
    #[serde(default)]
    pairs: Vec<(String, u64)>,
    table: BTreeMap<String, usize>,
    within: Option<crate::models::scenario::Within<1, 9>>,
}

const RIGHT: &str = r#"
text = "a\tb"
number = 0x10
factor = 3
flag = true
kinds = ["plain", { one = 7 }, { two = [1.5, false] }, { parts = { a = 1 } }, { parts = { b = "c", a = 2 } }]
pairs = [["x", 18446744073709551615]]
within = 9
[table]
first = 1
"a key" = 2
"#;

#[derive(Debug, PartialEq, Deserialize)]
struct Some {
    first: Ignored,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Ignored {}

/// The value or the text of the error; that of `toml` is the same.
fn same<T: DeserializeOwned + Debug + PartialEq>(text: &str) -> Result<T, String> {
    let here = read::<T>(text).map_err(|error| error.to_string());
    assert_eq!(here, toml::from_str(text).map_err(|error| error.to_string()), "{text}");
    here
}

#[test]
fn each_kind_of_value_is_read() {
    let all: All = same(RIGHT).unwrap();
    assert_eq!((all.number, all.factor, all.kinds.len()), (16, Some(3.0), 5));
    let some: Some = same("before = [1, { a = 2026-01-01 }]\n[first]\nmore = {}").unwrap();
    assert_eq!(some.first, Ignored {});
}

/// Each mistake in turn.
#[test]
fn a_mistake_has_the_words_and_the_place_that_toml_gives_it() {
    for (right, wrong) in [
        ("number = 0x10", "number = 1.5"),
        ("number = 0x10", "number = 9223372036854775808"),
        ("number = 0x10", "number = "),
        ("number = 0x10", ""),
        ("number = 0x10", "number = {}"),
        ("factor = 3", "factor = 'x'"),
        ("factor = 3", "factor = 1e999"),
        ("flag = true", "flag = 1"),
        ("flag = true", "flags = true"),
        ("flag = true", "flag = 2026-01-01"),
        ("\"plain\"", "\"plane\""),
        ("\"plain\"", "7"),
        ("\"plain\"", "{}"),
        ("\"plain\"", "{ one = 'x' }"),
        ("\"plain\"", "\"one\""),
        ("\"plain\"", "{ three = 1 }"),
        ("one = 7", "one = -7"),
        ("one = 7", "one = 4294967296"),
        ("a = 1", "b = 1, a = 1"),
        ("\"x\", ", ""),
        ("18446744073709551615", "340282366920938463463374607431768211456"),
        ("within = 9", "within = 10"),
        ("within = 9", "within = '9'"),
        ("first = 1", "first = true"),
        ("first = 1", "first = 1\nfirst = 2"),
    ] {
        let text = RIGHT.replacen(right, wrong, 1);
        assert_ne!(text, RIGHT);
        same::<All>(&text).unwrap_err();
    }
}

#[test]
fn one_table_is_read_alone() {
    let text = "[other]\na = 1\n[own]\nfirst = {}";
    assert_eq!(read_table::<Some>(text, "own").unwrap(), Some { first: Ignored {} });
    let error = read_table::<Some>(text, "none").unwrap_err().to_string();
    assert!(error.contains("missing field `none`"), "{error}");
}
