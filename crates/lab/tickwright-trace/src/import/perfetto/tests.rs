use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::*;
use crate::import::kernel;
use crate::{Event, Reader};

const OPTIONS: Options = Options { hz: Some(1000), of: String::new() };

/// Functions by their numbers, from 1 on.
const KNOWN: [&str; 7] = ["f", "g", "h", "tick", "process_timeout", "process_timeout/0x0", "hrtimer_wakeup"];

/// Encodes a line of the kernel's text as Perfetto does. An event without a message of its own
/// becomes a generic event.
fn encode(text: &str) -> FtraceEvent {
    let line::Read::Event(line) = line::read(text) else { panic!("{text}") };
    let timestamp = Some(line.time.cast_unsigned());
    let mut event = FtraceEvent { timestamp, pid: 7, ..FtraceEvent::default() };
    let first = Some(line.address);
    let function = (1..).zip(KNOWN).find(|known| known.1 == line.function).map(|known| known.0);
    let values = |second, third, fourth| Some(Values { first, second, third, fourth });
    use Queue::{HighResolution, Wheel};
    match (line.queue, line.said) {
        (Wheel, Said::Start { expires, now, .. }) => event.timer_start = values(function, Some(expires), now),
        (Wheel, Said::Cancel) => event.timer_cancel = values(None, None, None),
        (Wheel, Said::Expire { now }) => event.timer_expire_entry = values(now, function, None),
        (HighResolution, Said::Start { expires, was_armed: None, .. }) => {
            event.hrtimer_start = values(function, Some(expires), None);
        }
        (HighResolution, Said::Cancel) => event.hrtimer_cancel = values(None, None, None),
        (HighResolution, Said::Expire { now }) => event.hrtimer_expire_entry = values(now, function, None),
        (queue, said) => {
            let field = |(name, signed): (&str, _)| Field { name: name.into(), signed, unsigned: None };
            let (mut name, key) = [("timer_init", "timer"), ("hrtimer_setup", "hrtimer")][queue as usize];
            let mut fields = vec![(key, first), ("function", function)];
            if let Said::Start { expires, was_armed, .. } = said {
                name = "hrtimer_start";
                fields.extend([("expires", Some(expires)), ("was_armed", was_armed.map(u64::from))]);
            }
            let fields = fields.into_iter().map(field).collect();
            event.generic = Some(Generic { name: name.into(), fields });
        }
    }
    event
}

fn bundle(cpu: u32, events: &[FtraceEvent]) -> Packet {
    let events = events.iter().map(|event| event.encode_to_vec().into()).collect();
    let ftrace_events = Some(Bundle { cpu: Some(cpu), events, lost_events: false });
    Packet { ftrace_events, ..Packet::default() }
}

fn symbols() -> Packet {
    let symbol = |(id, name): (u64, &str)| Symbol { id, name: name.to_owned().into() };
    let interned = Some(Interned { kernel_symbols: (1..).zip(KNOWN).map(symbol).collect() });
    Packet { interned, ..Packet::default() }
}

fn trace(packets: &[Packet]) -> Vec<u8> {
    packets
        .iter()
        .flat_map(|packet| [vec![PACKET], packet.encode_length_delimited_to_vec()].concat())
        .collect()
}

/// Returns a start and a cancel of one timer.
fn small() -> [Packet; 3] {
    let start = encode(" a-7 [000] d. 1.5: timer_start: timer=aa function=f expires=10 [timeout=10]");
    let cancel = encode(" a-7 [000] d. 1.6: timer_cancel: timer=aa");
    [symbols(), bundle(0, &[start]), bundle(0, &[cancel])]
}

/// What the import found, the events with the names of their functions, and the losses.
type Imported = (Kernel, Vec<(Event, String)>, Vec<u64>);

fn opened((file, found): (Vec<u8>, Kernel)) -> Imported {
    let mut reader = Reader::new(&file[..]).unwrap();
    let events = reader.read_to_end().unwrap();
    let named = |event: &Event| (*event, reader.sites().get(event.site).unwrap_or_default().to_owned());
    (found, events.iter().map(named).collect(), reader.lost().iter().map(|lost| lost.count).collect())
}

fn imported(bytes: &[u8]) -> Imported {
    opened(import(bytes, &OPTIONS, Vec::new()).unwrap())
}

/// Each case of the kernel's text gives the same events and counts when it is encoded as Perfetto
/// does it, with the bundle of one processor after the bundle of another.
#[test]
fn each_case_of_the_text_is_the_same() {
    let cases = include_str!("../../../tests/kernel.txt").split("\n== ").skip(1);
    assert_eq!(cases.clone().count(), 16);
    for case in cases {
        let (title, lines) = case.split_once("\n= ").unwrap().0.split_once('\n').unwrap();
        let (mut text, mut cpus) = (String::new(), [const { Vec::new() }; 4]);
        for line in lines.lines() {
            let (at, rest) = line.split_once(' ').unwrap();
            let (us, cpu) = at.split_once('@').unwrap_or((at, "1"));
            let line = format!(" pid 7 [{cpu:0>3}] ..s1. 100.{us:0>6}: {rest}\n");
            cpus[cpu.parse::<usize>().unwrap()].push(encode(line.trim_end()));
            text += &line;
        }
        let mut packets = vec![symbols()];
        packets.extend((0..).zip(&cpus).map(|(cpu, events)| bundle(cpu, events)));
        let (file, mut found) = kernel::import(text.as_bytes(), &OPTIONS, Vec::new()).unwrap();
        found.count.lines = 0;
        assert_eq!(imported(&trace(&packets)), opened((file, found)), "{title}");
    }
}

