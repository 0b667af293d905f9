use crate::{case, unknown};
use wasmjob::{Deal, Error, Failure};

/// Assigns the items in the way that the case names.
pub(crate) fn deal(d: &mut Deal) -> wasmjob::Result {
    let items = 0..d.total();
    match case(&d.job_param()).0 {
        "modulo" => {
            let n = d.instances().len();
            for item in items {
                d.assign(item, item % n)?;
            }
        }
        "heaviest" => {
            let to = heaviest(d)?;
            for item in items {
                d.assign(item, to)?;
            }
        }
        "sticky" => {
            for item in items {
                d.assign(item, d.owner(item).unwrap_or(0))?;
            }
        }
        "partial" => {
            for item in items.skip(1) {
                d.assign(item - 1, 0)?;
            }
        }
        "twice" => {
            d.assign(0, 0)?;
            if d.assign(0, 0) == Err(Error::Conflict) {
                return Err(Failure::new("conflict"));
            }
        }
        "panic" => panic!("it broke"),
        other => return unknown(other),
    }
    Ok(())
}

/// The instance whose server has the largest weight; without the label it is 1.
fn heaviest(d: &Deal) -> wasmjob::Result<usize> {
    let mut best = (0, 0);
    for instance in d.instances() {
        let label = instance.label("weight");
        let weight: u64 = label.map_or(Ok(1), |w| w.parse())?;
        if weight > best.0 {
            best = (weight, instance.index());
        }
    }
    Ok(best.1)
}
