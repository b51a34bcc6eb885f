//! Starting a server, as a thread or as a process, and ending it.
//!
//! A server does not outlive its client. A server thread ends when the client hangs up. A server
//! process is then killed. The system also kills it when the client's thread ends in any other way.
//! A client does not wait for a dead server: its streams reach their end. With a mailbox, the
//! client watches the server and closes the mailbox when the server ends.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::parent_id;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use clap::ValueEnum;
use rustix::process::{Signal, set_parent_process_death_signal};

use super::channel::{Channel, Port, Stream, Transport, serve};
use super::cpu;
use super::mailbox::Waiting;
use super::shared::{self, End, Shared};
use crate::experiments::request::word;

/// How client and server run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tasks {
    /// Two threads of one process
    Threads,
    /// Two processes
    Processes,
}

/// The settings of a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) transport: Transport,
    pub(super) tasks: Tasks,
    /// Number of checks of the mailbox before a waiter sleeps.
    pub(super) spins: u32,
    /// Processor of the server.
    pub(super) cpu: Option<usize>,
}

/// A running server and the channel to it. Dropping the link ends the server.
pub(super) struct Link {
    channel: Option<Box<dyn Channel>>,
    child: Option<Child>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Link {
    /// Starts a server.
    pub(super) fn start(wanted: Wanted) -> io::Result<Self> {
        let mut link = Self { channel: None, child: None, threads: Vec::new() };
        match wanted.tasks {
            Tasks::Threads => link.thread(wanted)?,
            Tasks::Processes => link.process(wanted)?,
        }
        Ok(link)
    }

    /// Returns the channel to the server; `None` once the server was ended.
    pub(super) fn channel(&mut self) -> Option<&mut dyn Channel> {
        self.channel.as_mut().map(|channel| &mut **channel as &mut dyn Channel)
    }

    fn thread(&mut self, wanted: Wanted) -> io::Result<()> {
        let mut port: Box<dyn Port + Send> = if wanted.transport == Transport::Futex {
            let waiting = Waiting { spins: wanted.spins, private: true };
            let (client, server) = shared::ends(Shared::map(shared::memory()?)?, waiting);
            self.channel = Some(Box::new(client));
            Box::new(server)
        } else {
            let (client, server) = streams(wanted.transport)?;
            self.channel = Some(Box::new(client));
            Box::new(server)
        };
        self.spawn("server", move || {
            cpu::pin(wanted.cpu)?;
            serve(&mut *port)
        })
    }

    fn process(&mut self, wanted: Wanted) -> io::Result<()> {
        let mut server = server_command(&wanted)?;
        if wanted.transport == Transport::Futex {
            let memory = shared::memory()?;
            let waiting = Waiting { spins: wanted.spins, private: false };
            let (client, other) = shared::ends(Shared::map(memory.as_fd())?, waiting);
            self.channel = Some(Box::new(client));
            server.stdin(Stdio::from(memory)).stdout(Stdio::piped());
            let child = self.child.insert(server.spawn()?);
            // The server writes nothing, so its standard output reaches its end when the server
            // ends.
            let line = child.stdout.take();
            return self.spawn("life line", move || {
                line.map_or(Ok(0), |mut line| line.read(&mut [0])).map(|_| drop(other))
            });
        }
        let (client, Stream { input, output }) = streams(wanted.transport)?;
        self.channel = Some(Box::new(client));
        server.stdin(Stdio::from(input)).stdout(Stdio::from(output));
        self.child = Some(server.spawn()?);
        Ok(())
    }

    fn spawn(
        &mut self,
        name: &str,
        work: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        self.threads.push(thread::Builder::new().name(name.into()).spawn(work)?);
        Ok(())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Dropping the channel hangs up.
        self.channel = None;
        if let Some(child) = &mut self.child {
            // The error is ignored: the server may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Creates the client's and the server's end of a pair of pipes or sockets.
fn streams(transport: Transport) -> io::Result<(Stream, Stream)> {
    let file = |fd: OwnedFd| File::from(fd);
    if transport == Transport::Socket {
        let (client, server) = UnixStream::pair()?;
        let end = |socket: UnixStream| {
            let input = file(socket.try_clone()?.into());
            Ok::<_, io::Error>(Stream { input, output: file(socket.into()) })
        };
        return Ok((end(client)?, end(server)?));
    }
    let (requests, to_server) = io::pipe()?;
    let (replies, to_client) = io::pipe()?;
    Ok((
        Stream { input: file(replies.into()), output: file(to_server.into()) },
        Stream { input: file(requests.into()), output: file(to_client.into()) },
    ))
}

/// Returns the command that starts this program as a server.
fn server_command(wanted: &Wanted) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["reproduce", "helenos", "--serve", &word(&wanted.transport)]);
    command.args(["--parent", &std::process::id().to_string(), "--spin", &wanted.spins.to_string()]);
    if let Some(cpu) = wanted.cpu {
        command.args(["--cpu", &cpu.to_string()]);
    }
    Ok(command)
}

/// The server's side of [`server_command`]: serves on its standard input and output until the
/// client hangs up.
pub(super) fn serve_as_process(
    transport: Transport,
    spins: u32,
    cpu: Option<usize>,
    parent: u32,
) -> io::Result<()> {
    if !die_with(parent)? {
        return Ok(());
    }
    cpu::pin(cpu)?;
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    if transport == Transport::Futex {
        let mailbox = Arc::new(Shared::map(input)?);
        return serve(&mut End { mailbox, waiting: Waiting { spins, private: false } });
    }
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    match serve(&mut Stream { input: input.into(), output: output.into() }) {
        // The client has hung up, which is the normal end.
        Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => Ok(()),
        other => other,
    }
}

/// Asks the system to kill this process when its parent's thread ends. Returns whether the parent
/// is still alive.
pub(super) fn die_with(parent: u32) -> io::Result<bool> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the call above.
    Ok(parent_id() == parent)
}
