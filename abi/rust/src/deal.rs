use crate::codes::*;
use crate::{context, host, read, Error};

/// The input of a sharding strategy, which assigns each item to one instance.
///
/// A strategy has no grants, no clock and no real random numbers: the host runs it twice
/// and uses the result only if both agree and every item is assigned.
pub struct Deal {
    _asked: (),
}

impl Deal {
    pub(crate) fn new() -> Self {
        Deal { _asked: () }
    }

    /// The name of the job.
    pub fn job_name(&self) -> String {
        context::text(FIELD_JOB_NAME).unwrap_or_default()
    }

    /// The parameter of the job.
    pub fn job_param(&self) -> String {
        context::text(FIELD_JOB_PARAM).unwrap_or_default()
    }

    /// The namespace of the registry.
    pub fn namespace(&self) -> String {
        context::text(FIELD_NAMESPACE).unwrap_or_default()
    }

    /// Hex digits that differ between inputs.
    pub fn seed(&self) -> String {
        context::text(FIELD_SEED).unwrap_or_default()
    }

    /// A setting of the job's table `config`, if it is set.
    pub fn config(&self, key: &str) -> Option<String> {
        context::config(key)
    }

    /// The number of items to assign; they are 0 to `total() - 1`.
    pub fn total(&self) -> usize {
        context::count(FIELD_SHARDING_TOTAL)
    }

    /// The instances to assign to, in descending order of their ids, as the built-in
    /// strategies get them.
    pub fn instances(&self) -> impl ExactSizeIterator<Item = Instance> {
        let count = Error::check(host::shard_instance_count()).unwrap_or(0);
        (0..count).map(|index| Instance { index })
    }

    /// The index of the instance that owns the item now, if one of these does.
    pub fn owner(&self, item: usize) -> Option<usize> {
        Error::check(host::shard_prev(item as i32)).ok()
    }

    /// Assigns an item to the instance with an index. [`Error::Invalid`] if there is no
    /// such item or instance, [`Error::Conflict`] if the item was assigned before.
    pub fn assign(&mut self, item: usize, instance: usize) -> Result<(), Error> {
        Error::check(host::shard_assign(item as i32, instance as i32)).map(drop)
    }
}

/// An instance that a strategy may assign items to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    index: usize,
}

impl Instance {
    /// Its index, for [`Deal::assign`].
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its id.
    pub fn id(&self) -> String {
        read::text(&mut |buf| host::shard_instance_id(self.index as i32, buf)).unwrap_or_default()
    }

    /// A label of its server, if there is one of that name.
    pub fn label(&self, key: &str) -> Option<String> {
        read::text(&mut |buf| host::shard_instance_label(self.index as i32, key, buf)).ok()
    }
}
