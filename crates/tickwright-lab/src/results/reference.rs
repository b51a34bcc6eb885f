//! Generates the page `docs/results.md` from the types of results and scenarios and their comments.

use core::fmt::Write;
use std::collections::BTreeMap;
use std::fs;

use schemars::{Schema, schema_for};
use serde_json::{Map, Value};

use crate::models::scenario::Scenario;
use crate::result::{Report, SCHEMA};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results.md");

/// Compares the page with the types. `UPDATE=1 cargo test -p tickwright-lab reference` writes the
/// page.
#[test]
fn the_reference_page_says_what_the_types_say() {
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    assert!(
        fs::read_to_string(PAGE).unwrap_or_default() == page,
        "docs/results.md is old: run `UPDATE=1 cargo test -p tickwright-lab reference`"
    );
}

fn page() -> String {
    let results = format!(
        "- [Results](#results): what `--json=FILE` writes, and `tickwright show`, `compare` and \
         `report` read; schema {SCHEMA}"
    );
    let paragraphs = [
        "This page is made from the types and their comments: \
         `UPDATE=1 cargo test -p tickwright-lab reference` writes it.\n",
        &results,
        "- [Scenarios](#scenarios): the TOML files that `--scenario FILE` reads; \
         `tickwright list --scenario NAME` prints a built-in one\n",
        "`?` marks a field that may be missing. A series says the unit of its samples, and with `per` \
         what one sample is spread over; without `per` a sample is a total.",
    ];
    let mut out = "# Results and scenarios\n\n".to_owned();
    for paragraph in paragraphs {
        let _ = writeln!(out, "{}", wrapped(paragraph));
    }
    chapter(&mut out, "Results", "Report", schema_for!(Report));
    chapter(&mut out, "Scenarios", "Scenario", schema_for!(Scenario));
    out
}

fn chapter(out: &mut String, title: &str, root: &str, schema: Schema) {
    let schema = schema.to_value();
    let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    let _ = writeln!(out, "\n## {title}");
    section(out, root, &schema);
    // The types are sorted by name, so that the order does not depend on references between types.
    let sorted: BTreeMap<&String, &Value> = definitions.iter().collect();
    for (name, schema) in sorted {
        section(out, name, schema);
    }
}

/// Writes the section of a type: its comment, then its fields or choices.
fn section(out: &mut String, name: &str, schema: &Value) {
    let _ = writeln!(out, "\n### {name}\n\n{}", wrapped(&words(schema)));
    if let Some(fields) = schema.get("properties").and_then(Value::as_object) {
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let _ = writeln!(out, "\n| field | type | what |\n|---|---|---|");
        for (field, schema) in fields {
            let missing = if required.contains(&field.as_str()) { "" } else { "?" };
            let _ = writeln!(out, "| `{field}`{missing} | {} | {} |", kind(schema), words(schema));
        }
    }
    if schema.get("type").and_then(Value::as_str) == Some("string") && schema.get("enum").is_none() {
        let _ = writeln!(out, "\nType: text.");
    }
    let choices = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(key)).and_then(Value::as_array);
    if let Some(choices) = choices {
        let _ = writeln!(out, "\n| value | what |\n|---|---|");
        for choice in choices {
            let value = choice.get("properties").and_then(Value::as_object).and_then(of_variant);
            let _ = writeln!(out, "| {} | {} |", value.unwrap_or_else(|| kind(choice)), words(choice));
        }
    }
}

/// Breaks a paragraph into lines of at most 100 columns. Lines of an item of a list are indented.
fn wrapped(paragraph: &str) -> String {
    let indent = if paragraph.starts_with("- ") { "  " } else { "" };
    let mut out = String::new();
    let mut columns = 0;
    for word in paragraph.split_whitespace() {
        let width = word.chars().count();
        if columns > 0 && columns + 1 + width > 100 {
            out = out + "\n" + indent;
            columns = indent.len();
        } else if columns > 0 {
            out.push(' ');
            columns += 1;
        }
        out.push_str(word);
        columns += width;
    }
    // An empty line follows a paragraph that ends in a line feed.
    if paragraph.ends_with('\n') { out + "\n" } else { out }
}

/// Describes a variant with a value: `{"at_most": number}`.
fn of_variant(fields: &Map<String, Value>) -> Option<String> {
    let (name, schema) = fields.iter().next()?;
    Some(format!("`{name}`: {}", kind(schema)))
}

/// Describes the kind of a value in words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(constant) = schema.get("const") {
        return format!("`{}`", constant.as_str().map_or_else(|| constant.to_string(), str::to_owned));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let names: Vec<String> =
            values.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
        return names.join(", ");
    }
    if let Some(choices) = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)).and_then(Value::as_array)
    {
        let kinds: Vec<String> = choices.iter().map(kind).filter(|kind| kind != "null").collect();
        return kinds.join(" or ");
    }
    let of = |name: &str| match name {
        "array" => array(schema),
        "object" => format!("map to {}", schema.get("additionalProperties").map_or("anything".into(), kind)),
        "integer" => integer(schema),
        "boolean" => "yes or no".to_owned(),
        "string" => "text".to_owned(),
        other => other.to_owned(),
    };
    match schema.get("type") {
        Some(Value::String(name)) => of(name),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.map(of).collect::<Vec<_>>().join(" or ")
        }
        _ => "anything".to_owned(),
    }
}

fn array(schema: &Value) -> String {
    if let Some(items) = schema.get("prefixItems").and_then(Value::as_array) {
        return format!("({})", items.iter().map(kind).collect::<Vec<_>>().join(", "));
    }
    let of = schema.get("items").map_or("anything".into(), kind);
    match schema.get("minItems").and_then(Value::as_u64) {
        Some(n) => format!("list of {n} of {of}"),
        None => format!("list of {of}"),
    }
}

fn integer(schema: &Value) -> String {
    let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => format!("whole number, {least} to {most}"),
        _ => "whole number".to_owned(),
    }
}

/// Returns the comment on one line, without links into the code.
fn words(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    while let Some(end) = words.find("`](") {
        let after = words[end..].find(')').map_or(words.len(), |close| end + close + 1);
        words.replace_range(end + 1..after, "");
        if let Some(begin) = words[..end].rfind("[`") {
            words.remove(begin);
        }
    }
    words.replace("[`", "`").replace("`]", "`")
}
