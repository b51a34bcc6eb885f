//! Traces as Parquet files, for engines that query the columns of many files.
//!
//! ```text
//!   event time_ns kind   timer deadline_ns period_ns thread cpu  base site
//!       0    1000 arm        7     5000000         0 worker   0  NULL server.c:77
//!       1   90000 cancel     7        NULL      NULL worker   0  NULL NULL
//! ```
//! Each event is a row. `event` numbers the events from 0, because rows of a table have no order,
//! and times can be equal or go backwards. The other columns are the same as in CSV. An unknown
//! value is `NULL`.
//!
//! The metadata of the file have the header of the trace as JSON (`tickwright.header`). If the end
//! of the trace was read, the metadata also have the number of lost events
//! (`tickwright.lost_events`). For a trace that ended too early, the metadata have the error
//! (`tickwright.damage`). The metadata hold all remarks of the trace as one text
//! (`tickwright.remarks`).

use std::io::{self, Read, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding};
use ::parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::ColumnPath;

use crate::error::TraceError;
use crate::event::Event;
use crate::reader::Reader;

/// The columns. The columns of text use dictionary encoding.
const SCHEMA: &str = "message trace {
    required int64 event;
    required int64 time_ns;
    required binary kind (STRING);
    required int64 timer (INTEGER(64, false));
    optional int64 deadline_ns;
    optional int64 period_ns (INTEGER(64, false));
    optional binary thread (STRING);
    optional int32 cpu;
    optional binary base (STRING);
    optional binary site (STRING);
}";

/// A row group ends with the first block after which it has at least this many rows. The writer
/// keeps the events of one row group in memory, some 50 bytes per event.
const ROWS: usize = 1 << 18;

/// How many rows are converted at once.
const BATCH: usize = 4096;

/// Writes a trace as a Parquet file. Returns the number of events.
///
/// Memory is bounded by a row group of 262,144 events and by the names of the trace. Each row group
/// adds some kB.
///
/// # Errors
/// The errors of [`Reader::next_block`]. The file is then complete, with the events before the
/// damage. [`TraceError::Io`] if the file cannot be written.
pub fn to_parquet<R: Read, W: Write + Send>(reader: &mut Reader<R>, to: W) -> Result<u64, TraceError> {
    write(reader, to, ROWS)
}

/// Writes row groups of `rows` events or slightly more.
fn write<R: Read, W: Write + Send>(reader: &mut Reader<R>, to: W, rows: usize) -> Result<u64, TraceError> {
    let mut table = Table::new(to).map_err(failed)?;
    let done = loop {
        match reader.next_block() {
            Ok(Some(block)) => table.events.extend_from_slice(block),
            Ok(None) => break Ok(reader.events_read()),
            Err(error) => break Err(error),
        }
        if table.events.len() >= rows {
            table.write_group(reader).map_err(failed)?;
        }
    };
    if !table.events.is_empty() {
        table.write_group(reader).map_err(failed)?;
    }
    let mut about = vec![
        ("tickwright.header", Some(serde_json::to_string(reader.header()).map_err(io::Error::from)?)),
        ("tickwright.lost_events", reader.lost_total().map(|lost| lost.to_string())),
    ];
    if !reader.remarks().is_empty() {
        let remarks: Vec<String> = reader.remarks().iter().map(ToString::to_string).collect();
        about.push(("tickwright.remarks", Some(remarks.join("; "))));
    }
    match &done {
        Err(damage) => about.push(("tickwright.damage", Some(damage.to_string()))),
        Ok(_) if !reader.is_complete() => {
            about.push(("tickwright.damage", Some(crate::text::NO_END.into())));
        }
        Ok(_) => {}
    }
    table.finish(about).map_err(failed)?;
    done
}

/// A file that is being written.
struct Table<W: Write + Send> {
    file: SerializedFileWriter<W>,
    /// The number of events in finished row groups.
    written: i64,
    /// The events of the next row group.
    events: Vec<Event>,
}

impl<W: Write + Send> Table<W> {
    fn new(to: W) -> Result<Self, ParquetError> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("tickwright version ", env!("CARGO_PKG_VERSION")).into())
            .set_compression(Compression::LZ4_RAW)
            .set_statistics_enabled(EnabledStatistics::Chunk);
        // Adjacent values in this column are close but seldom equal.
        for name in ["event", "time_ns", "timer", "deadline_ns"] {
            let column = ColumnPath::from(name);
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
        let file = SerializedFileWriter::new(to, schema, Arc::new(properties.build()))?;
        Ok(Self { file, written: 0, events: Vec::new() })
    }

    /// Writes the events as a row group.
    fn write_group<R: Read>(&mut self, reader: &Reader<R>) -> Result<(), ParquetError> {
        let Self { file, events, written } = self;
        let (threads, sites, bases) = (reader.threads(), reader.sites(), &reader.header().bases);
        let mut number = *written..;
        let mut group = file.next_row_group()?;
        let mut rows = Rows { group: &mut group, events };
        rows.column::<Int64Type>(|_| number.next())?;
        rows.column::<Int64Type>(|event| Some(event.time))?;
        rows.column::<ByteArrayType>(|event| Some(event.what.name().into()))?;
        rows.column::<Int64Type>(|event| Some(event.timer.cast_signed()))?;
        rows.column::<Int64Type>(|event| event.what.deadline())?;
        rows.column::<Int64Type>(|event| event.what.armed().map(|(_, period)| period.cast_signed()))?;
        rows.column::<ByteArrayType>(|event| threads.get(event.thread).map(Into::into))?;
        rows.column::<Int32Type>(|event| event.cpu.checked_sub(1).map(i32::from))?;
        rows.column::<ByteArrayType>(|event| {
            bases.get(usize::from(event.base)).map(|base| base.name.as_str().into())
        })?;
        rows.column::<ByteArrayType>(|event| sites.get(event.site).map(Into::into))?;
        group.close()?;
        *written += i64::try_from(events.len()).unwrap_or(i64::MAX);
        events.clear();
        Ok(())
    }

    fn finish(mut self, about: Vec<(&str, Option<String>)>) -> Result<(), ParquetError> {
        for (key, value) in about {
            if value.is_some() {
                self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
            }
        }
        self.file.finish().map(drop)
    }
}

/// The events of a row group, to be written column by column.
struct Rows<'r, 'g, W: Write> {
    group: &'r mut SerializedRowGroupWriter<'g, W>,
    events: &'r [Event],
}

impl<W: Write + Send> Rows<'_, '_, W> {
    /// Writes the next column of the schema.
    fn column<T: DataType>(
        &mut self,
        mut value: impl FnMut(&Event) -> Option<T::T>,
    ) -> Result<(), ParquetError> {
        let missing = || ParquetError::General("the schema has fewer columns".into());
        let mut column = self.group.next_column()?.ok_or_else(missing)?;
        let writer = column.typed::<T>();
        let is_optional = writer.get_descriptor().max_def_level() > 0;
        let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        for events in self.events.chunks(BATCH) {
            values.clear();
            levels.clear();
            for event in events {
                let value = value(event);
                levels.push(i16::from(value.is_some()));
                values.extend(value);
            }
            writer.write_batch(&values, is_optional.then_some(&levels[..]), None)?;
        }
        column.close()
    }
}

fn failed(error: ParquetError) -> TraceError {
    TraceError::Io(match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    })
}

#[cfg(test)]
mod tests;
