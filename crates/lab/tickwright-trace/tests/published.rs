//! Tests the recordings that ship with the program, which are also published as tables.

use std::fs::File;
use std::io::{BufReader, Read};

use flate2::read::GzDecoder;
use tickwright_trace::Reader;
use tickwright_trace::text::to_csv;

#[test]
fn the_tables_of_the_recordings_that_ship_have_their_events() {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../tickwright-lab/samples");
    for name in ["bind9", "unbound"] {
        let open = |end| BufReader::new(File::open(format!("{samples}/{name}.{end}")).unwrap());
        let mut exported = Vec::new();
        to_csv(&mut Reader::new(open("twt")).unwrap(), &mut exported).unwrap();
        let mut table = Vec::new();
        GzDecoder::new(open("csv.gz")).read_to_end(&mut table).unwrap();
        assert!(exported == table, "{name}: {}", String::from_utf8_lossy(&exported[..300]));
    }
}
