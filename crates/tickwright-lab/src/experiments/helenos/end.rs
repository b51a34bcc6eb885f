//! The ends of a mailbox that is mapped.

use std::io;
use std::sync::Arc;

use super::channel::{Channel, Port, Reply, Request};
use super::mailbox::Waiting;
use super::shared::Shared;

/// A client's or server's end.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) mailbox: Arc<Shared>,
    pub(crate) waiting: Waiting,
}

impl Channel for End {
    fn call(&mut self, request: Request) -> io::Result<Reply> {
        let Request { number, target, token } = request;
        self.mailbox.requests.post([number, target, token], self.waiting)?;
        let words = self.mailbox.replies.take(self.waiting)?;
        let [number, answer, _] = words.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(Reply { number, answer })
    }
}

impl Port for End {
    fn receive(&mut self) -> io::Result<Option<Request>> {
        let words = self.mailbox.requests.take(self.waiting)?;
        Ok(words.map(|[number, target, token]| Request { number, target, token }))
    }

    fn answer(&mut self, reply: Reply) -> io::Result<()> {
        self.mailbox.replies.post([reply.number, reply.answer, 0], self.waiting)
    }
}
