//! A PostgreSQL of a test's own: in a temporary folder, on a socket there, as an ordinary user.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(crate) struct Cluster {
    folder: PathBuf,
    server: Child,
}

impl Cluster {
    /// `None`, and a line that says why, if there is no PostgreSQL.
    pub(crate) fn start(name: &str) -> Option<Self> {
        let Some(programs) = programs() else {
            println!("skipped: PostgreSQL is not installed (no initdb)");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("tickwright-{name}-{}", std::process::id()));
        let data = folder.join("data");
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let own = Command::new("chown").arg("postgres").arg(&folder).stderr(Stdio::null()).status();
        if is_root() && !own.is_ok_and(|status| status.success()) {
            println!("skipped: PostgreSQL does not run as root, and there is no user postgres");
            return None;
        }
        let made = user(&programs.join("initdb"))
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync", "-D"])
            .arg(&data)
            .stdout(Stdio::null())
            .status();
        assert!(made.is_ok_and(|status| status.success()), "initdb makes a cluster");
        let server = Self::serve(&programs, &folder);
        let cluster = Self { folder, server };
        cluster.wait();
        Some(cluster)
    }

    fn serve(programs: &Path, folder: &Path) -> Child {
        user(&programs.join("postgres"))
            .arg("-D")
            .arg(folder.join("data"))
            .arg("-k")
            .arg(folder)
            .args(["-c", "listen_addresses="])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts")
    }

    /// For `Postgres::open`.
    pub(crate) fn parameters(&self) -> String {
        format!("host={} user=postgres dbname=postgres", self.folder.display())
    }

    /// Waits until it takes connections.
    fn wait(&self) {
        while postgres::Client::connect(&self.parameters(), postgres::NoTls).is_err() {
            std::thread::sleep(core::time::Duration::from_millis(20));
        }
    }

    /// Ends it as a power failure does, and starts it again.
    #[allow(dead_code, reason = "not each test does")]
    pub(crate) fn crash(&mut self) {
        self.stop("-QUIT");
        self.server = Self::serve(&programs().expect("it was there"), &self.folder);
        self.wait();
    }

    fn stop(&mut self, signal: &str) {
        // The first line of the file is the process, whatever started it.
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

/// The program as an ordinary user.
fn user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program).current_dir("/");
    command
}

/// The folder of initdb and postgres.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    std::env::split_paths(&path)
        .chain(debian.map(|version| version.path().join("bin")))
        .find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}
