//! A dataflow job that reads a stream of records. Each run begins where the last
//! batch ended: that offset is in the state of the item, and changes only with a
//! batch that succeeded. So each record counts once, whatever fails in between.
//!
//! The records are made up, in place of those of a queue or a table. The setting
//! `records` says how many there are; 1000 if it is not set. Record n is the text
//! `n,amount`, and belongs to item n modulo the number of items. Every hundredth
//! is damaged: it is marked as failed, and the others of its batch are done.
//!
//! ```toml
//! [jobs.offsets.allow]
//! state = true
//! ```
//!
//! ```sh
//! cargo build --release --target wasm32-unknown-unknown
//! ```

use wasmjob::{Ack, Batch, Context, Elements};

wasmjob::dataflow!(fetch, process);

const BATCH: usize = 100; // unless the job wants another number

/// Fills a batch with the item's next records.
fn fetch(b: &mut Batch) -> wasmjob::Result {
    let records = match b.config("records") {
        Some(n) => n.parse()?,
        None => 1000,
    };
    let mine = (b.item()..records).step_by(b.total());
    let offset = number(b, "offset")? as usize;
    for n in mine.skip(offset).take(b.fetch_count().unwrap_or(BATCH)) {
        b.add(record(n))?;
    }
    Ok(())
}

/// Adds the amounts of the batch to the sum, and moves the offset.
fn process(all: &Elements) -> wasmjob::Result {
    let mut sum = number(all, "sum")?;
    let mut line = Vec::new();
    for element in all.iter() {
        element.read_into(&mut line)?;
        match amount(&line) {
            Some(amount) => {
                sum += amount;
                element.ack(Ack::Done)?;
            }
            None => {
                wasmjob::warn!("damaged: {:?}", String::from_utf8_lossy(&line));
                element.ack(Ack::Failed)?;
            }
        }
    }
    let offset = number(all, "offset")? + all.len() as u64;
    all.state().set("sum", sum.to_string())?;
    all.state().set("offset", offset.to_string())?;
    all.metric("records", all.len() as f64)?;
    Ok(all.set_result(format!("{offset} records, {sum} in all"))?)
}

/// A number from the state, 0 if it was never set.
fn number(c: &Context, key: &str) -> wasmjob::Result<u64> {
    let text = c.state().get_text(key)?;
    Ok(text.map_or(Ok(0), |t| t.parse())?)
}

/// Record n; every hundredth has no amount.
fn record(n: usize) -> String {
    match n % 100 {
        99 => format!("{n},?"),
        cents => format!("{n},{cents}"),
    }
}

/// The amount of a record; `None` if it is damaged.
fn amount(record: &[u8]) -> Option<u64> {
    let (_, amount) = std::str::from_utf8(record).ok()?.split_once(',')?;
    amount.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use wasmjob::fake::{Flow, Host};
    use wasmjob::Failure;

    fn host(item: usize) -> Host {
        Host {
            item,
            total: 2,
            streaming: true,
            state: Some(BTreeMap::new()),
            config: BTreeMap::from([("records".to_string(), "500".to_string())]),
            ..Host::default()
        }
    }

    fn state(h: &Host, key: &str) -> String {
        let values = h.state.as_ref().unwrap();
        let value = values.get(key).cloned().unwrap_or_default();
        String::from_utf8(value).unwrap()
    }

    #[test]
    fn every_record_counts_once() {
        let (mut even, mut odd) = (host(0), host(1));
        even.dataflow(fetch, process).unwrap();
        odd.dataflow(fetch, process).unwrap();
        let flow = |done, failed| Flow {
            batches: 3,
            done,
            failed,
        };
        assert_eq!((even.flow, odd.flow), (flow(250, 0), flow(245, 5)));
        assert_eq!(
            (state(&even, "sum"), state(&odd, "sum")),
            ("12250".into(), "12005".into())
        );
        assert_eq!(odd.result_text(), "250 records, 12005 in all");
        assert_eq!((odd.metrics["records"], odd.logs.len()), (250.0, 5));
        assert_eq!(even.dataflow(fetch, process).unwrap_err().code(), 3);
    }

    #[test]
    fn a_failed_batch_is_read_again() {
        let mut h = host(0);
        (h.streaming, h.fetch_count) = (false, Some(10));
        h.dataflow(fetch, process).unwrap();
        let late = |all: &Elements| process(all).and(Err(Failure::new("the server is gone")));
        h.dataflow(fetch, late).unwrap_err();
        assert_eq!(state(&h, "offset"), "10");
        h.dataflow(fetch, process).unwrap();
        assert_eq!(
            (state(&h, "offset"), h.result_text()),
            ("20".into(), "20 records, 380 in all".into())
        );
    }

    #[test]
    fn damaged_text_is_told() {
        for bad in ["", "1", "1,", "1,x", "1,-2"] {
            assert_eq!(amount(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!((amount(b"1,20"), amount(b"1,\xff")), (Some(20), None));
        let mut h = host(0);
        h.config = BTreeMap::from([("records".into(), "many".into())]);
        assert_eq!(h.dataflow(fetch, process).unwrap_err().code(), 1);
    }
}
