use crate::codes::*;
use crate::{host, read, Context, Error};
use std::ops::Deref;

/// The batch that `fetch` of a dataflow job fills; also its [`Context`].
///
/// An empty batch ends the run.
pub struct Batch {
    context: Context,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Batch {
            context: Context::new(),
        }
    }

    /// Adds an element and returns its index. [`Error::Limit`] if the batch is full; the
    /// elements added before stay.
    pub fn add(&mut self, element: impl AsRef<[u8]>) -> Result<usize, Error> {
        Error::check(host::batch_add(element.as_ref()))
    }
}

impl Deref for Batch {
    type Target = Context;
    fn deref(&self) -> &Context {
        &self.context
    }
}

/// The batch that `process` of a dataflow job handles; also its [`Context`].
///
/// An element without an outcome is done if `process` succeeds, and failed if not.
pub struct Elements {
    context: Context,
}

impl Elements {
    pub(crate) fn new() -> Self {
        Elements {
            context: Context::new(),
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        Error::check(host::batch_count()).unwrap_or(0)
    }

    /// Whether there are none, which happens only in tests of `process`.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Element<'_>> {
        (0..self.len()).map(|index| Element { of: self, index })
    }
}

impl Deref for Elements {
    type Target = Context;
    fn deref(&self) -> &Context {
        &self.context
    }
}

/// The outcome of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Ack {
    /// It is done.
    Done = ACK_DONE,
    /// It has failed.
    Failed = ACK_FAILED,
    /// It is passed to `process` again.
    Retry = ACK_RETRY,
}

/// One element of a batch. It is read on request.
#[derive(Clone, Copy)]
pub struct Element<'a> {
    of: &'a Elements,
    index: usize,
}

impl Element<'_> {
    /// Its index in the batch.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The context of the run.
    pub fn context(&self) -> &Context {
        self.of
    }

    /// Its bytes.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        read::bytes(&mut |buf| host::batch_read(self.index as i32, buf))
    }

    /// Its bytes, in a buffer that can be reused.
    pub fn read_into(&self, buf: &mut Vec<u8>) -> Result<(), Error> {
        buf.resize(buf.capacity(), 0);
        read::into(buf, &mut |buf| host::batch_read(self.index as i32, buf))
    }

    /// Its bytes as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> Result<String, Error> {
        self.bytes().map(read::mend)
    }

    /// Sets its outcome; a later call replaces it.
    pub fn ack(&self, outcome: Ack) -> Result<(), Error> {
        Error::check(host::batch_ack(self.index as i32, outcome as i32)).map(drop)
    }
}
