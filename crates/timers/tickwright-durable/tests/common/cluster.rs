//! A PostgreSQL server for one test. The server runs in a temporary folder, on a socket in this
//! folder, as an ordinary user.
#![allow(dead_code, reason = "a test uses less than the faults")]

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use postgres::{Client, NoTls};

pub(crate) struct Cluster {
    folder: PathBuf,
    server: Child,
    environment: Vec<(&'static str, String)>,
    /// The addresses at which the server listens, in addition to its socket.
    address: String,
}

impl Cluster {
    /// Returns `None` and prints the reason if PostgreSQL is not installed.
    pub(crate) fn start(name: &str, environment: &[(&'static str, String)]) -> Option<Self> {
        let Some(programs) = programs() else {
            println!("skipped: PostgreSQL is not installed (no initdb)");
            return None;
        };
        let folder = Self::make(name)?;
        let made = user(&programs.join("initdb"))
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync", "-D"])
            .arg(folder.join("data"))
            .stdout(Stdio::null())
            .status();
        assert!(made.is_ok_and(|status| status.success()), "initdb makes a cluster");
        Some(Self::serve(folder, environment.to_vec()))
    }

    /// Creates a folder to which the server is allowed to write.
    fn make(name: &str) -> Option<PathBuf> {
        let folder = std::env::temp_dir().join(format!("tickwright-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let own = Command::new("chown").arg("postgres").arg(&folder).stderr(Stdio::null()).status();
        if is_root() && !own.is_ok_and(|status| status.success()) {
            println!("skipped: PostgreSQL does not run as root, and there is no user postgres");
            return None;
        }
        Some(folder)
    }

    fn serve(folder: PathBuf, environment: Vec<(&'static str, String)>) -> Self {
        let server = Self::spawn(&folder, &environment, "");
        let cluster = Self { folder, server, environment, address: String::new() };
        cluster.wait();
        cluster
    }

    fn spawn(folder: &Path, environment: &[(&'static str, String)], address: &str) -> Child {
        // `env` sets the variables only for the server, as the server's user.
        user(Path::new("env"))
            .args(environment.iter().map(|(name, value)| format!("{name}={value}")))
            .arg(programs().expect("it was there").join("postgres"))
            .arg("-D")
            .arg(folder.join("data"))
            .arg("-k")
            .arg(folder)
            .args(["-c", &format!("listen_addresses={address}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts")
    }

    /// Waits until the server accepts connections.
    fn wait(&self) {
        while self.client().is_err() {
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the parameters for `Postgres::open`.
    pub(crate) fn parameters(&self) -> String {
        format!("host={} user=postgres dbname=postgres", self.folder.display())
    }

    pub(crate) fn client(&self) -> Result<Client, postgres::Error> {
        Client::connect(&self.parameters(), NoTls)
    }

    /// Ends the server as a power failure would, and starts it again.
    pub(crate) fn crash(&mut self) {
        self.stop("-QUIT");
        self.server = Self::spawn(&self.folder, &self.environment, &self.address);
        self.wait();
    }

    /// Creates a standby of this primary. From then on, commits wait for the standby.
    pub(crate) fn standby(&self, name: &str) -> Self {
        let folder = Self::make(name).expect("the primary has one");
        let copied = user(&programs().expect("it was there").join("pg_basebackup"))
            .args(["--checkpoint=fast", "--no-sync", "-R", "-U", "postgres", "-h"])
            .arg(&self.folder)
            .arg("-D")
            .arg(folder.join("data"))
            .status();
        assert!(copied.is_ok_and(|status| status.success()), "pg_basebackup copies the primary");
        let settings = folder.join("data/postgresql.auto.conf");
        let mut text = std::fs::read_to_string(&settings).expect("it was copied");
        text += "synchronous_standby_names = ''\n";
        std::fs::write(settings, text).expect("it was copied");
        let standby = Self::serve(folder, Vec::new());
        let mut client = self.client().expect("the primary runs");
        client.execute("ALTER SYSTEM SET synchronous_standby_names = '*'", &[]).expect("a superuser");
        client.execute("SELECT pg_reload_conf()", &[]).expect("a superuser");
        let sync = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
        while client.query(sync, &[]).expect("a superuser").is_empty() {
            thread::sleep(Duration::from_millis(20));
        }
        standby
    }

    pub(crate) fn promote(&self) {
        self.client().and_then(|mut client| client.execute("SELECT pg_promote()", &[])).expect("a standby");
    }

    /// Restarts the server, so that other machines reach it at an address.
    pub(crate) fn listen(&mut self, address: &str, network: &str) {
        self.address = address.to_string();
        let file = self.folder.join("data/pg_hba.conf");
        let rights = std::fs::read_to_string(&file).expect("initdb made it");
        std::fs::write(file, format!("{rights}\nhost all all {network} trust\n")).expect("it is ours");
        self.crash();
    }

    /// Acts like `kill -9` of each of the server's processes.
    pub(crate) fn kill(mut self) {
        self.stop("-QUIT");
    }

    fn stop(&mut self, signal: &str) {
        // The first line of the file is the id of the server's process, regardless of which program
        // started it.
        let file = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
        if let Some(process) = file.lines().next() {
            let _ = Command::new("kill").args([signal, process]).status();
        }
        let _ = self.server.wait();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop("-INT");
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

/// Returns a command that runs the program as an ordinary user.
fn user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program).current_dir("/");
    command
}

/// Returns the folder of initdb, postgres and pg_basebackup.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    std::env::split_paths(&path)
        .chain(debian.map(|version| version.path().join("bin")))
        .find(|folder| ["initdb", "postgres", "pg_basebackup"].iter().all(|name| folder.join(name).exists()))
}
