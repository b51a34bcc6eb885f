//! A QUIC echo server and its client, which use our timers:
//!
//! ```text
//! cargo run -p tickwright-async --features example-quic --example quic
//! ```
//!
//! To use our timers, quinn needs only the line that passes our runtime to an endpoint.

use core::error::Error;
use core::time::Duration;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Instant;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{ClientConfig, ConnectionError, Endpoint, EndpointConfig, ServerConfig, TransportConfig};
use tickwright_async::{QuinnRuntime, Timers};

/// If a connection gets no packets for this long, it ends.
const IDLE: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let timers = Timers::new()?;
    let runtime = Arc::new(QuinnRuntime::new(quinn::TokioRuntime, timers.clone()));

    let certified = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let certificate = certified.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let address = socket.local_addr()?;
    let server = Endpoint::new(EndpointConfig::default(), Some(server), socket, runtime.clone())?;
    tokio::spawn(echo(server));

    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(IDLE.try_into()?));
    config.transport_config(Arc::new(transport));
    let client = Endpoint::new(EndpointConfig::default(), None, UdpSocket::bind("127.0.0.1:0")?, runtime)?;
    let connection = client.connect_with(config, address, "localhost")?.await?;

    let start = Instant::now();
    let mut last = start;
    for number in 0..100 {
        last = Instant::now();
        let (mut send, mut receive) = connection.open_bi().await?;
        let asked = format!("hello {number}");
        send.write_all(asked.as_bytes()).await?;
        send.finish()?;
        let answer = timers.timeout(Duration::from_secs(5), receive.read_to_end(64)).await??;
        assert_eq!(answer, asked.as_bytes(), "an echo");
    }
    println!("100 echoes in {:?}", start.elapsed());

    let why = connection.closed().await;
    println!("closed {:?} after the last echo began: {why}", last.elapsed());
    assert!(matches!(why, ConnectionError::TimedOut), "{why}");
    assert!(last.elapsed() >= IDLE, "no time-out is early");
    print!("{}", timers.report());
    Ok(())
}

async fn echo(server: Endpoint) {
    while let Some(incoming) = server.accept().await {
        tokio::spawn(async move {
            let Ok(connection) = incoming.await else { return };
            while let Ok((mut send, mut receive)) = connection.accept_bi().await {
                if let Ok(asked) = receive.read_to_end(64).await {
                    let _ = send.write_all(&asked).await;
                    let _ = send.finish();
                }
            }
        });
    }
}
