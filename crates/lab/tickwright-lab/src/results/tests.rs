//! Compares the schemas that `tickwright list --schema` prints with the types and their comments.

use std::fs;

use schemars::schema_for;
use serde_json::{Value, json};

use super::SCHEMAS;
use crate::models::scenario::Scenario;
use crate::result::Report;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/results/schemas.json");

/// `UPDATE=1 cargo test -p tickwright-lab schemas` writes the file.
#[test]
fn the_schemas_say_what_the_types_say() {
    let mut schemas = json!({ "result": schema_for!(Report), "scenario": schema_for!(Scenario) });
    plain(&mut schemas);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(FILE, serde_json::to_string_pretty(&schemas).unwrap() + "\n").unwrap();
        return;
    }
    assert!(
        serde_json::from_str::<Value>(SCHEMAS).unwrap() == schemas,
        "results/schemas.json is old: run `UPDATE=1 cargo test -p tickwright-lab schemas`"
    );
    assert_eq!(schemas["result"]["properties"]["series"]["items"]["$ref"], "#/$defs/Series");
    assert_eq!(schemas["scenario"]["additionalProperties"], false, "a key that is misspelled is refused");
}

/// Writes each description on one line, without links into the code.
fn plain(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "description" => *text = words(text),
                    other => plain(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

fn words(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    while let Some(end) = words.find("`](") {
        let after = words[end..].find(')').map_or(words.len(), |close| end + close + 1);
        words.replace_range(end + 1..after, "");
        if let Some(begin) = words[..end].rfind("[`") {
            words.remove(begin);
        }
    }
    words.replace("[`", "`").replace("`]", "`")
}
