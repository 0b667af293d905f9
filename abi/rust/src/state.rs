use crate::{host, read, Context, Error};
use std::marker::PhantomData;

/// The state of an item, which is kept from run to run, wherever it runs.
///
/// A change is visible at once and kept if the entry succeeds; changes of a failed run
/// are discarded. In a dataflow job that applies to each batch.
#[derive(Clone, Copy)]
pub struct State<'a> {
    run: PhantomData<&'a Context>,
}

impl State<'_> {
    pub(crate) fn new(_: &Context) -> State<'_> {
        State { run: PhantomData }
    }

    /// A value, if there is one.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        read::optional(read::bytes(&mut |buf| host::state_get(key, buf)))
    }

    /// A value as text, if there is one; invalid UTF-8 is replaced.
    pub fn get_text(&self, key: &str) -> Result<Option<String>, Error> {
        Ok(self.get(key)?.map(read::mend))
    }

    /// Sets a value. [`Error::Invalid`] for a key that is empty or longer than 256 bytes,
    /// [`Error::Limit`] if the item would hold too much.
    pub fn set(&self, key: &str, value: impl AsRef<[u8]>) -> Result<(), Error> {
        Error::check(host::state_set(key, value.as_ref())).map(drop)
    }

    /// Removes a value and returns whether there was one.
    pub fn delete(&self, key: &str) -> Result<bool, Error> {
        let gone = Error::check(host::state_delete(key)).map(drop);
        Ok(read::optional(gone)?.is_some())
    }
}
