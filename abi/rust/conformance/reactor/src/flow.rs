use crate::{case, unknown};
use std::sync::atomic::{AtomicUsize, Ordering};
use wasmjob::{Ack, Batch, Context, Elements, Error, Failure};

/// The number of fetches of this instance, which serves the whole run.
static FETCHED: AtomicUsize = AtomicUsize::new(0);

/// Fills a batch for the case. In the case `flow` each batch is one smaller.
pub(crate) fn fetch(b: &mut Batch) -> wasmjob::Result {
    let param = b.job_param();
    let (name, argument) = case(&param);
    let count = match name {
        "flow" => {
            let before = FETCHED.fetch_add(1, Ordering::Relaxed);
            argument.parse::<usize>()?.saturating_sub(before)
        }
        "flowfail" | "flowpanic" => 1,
        "flowack" => 3,
        "offset" => {
            let from = offset(b)?;
            for n in from..7.min(from + 3) {
                b.add(n.to_string())?;
            }
            return Ok(());
        }
        _ => return unknown(name),
    };
    for i in 0..count {
        b.add(format!("e{i}"))?;
    }
    Ok(())
}

/// Where the next batch begins.
fn offset(c: &Context) -> wasmjob::Result<u64> {
    let text = c.state().get_text("offset")?;
    Ok(text.map_or(Ok(0), |t| t.parse())?)
}

/// Handles the batch in the way that the case names.
pub(crate) fn process(all: &Elements) -> wasmjob::Result {
    match case(&all.job_param()).0 {
        "flow" => {
            let texts = texts(all)?;
            all.metric("seen", texts.len() as f64)?;
            all.set_result(texts.join(","))?;
        }
        "flowfail" => return Err(Failure::new("bad batch")),
        "flowpanic" => {
            wasmjob::info!("processing");
            panic!("it broke");
        }
        "flowack" => {
            for (element, outcome) in all.iter().zip([Ack::Done, Ack::Failed, Ack::Retry]) {
                // A batch that is passed again has only the element that was marked for
                // that.
                let again = all.len() == 1;
                element.ack(if again { Ack::Retry } else { outcome })?;
            }
        }
        "offset" => {
            if let Some(last) = texts(all)?.last() {
                let next = (last.parse::<u64>()? + 1).to_string();
                all.state().set("offset", &next)?;
                all.set_result(next)?;
            }
        }
        other => return unknown(other),
    }
    Ok(())
}

/// The elements as texts.
fn texts(all: &Elements) -> Result<Vec<String>, Error> {
    all.iter().map(|e| e.text()).collect()
}