#[test]
fn losses_names_and_unreadable_events() {
    let start = |us: u64, second| {
        let values = Values { first: Some(us), second, third: Some(9), fourth: Some(5) };
        FtraceEvent { timestamp: Some(us * 1_000), timer_start: Some(values), ..FtraceEvent::default() }
    };
    let mut first = bundle(0, &[start(5, Some(1)), start(0, Some(1)), FtraceEvent::default()]);
    first.previous_packet_dropped = true;
    let full = bundle(1, &[start(7, Some(0xffff_8000))]);
    // A name is in the same packet as its event.
    let full = Packet { previous_packet_dropped: true, interned: symbols().interned, ..full };
    let mut lost = bundle(2, &[start(9, Some(2)), start(10, None)]);
    let of_lost = lost.ftrace_events.as_mut().unwrap();
    of_lost.lost_events = true;
    of_lost.events.push(vec![8].into());
    let (found, events, losses) = imported(&trace(&[symbols(), first, full, lost]));
    let names: Vec<_> = events.iter().map(|(event, name)| (event.time, event.cpu, name.as_str())).collect();
    // A packet that was lost could have changed the names.
    assert_eq!(names, [(0, 1, "0x1"), (2_000, 2, "0xffff8000"), (4_000, 3, "g"), (5_000, 3, "")]);
    // The unreadable events are one of timer 0, one without a time, and one that is cut off.
    assert_eq!((found.count.unreadable, found.count.damage, losses), (3, None, vec![0, 0, 0]));
}

#[test]
fn packed_packets_are_unpacked_once() {
    let pack = |bytes: &[u8]| {
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::default());
        packer.write_all(bytes).unwrap();
        Packet { compressed: Some(packer.finish().unwrap().into()), ..Packet::default() }
    };
    let packed = pack(&trace(&small()));
    let packed = trace(&[packed]);
    assert_eq!(imported(&packed), imported(&trace(&small())));
    assert!(import(&trace(&[pack(&packed)])[..], &OPTIONS, Vec::new()).is_err());
}

/// A trace that is cut off or damaged is read up to the damage, or refused with an error that names
/// the damage.
#[test]
fn what_is_damaged_is_named() {
    let whole = trace(&small());
    for cut in 1..whole.len() {
        match import(&whole[..cut], &OPTIONS, Vec::new()) {
            Ok((_, found)) => assert!(found.count.events >= 1, "{cut}"),
            Err(error) => assert!(matches!(error, TraceError::Line { line: 0, .. }), "{cut}: {error}"),
        }
    }
    let damage = imported(&[&whole[..], &[PACKET, 9, 1]].concat()).0.count.damage;
    assert_eq!(damage.unwrap(), "after packet 3, the file ends within a packet");
    // Impossible lengths of the packet, of the bundle, and of a number.
    for (bytes, words) in [
        (&b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"[..], "ends within a packet"),
        (b"\x0a\x06\x0a\xff\xff\xff\xff\x7f", "packet 1: "),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", "a length is no number"),
        (b"\x0a\x00\x12\x00", "no packet"),
        (b"\x0a\x00", "timer/*"),
    ] {
        let error = import(bytes, &OPTIONS, Vec::new()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    // After a change of any one bit, the import returns a trace or an error.
    for at in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        let _ = (is_perfetto(&bytes), import(&bytes[..], &OPTIONS, Vec::new()));
    }
}

/// A packet that is too long for a bundle is skipped, and the packets after it are read.
#[test]
fn a_long_packet_of_another_source_is_skipped() {
    let (bytes, mut long) = (trace(&small()), vec![PACKET]);
    number::put(&mut long, LONGEST + 1);
    let source = long.chain(io::repeat(b' ').take(LONGEST + 1)).chain(&bytes[..]);
    let found = opened(import(BufReader::new(source), &OPTIONS, Vec::new()).unwrap());
    assert_eq!(found, imported(&bytes));
}

#[test]
fn text_is_not_taken_for_a_trace() {
    assert!(is_perfetto(&trace(&small())));
    assert!(is_perfetto(&trace(&small())[..40]), "the first packet may be long");
    for text in ["", "\n", "\n w-3 [000] d..1. 50.3: timer_cancel: timer=00000000aaaa0040\n", "\n[{}]"] {
        assert!(!is_perfetto(text.as_bytes()), "{text}");
    }
}
