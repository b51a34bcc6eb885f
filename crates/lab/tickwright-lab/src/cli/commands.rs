//! Texts about each command in addition to its own help: for whom the command is, and examples.

use serde::Serialize;

use crate::experiments;

/// A command of `tickwright list`.
#[derive(Debug, Serialize)]
pub(crate) struct Audience {
    /// The words that a user types.
    pub(crate) command: String,
    /// For whom the command is.
    pub(crate) whom: &'static str,
    /// What the command does, which is the first line of its help.
    pub(crate) what: String,
}

/// Returns the path of each command, for whom the command is, and its examples as its help shows
/// them. The path of the tour is empty. The second item is `None` for a command that `list` does
/// not show.
pub(super) fn entries() -> impl Iterator<Item = (&'static str, Option<&'static str>, &'static str)> {
    include_str!("commands.txt").split("== ").skip(1).map(|entry| {
        let (head, examples) = entry.split_once('\n').unwrap_or((entry, ""));
        let (path, whom) = head.split_once(": ").map_or((head, None), |(path, whom)| (path, Some(whom)));
        (path, whom, examples)
    })
}

/// Returns the commands of this build, whose parser is `cli`.
pub(crate) fn audience(cli: &clap::Command) -> Vec<Audience> {
    let of = |(path, whom, _): (&str, Option<&'static str>, _)| {
        let what = match path {
            "" => "Run the tour".to_owned(),
            path => cli.find_subcommand(path)?.get_about().map_or(String::new(), ToString::to_string),
        };
        Some(Audience { command: format!("tickwright {path}").trim_end().to_owned(), whom: whom?, what })
    };
    entries().filter_map(of).collect()
}

/// Returns the examples at the end of a command's help, or an empty text if the command has none.
/// The examples of an experiment are in the experiment's file.
pub(super) fn examples(path: &str) -> String {
    let own = entries().find(|(of, ..)| *of == path).map(|(.., examples)| examples);
    let row = path.strip_prefix("reproduce ").and_then(experiments::row);
    let of_row = row.into_iter().flat_map(|row| row.examples());
    let of_row = of_row.map(|(line, what)| format!("  {line}\n      {what}\n"));
    let lines: String = own.map(str::to_owned).into_iter().chain(of_row).collect();
    if lines.is_empty() { lines } else { format!("Examples:\n{lines}\n") }
}
