use super::serve::{at, fill, fill_some, Phase, Served};
use super::{calls, Host};
use crate::codes::*;
use crate::{Deal, End, Failure};
use std::collections::BTreeMap;

/// An instance that a strategy assigns items to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// Its id.
    pub id: String,
    /// The labels of its server.
    pub labels: BTreeMap<String, String>,
}

impl Host {
    /// Runs a strategy and returns the index of the instance for each item; it fails if
    /// an item is not assigned.
    pub fn deal<R: End>(
        &mut self,
        deal: impl FnOnce(&mut Deal) -> R,
    ) -> Result<Vec<usize>, Failure> {
        let mut dealt = Vec::new();
        self.enter(Phase::Shard, || {
            let end = deal(&mut Deal::new()).end();
            dealt = calls::with(|s| std::mem::take(&mut s.dealt));
            end
        })?;
        let placed = dealt.into_iter().enumerate();
        placed
            .map(|(item, to)| to.ok_or_else(|| Failure::new(format!("item {item} is not placed"))))
            .collect()
    }
}

impl Served {
    pub(super) fn shard_instance_count(&self) -> i32 {
        if self.in_job() {
            return ERR_WRONG_PHASE;
        }
        self.host.instances.len() as i32
    }

    pub(super) fn shard_instance_id(&self, instance: i32, buf: &mut [u8]) -> i32 {
        match at(&self.host.instances, instance) {
            _ if self.in_job() => ERR_WRONG_PHASE,
            None => ERR_INVALID,
            Some(i) => fill(buf, i.id.as_bytes()),
        }
    }

    pub(super) fn shard_instance_label(&self, instance: i32, key: &str, buf: &mut [u8]) -> i32 {
        match at(&self.host.instances, instance) {
            _ if self.in_job() => ERR_WRONG_PHASE,
            None => ERR_INVALID,
            Some(i) => fill_some(buf, i.labels.get(key)),
        }
    }

    pub(super) fn shard_prev(&self, item: i32) -> i32 {
        match usize::try_from(item) {
            _ if self.in_job() => ERR_WRONG_PHASE,
            Ok(i) if i < self.host.total => {
                let owner = self.host.owners.get(i).copied().flatten();
                owner.map_or(ERR_NOT_FOUND, |instance| instance as i32)
            }
            _ => ERR_INVALID,
        }
    }

    pub(super) fn shard_assign(&mut self, item: i32, instance: i32) -> i32 {
        if self.in_job() {
            return ERR_WRONG_PHASE;
        }
        // A negative number becomes one that is too large.
        let (item, instance) = (item as u32 as usize, instance as u32 as usize);
        let known = instance < self.host.instances.len();
        match self.dealt.get_mut(item) {
            Some(place) if known => match place {
                Some(_) => ERR_CONFLICT,
                None => {
                    *place = Some(instance);
                    0
                }
            },
            _ => ERR_INVALID,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Request};

    fn two() -> Vec<Instance> {
        let labels = BTreeMap::from([("weight".to_string(), "2".to_string())]);
        let b = Instance {
            id: "b".into(),
            labels,
        };
        vec![
            b,
            Instance {
                id: "a".into(),
                ..Instance::default()
            },
        ]
    }

    #[test]
    fn strategies() {
        let mut host = Host {
            total: 3,
            instances: two(),
            owners: vec![None, Some(1)],
            config: BTreeMap::from([("k".into(), "v".into())]),
            ..Host::default()
        };
        let dealt = host.deal(|d| -> crate::Result {
            let told: Vec<_> = d
                .instances()
                .map(|i| (i.index(), i.id(), i.label("weight")))
                .collect();
            assert_eq!(
                told,
                [(0, "b".into(), Some("2".into())), (1, "a".into(), None)]
            );
            assert_eq!(
                (0..4).map(|i| d.owner(i)).collect::<Vec<_>>(),
                [None, Some(1), None, None]
            );
            assert_eq!(
                (d.job_name(), d.config("k"), d.seed()),
                ("job".into(), Some("v".into()), "5eed".into())
            );
            for item in 0..d.total() {
                d.assign(item, item % 2)?;
            }
            assert_eq!(d.assign(0, 0), Err(Error::Conflict));
            assert_eq!(
                (d.assign(3, 0), d.assign(0, 2)),
                (Err(Error::Invalid), Err(Error::Invalid))
            );
            assert_eq!(
                Request::get("https://example.org/").send().err(),
                Some(Error::WrongPhase)
            );
            Ok(())
        });
        assert_eq!(dealt.unwrap(), [0, 1, 0]);
        let partial = host.deal(|d| d.assign(0, 0));
        assert_eq!(partial.unwrap_err().reason(), "item 1 is not placed");
    }
}
