//! Starting a server, as a thread or as a process, and ending it.
//!
//! A server does not outlive its client: a thread ends when the client hangs up, a process is
//! killed then, and by the system when the client's thread ends in any other way. A client does not
//! wait for a dead server: its streams end, and a mailbox is closed by who notices.

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
use serde::{Deserialize, Serialize};

use super::channel::{Channel, Port, Stream, Transport, serve};
use super::cpu;
use super::end::End;
use super::mailbox::Waiting;
use super::shared::{self, Shared};

/// What client and server are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tasks {
    /// Two threads of one process
    Threads,
    /// Two processes
    Processes,
}

impl Tasks {
    pub(crate) const ALL: [Self; 2] = [Self::Threads, Self::Processes];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Processes => "processes",
        }
    }
}

/// What to start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) transport: Transport,
    pub(crate) tasks: Tasks,
    /// Looks at the mailbox before sleeping.
    pub(crate) spins: u32,
    /// The server's processor.
    pub(crate) cpu: Option<usize>,
}

/// A server, and the way to it. Dropping it ends the server.
pub(crate) struct Link {
    channel: Option<Box<dyn Channel>>,
    mailbox: Option<(Arc<Shared>, Waiting)>,
    child: Option<Child>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Link {
    /// Starts a server.
    ///
    /// # Errors
    /// What the system refuses.
    pub(crate) fn start(wanted: Wanted) -> io::Result<Self> {
        let mut link = Self { channel: None, mailbox: None, child: None, threads: Vec::new() };
        match wanted.tasks {
            Tasks::Threads => link.thread(wanted)?,
            Tasks::Processes => link.process(wanted)?,
        }
        Ok(link)
    }

    /// The way to the server; none once it was ended.
    pub(crate) fn channel(&mut self) -> Option<&mut dyn Channel> {
        self.channel.as_mut().map(|channel| &mut **channel as &mut dyn Channel)
    }

    fn thread(&mut self, wanted: Wanted) -> io::Result<()> {
        let mut port: Box<dyn Port + Send> = if wanted.transport == Transport::Futex {
            let mailbox = Arc::new(Shared::map(shared::memory()?)?);
            let end = self.client_end(&mailbox, wanted.spins, true);
            Box::new(Closing(end))
        } else {
            let (client, server) = streams(wanted.transport)?;
            self.channel = Some(Box::new(client));
            Box::new(server)
        };
        let server = thread::Builder::new().name("server".into()).spawn(move || {
            cpu::pin(wanted.cpu)?;
            serve(&mut *port)
        })?;
        self.threads.push(server);
        Ok(())
    }

    fn process(&mut self, wanted: Wanted) -> io::Result<()> {
        let mut server = server_command(&wanted)?;
        match wanted.transport {
            Transport::Futex => {
                let memory = shared::memory()?;
                let mailbox = Arc::new(Shared::map(memory.as_fd())?);
                server.stdin(Stdio::from(memory)).stdout(Stdio::piped());
                let mut child = server.spawn()?;
                let end = self.client_end(&mailbox, wanted.spins, false);
                let line = child.stdout.take();
                self.child = Some(child);
                // The server writes nothing: its standard output ends when it does.
                self.threads.push(thread::Builder::new().name("life line".into()).spawn(move || {
                    let closing = Closing(end);
                    if let Some(mut line) = line {
                        let _ = line.read(&mut [0]);
                    }
                    drop(closing);
                    Ok(())
                })?);
            }
            Transport::Pipe | Transport::Socket => {
                let (client, Stream { input, output }) = streams(wanted.transport)?;
                self.channel = Some(Box::new(client));
                server.stdin(Stdio::from(input)).stdout(Stdio::from(output));
                self.child = Some(server.spawn()?);
            }
        }
        Ok(())
    }

    /// Keeps the client's end, and gives the other one.
    fn client_end(&mut self, mailbox: &Arc<Shared>, spins: u32, private: bool) -> End {
        let waiting = Waiting { spins, private };
        self.mailbox = Some((Arc::clone(mailbox), waiting));
        self.channel = Some(Box::new(End { mailbox: Arc::clone(mailbox), waiting }));
        End { mailbox: Arc::clone(mailbox), waiting }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.channel = None;
        if let Some((mailbox, waiting)) = &self.mailbox {
            mailbox.close(*waiting);
        }
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Hangs up when dropped, also by a panic.
#[derive(Debug)]
struct Closing(End);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.mailbox.close(self.0.waiting);
    }
}

impl Port for Closing {
    fn receive(&mut self) -> io::Result<Option<super::channel::Request>> {
        self.0.receive()
    }

    fn answer(&mut self, reply: super::channel::Reply) -> io::Result<()> {
        self.0.answer(reply)
    }
}

/// The client's and the server's end.
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

/// This program as a server.
fn server_command(wanted: &Wanted) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["reproduce", "helenos", "--serve", wanted.transport.name()]);
    command.args(["--parent", &std::process::id().to_string(), "--spin", &wanted.spins.to_string()]);
    if let Some(cpu) = wanted.cpu {
        command.args(["--cpu", &cpu.to_string()]);
    }
    Ok(command)
}

/// The server's side of [`server_command`]: serves on its standard input and output until the
/// client hangs up.
///
/// # Errors
/// Of the system.
pub(crate) fn serve_as_process(
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
        // The client has gone: that is how it ends.
        Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => Ok(()),
        other => other,
    }
}

/// Has the system kill this process when its parent's thread ends. Whether that is still alive.
///
/// # Errors
/// Of the system.
pub(crate) fn die_with(parent: u32) -> io::Result<bool> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before that call.
    Ok(parent_id() == parent)
}
