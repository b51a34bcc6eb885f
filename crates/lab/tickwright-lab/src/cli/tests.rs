//! The parser accepts every command line in README and in the book.

use std::fs;
use std::path::{Path, PathBuf};

use clap::FromArgMatches;
use clap::error::ErrorKind;

use super::commands::{audience, entries, examples};
use super::{Cli, command};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// A command line of a page.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    line: usize,
    /// A command line in a code block is complete. A command line in a sentence can lack required
    /// arguments, as `tickwright show` does.
    whole: bool,
    words: Vec<String>,
}

#[test]
fn the_pages_commands_are_accepted() {
    let mut wrong = Vec::new();
    let mut number = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for found in commands(&text) {
            number += 1;
            if let Some(message) = refusal(&found) {
                wrong.push(format!("{}:{}: {message}", page.display(), found.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(number >= 50, "only {number} commands were found: are the pages where they were?");
}

#[test]
fn a_wrong_command_of_a_page_is_found() {
    let wrong = |text: &str| commands(text).iter().filter_map(refusal).count();
    assert_eq!(wrong("```sh\ntickwright bench hold --rouds 3\n```\n"), 1);
    assert_eq!(wrong("```console\n$ cargo run --release -- bnech\nno command\n```\n"), 1);
    assert_eq!(wrong("```sh\ntickwright show\n```\nIt is `tickwright show`.\n"), 1, "in the block alone");
    assert_eq!(wrong("Say `tickwright bench hold --n 0`.\n"), 1);
    assert_eq!(wrong("```sh\ntickwright bench hold --n 2,16 | less # short\n```\n"), 0);
    assert_eq!(wrong("```text\ntickwright list       structures, scenarios\n```\n"), 0);
    assert_eq!(wrong("```sh\ntickwright bench hold \\\n    --rouds 3\n```\n"), 1, "a line that goes on");
    assert_eq!(wrong("Say `tickwright bench hold\n--n 0` at once.\n"), 1, "code that goes on");
    assert_eq!(wrong("```console,run\n$ tickwright bnech\n```\n"), 1, "a block that is run");
}

#[test]
fn each_command_ends_with_examples_that_are_accepted() {
    fn paths(command: &clap::Command, path: &str, all: &mut Vec<String>) {
        all.push(path.to_owned());
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            paths(inner, format!("{path} {}", inner.get_name()).trim_start(), all);
        }
    }
    let mut all = Vec::new();
    paths(&command(), "", &mut all);
    for (path, ..) in entries() {
        let is_known = all.iter().any(|command| command == path);
        assert!(is_known || cfg!(not(target_os = "linux")), "there is no command {path:?}");
    }
    let mut wrong = Vec::new();
    for path in &all {
        let text = examples(path);
        let lines: Vec<&str> = text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty()).collect();
        assert!(!lines.is_empty(), "{path} has no example");
        for pair in lines.chunks(2) {
            let &[line, what] = pair else { panic!("{path}: {pair:?}") };
            assert!(line.starts_with(format!("tickwright {path}").trim_end()) || path.is_empty(), "{line}");
            assert!(what.ends_with('.') && line.len() <= 90, "{line}: {what}");
            wrong.extend(refusal(&Found { line: 0, whole: true, words: words(line) }));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_command_is_for_somebody() {
    let command = command();
    let visible = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    let names = visible.map(|inner| format!("tickwright {}", inner.get_name()));
    let mut names: Vec<String> = names.chain(["tickwright".into()]).collect();
    let mut listed: Vec<String> = audience(&command).iter().map(|one| one.command.clone()).collect();
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(names, listed);
    assert!(audience(&command).iter().all(|one| !one.what.is_empty()));
}

/// Returns README and the pages of the book.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![Path::new(ROOT).join("README.md")];
    let mut folders = vec![Path::new(ROOT).join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// Finds the command lines of a page: in blocks, and in code within sentences.
fn commands(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut language = None;
    let mut begun = String::new();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            let name = fence.split([',', ' ']).next().unwrap_or_default().to_owned();
            language = if language.is_some() { None } else { Some(name) };
            begun.clear();
            continue;
        }
        match language.as_deref() {
            None => {
                if line.is_empty() {
                    begun.clear();
                }
                begun.push_str(line);
                // The line has inline code that continues on the next line.
                if begun.matches('`').count() % 2 == 1 {
                    begun.push(' ');
                    continue;
                }
                let line = core::mem::take(&mut begun);
                let spans = line.split('`').skip(1).step_by(2).filter(|span| span.starts_with("tickwright "));
                let words = spans.map(words);
                found.extend(words.map(|words| Found { line: line_number, whole: false, words }));
            }
            Some("sh" | "bash" | "console" | "text") => {
                if let Some(part) = line.strip_suffix('\\') {
                    begun.push_str(part);
                    continue;
                }
                let joined = core::mem::take(&mut begun) + line.trim_start_matches(' ');
                found.extend(of_shell(&joined).map(|words| Found { line: line_number, whole: true, words }));
            }
            Some(_) => {}
        }
    }
    found
}

/// Returns the words of a line of a code block, if the line is a command of ours.
fn of_shell(line: &str) -> Option<Vec<String>> {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let line = match line.strip_prefix("cargo run --release") {
        Some("") => "tickwright".to_owned(),
        Some(rest) => format!("tickwright {}", rest.strip_prefix(" -- ")?),
        None => line.to_owned(),
    };
    (line == "tickwright" || line.starts_with("tickwright ")).then(|| words(&line))
}

/// Splits a line at blanks, as a shell does. The command ends at a comment, a pipe, a redirection,
/// or two blanks, which precede an explanation.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut before = ' ';
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => words.last_mut().unwrap().push(letter),
            (None, '\'' | '"') => quote = Some(letter),
            (None, ' ') if before == ' ' => break,
            (None, ' ') => words.push(String::new()),
            (None, '|' | '>' | '&' | ';') => break,
            (None, '#') if before == ' ' => break,
            (None, _) => words.last_mut().unwrap().push(letter),
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the parser's error for a command line, if there is one.
fn refusal(found: &Found) -> Option<String> {
    let parsed =
        command().try_get_matches_from(&found.words).and_then(|matches| Cli::from_arg_matches(&matches));
    let error = parsed.err()?;
    let incomplete = [
        ErrorKind::MissingRequiredArgument,
        ErrorKind::MissingSubcommand,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
        ErrorKind::InvalidValue,
    ];
    // A sentence can name a flag without its value, such as `tickwright list --scenario`.
    let lacks =
        incomplete.contains(&error.kind()) && !(error.kind() == ErrorKind::InvalidValue && has_value(&error));
    let shown = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if shown || (lacks && !found.whole) {
        return None;
    }
    Some(format!("{:?}: {}", found.words.join(" "), error.to_string().lines().next().unwrap_or_default()))
}

/// Returns whether the parser refused a value that was present.
fn has_value(error: &clap::Error) -> bool {
    use clap::error::{ContextKind, ContextValue};
    !matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if value.is_empty())
}
