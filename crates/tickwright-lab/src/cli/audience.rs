//! For whom each command is.

use serde::Serialize;

/// A command of the list.
#[derive(Debug, Serialize)]
pub(crate) struct Audience {
    /// What is typed.
    pub(crate) command: String,
    /// For whom it is.
    pub(crate) whom: &'static str,
    /// What it does, as its help begins.
    pub(crate) what: String,
}

/// Each command, and for whom it is. The empty name is the tour.
const WHOM: &[(&str, &str)] = &[
    ("", "user"),
    ("record", "user"),
    ("recommend", "user"),
    ("describe", "user"),
    ("report", "user"),
    ("list", "user"),
    ("bench", "performance engineer"),
    ("latency", "performance engineer"),
    ("replay", "performance engineer"),
    ("import", "performance engineer"),
    ("compare", "performance engineer"),
    ("show", "performance engineer"),
    ("reproduce", "researcher"),
    ("export", "researcher"),
    ("check", "maintainer"),
    ("man", "packager"),
    ("completions", "packager"),
];

/// Returns the commands of this build, in the order of [`WHOM`].
pub(crate) fn audience() -> Vec<Audience> {
    let cli = super::command();
    let of = |(name, whom): &(&str, &'static str)| {
        let (command, what) = match *name {
            "" => ("tickwright".to_owned(), "Run the tour".to_owned()),
            name => {
                let about = cli.find_subcommand(name)?.get_about();
                (format!("tickwright {name}"), about.map_or(String::new(), ToString::to_string))
            }
        };
        Some(Audience { command, whom, what })
    };
    WHOM.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_for_somebody() {
        let command = super::super::command();
        let visible = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        let mut names: Vec<&str> = visible.map(clap::Command::get_name).chain([""]).collect();
        let mut listed: Vec<&str> = WHOM.iter().map(|(name, _)| *name).collect();
        // Commands of Linux alone.
        listed.retain(|name| cfg!(target_os = "linux") || !["record", "latency"].contains(name));
        names.sort_unstable();
        listed.sort_unstable();
        assert_eq!(names, listed);
        assert!(audience().iter().all(|one| !one.what.is_empty()));
    }
}
