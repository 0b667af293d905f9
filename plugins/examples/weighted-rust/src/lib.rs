//! A sharding strategy that assigns items in proportion to the label `weight` of
//! each server, and moves as few of them as that allows.
//!
//! A weight is a whole number up to a billion; without the label it is 1. A
//! server of weight 0 gets nothing, unless all have 0: then all count as 1.
//!
//! An instance's share is its part of the weights times the number of items,
//! rounded up or down. Rounding up comes first for instances that own more items
//! now than the rounded-down share, since each keeps an item in this way; then
//! for those that would lose most by rounding down.
//!
//! ```sh
//! cargo build --release --target wasm32-unknown-unknown
//! ```

mod plan;

use plan::plan;
use wasmjob::{Deal, Failure, Instance};

const HEAVIEST: u64 = 1_000_000_000;

wasmjob::strategy!(deal);

/// Assigns each item to the instance that `plan` gives it to.
fn deal(d: &mut Deal) -> wasmjob::Result {
    let weights: Vec<u64> = d.instances().map(weight).collect::<wasmjob::Result<_>>()?;
    if weights.is_empty() {
        return Err(Failure::new("there is no instance to deal to"));
    }
    let owners: Vec<Option<usize>> = (0..d.total()).map(|item| d.owner(item)).collect();
    for (item, instance) in plan(&weights, &owners).into_iter().enumerate() {
        d.assign(item, instance)?;
    }
    Ok(())
}

/// The weight of an instance: the label of its server, or 1.
fn weight(instance: Instance) -> wasmjob::Result<u64> {
    let Some(label) = instance.label("weight") else {
        return Ok(1);
    };
    match label.parse() {
        Ok(weight) if weight <= HEAVIEST => Ok(weight),
        _ => Err(Failure::new(format!(
            "the weight of {} is {label:?}, not a whole number up to {HEAVIEST}",
            instance.id()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::deal;
    use wasmjob::fake::{Host, Instance};

    fn host(total: usize, weights: &[Option<&str>]) -> Host {
        let instance = |(i, weight): (usize, &Option<&str>)| Instance {
            id: format!("10.0.0.{i}@-@1"),
            labels: weight
                .iter()
                .map(|w| ("weight".to_string(), w.to_string()))
                .collect(),
        };
        Host {
            total,
            instances: weights.iter().enumerate().map(instance).collect(),
            ..Host::default()
        }
    }

    #[test]
    fn labels_are_weights() {
        let mut h = host(6, &[Some("2"), None, Some("0"), Some("3")]);
        assert_eq!(h.deal(deal).unwrap(), [0, 0, 1, 3, 3, 3]);
        h.owners = [3, 0, 3, 0, 1, 3].map(Some).to_vec();
        assert_eq!(h.deal(deal).unwrap(), [3, 0, 3, 0, 1, 3]);
    }

    #[test]
    fn what_is_no_weight_is_named() {
        for bad in ["", "-1", "1.5", "heavy", "1000000001"] {
            let e = host(2, &[None, Some(bad)]).deal(deal).unwrap_err();
            assert!(
                e.reason().contains("10.0.0.1@-@1") && e.reason().contains(&format!("{bad:?}")),
                "{e}"
            );
        }
        assert_eq!(
            host(1, &[]).deal(deal).unwrap_err().reason(),
            "there is no instance to deal to"
        );
    }
}
