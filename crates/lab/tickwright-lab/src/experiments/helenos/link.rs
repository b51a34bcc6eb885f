//! Starts and ends a server thread.
//!
//! The server ends when the client hangs up. A client does not wait for a server that has ended,
//! because the mailbox is closed when the first of its two ends is dropped.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::channel::{Channel, Port, Reply, Request, serve};
use super::cpu;
use super::mailbox::Mailbox;

/// A client's or server's end of a mailbox. Dropping an end hangs up.
#[derive(Debug)]
pub(super) struct End {
    pub(super) mailbox: Arc<Mailbox>,
    /// Number of checks of the mailbox before a waiter sleeps.
    pub(super) spins: u32,
}

/// Hangs up, also during a panic, and wakes the other end.
impl Drop for End {
    fn drop(&mut self) {
        self.mailbox.close();
    }
}

impl Channel for End {
    fn call(&mut self, request: Request) -> io::Result<Reply> {
        let Request { number, target, token } = request;
        self.mailbox.requests.post([number, target, token])?;
        let words = self.mailbox.replies.take(self.spins)?;
        let [number, answer, _] = words.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(Reply { number, answer })
    }
}

impl Port for End {
    fn receive(&mut self) -> io::Result<Option<Request>> {
        let words = self.mailbox.requests.take(self.spins)?;
        Ok(words.map(|[number, target, token]| Request { number, target, token }))
    }

    fn answer(&mut self, reply: Reply) -> io::Result<()> {
        self.mailbox.replies.post([reply.number, reply.answer, 0])
    }
}

/// A running server and the channel to it. Dropping the link ends the server.
#[derive(Debug)]
pub(super) struct Link {
    client: Option<End>,
    server: Option<JoinHandle<io::Result<()>>>,
}

impl Link {
    /// Starts a server on processor `cpu`; `None` allows any processor.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(super) fn start(spins: u32, cpu: Option<usize>) -> io::Result<Self> {
        let mailbox = Arc::new(Mailbox::default());
        let client = End { mailbox: Arc::clone(&mailbox), spins };
        let mut port = End { mailbox, spins };
        let server = thread::Builder::new().name("server".into()).spawn(move || {
            cpu::pin(cpu)?;
            serve(&mut port)
        })?;
        Ok(Self { client: Some(client), server: Some(server) })
    }

    /// Returns the channel to the server, or `None` if the server has been ended.
    pub(super) fn channel(&mut self) -> Option<&mut dyn Channel> {
        self.client.as_mut().map(|client| client as &mut dyn Channel)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Dropping the client's end hangs up.
        self.client = None;
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}
