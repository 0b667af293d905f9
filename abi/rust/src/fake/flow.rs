use super::serve::{at, fill, Phase, Served};
use super::Host;
use crate::codes::*;
use crate::{Ack, Batch, Elements, End, Failure};

/// The outcomes of the elements of a dataflow job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// The number of batches.
    pub batches: usize,
    /// The number of elements that are done.
    pub done: usize,
    /// The number of elements that failed.
    pub failed: usize,
}

impl Host {
    /// Runs fetch, which fills [`Host::batch`].
    pub fn fetch<R: End>(&mut self, fetch: impl FnOnce(&mut Batch) -> R) -> Result<(), Failure> {
        self.batch.clear();
        self.enter(Phase::Fetch, || fetch(&mut Batch::new()).end())
    }

    /// Runs process on [`Host::batch`].
    pub fn process<R: End>(&mut self, process: impl FnOnce(&Elements) -> R) -> Result<(), Failure> {
        self.acks = vec![None; self.batch.len()];
        self.enter(Phase::Process, || process(&Elements::new()).end())
    }

    /// Runs a dataflow job as a host does: one batch, or batch after batch if it is
    /// streaming, and each once more for the elements to be retried.
    pub fn dataflow<A: End, B: End>(
        &mut self,
        mut fetch: impl FnMut(&mut Batch) -> A,
        mut process: impl FnMut(&Elements) -> B,
    ) -> Result<(), Failure> {
        self.flow = Flow::default();
        loop {
            let before = self.state.clone();
            match self.fetch(&mut fetch) {
                Err(failure) if failure.code() != RESULT_SKIPPED => return Err(failure),
                Err(_) => self.batch.clear(),
                Ok(()) => {}
            }
            if self.batch.is_empty() {
                return match self.flow.batches {
                    0 => Err(Failure::skip("the batch is empty")),
                    _ => Ok(()),
                };
            }
            self.flow.batches += 1;
            if let Err(failure) = self.batch_done(&mut process) {
                self.state = before;
                return Err(failure);
            }
            let stop = self.stop.as_mut().and_then(|stop| stop());
            if !self.streaming || stop.is_some() {
                return Ok(());
            }
        }
    }

    /// Runs process on the batch, once more for the elements that it wants again, and
    /// counts the outcomes.
    fn batch_done<R: End>(
        &mut self,
        process: &mut impl FnMut(&Elements) -> R,
    ) -> Result<(), Failure> {
        for last in [false, true] {
            let end = self.process(&mut *process);
            let mut again = Vec::new();
            for (element, ack) in self.batch.iter().zip(&self.acks) {
                match (ack, &end) {
                    (Some(Ack::Done), _) | (None, Ok(())) => self.flow.done += 1,
                    (Some(Ack::Retry), Ok(())) if !last => again.push(element.clone()),
                    _ => self.flow.failed += 1,
                }
            }
            end?;
            if again.is_empty() {
                break;
            }
            self.batch = again;
        }
        Ok(())
    }
}

impl Served {
    pub(super) fn batch_add(&mut self, element: &[u8]) -> i32 {
        if self.phase != Phase::Fetch {
            return ERR_WRONG_PHASE;
        }
        self.host.batch.push(element.to_vec());
        self.host.batch.len() as i32 - 1
    }

    pub(super) fn batch_count(&self) -> i32 {
        if self.phase != Phase::Process {
            return ERR_WRONG_PHASE;
        }
        self.host.batch.len() as i32
    }

    pub(super) fn batch_read(&self, index: i32, buf: &mut [u8]) -> i32 {
        if self.phase != Phase::Process {
            return ERR_WRONG_PHASE;
        }
        at(&self.host.batch, index).map_or(ERR_INVALID, |element| fill(buf, element))
    }

    pub(super) fn batch_ack(&mut self, index: i32, outcome: i32) -> i32 {
        if self.phase != Phase::Process {
            return ERR_WRONG_PHASE;
        }
        let place = usize::try_from(index)
            .ok()
            .and_then(|i| self.host.acks.get_mut(i));
        let Some(place) = place else {
            return ERR_INVALID;
        };
        *place = Some(match outcome {
            ACK_DONE => Ack::Done,
            ACK_RETRY => Ack::Retry,
            _ => Ack::Failed,
        });
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stop;
    use std::collections::BTreeMap;

    fn numbers(b: &mut Batch) -> crate::Result {
        let from: usize = b.state().get_text("offset")?.map_or(Ok(0), |t| t.parse())?;
        for n in from..7.min(from + 3) {
            assert_eq!(b.add(n.to_string())?, n - from);
        }
        Ok(())
    }

    fn sum(all: &Elements) -> crate::Result {
        let mut last = None;
        for element in all.iter() {
            last = Some(element.text()?.parse::<u64>()?);
        }
        if let Some(n) = last {
            all.state().set("offset", (n + 1).to_string())?;
        }
        Ok(())
    }

    #[test]
    fn a_streaming_job_goes_on_until_a_batch_is_empty() {
        let mut host = Host {
            state: Some(BTreeMap::new()),
            streaming: true,
            ..Host::default()
        };
        host.dataflow(numbers, sum).unwrap();
        assert_eq!(
            host.flow,
            Flow {
                batches: 3,
                done: 7,
                failed: 0
            }
        );
        assert_eq!(host.state.as_ref().unwrap()["offset"], b"7");
        assert_eq!(host.dataflow(numbers, sum).unwrap_err().code(), 3);
        host.state = Some(BTreeMap::new());
        host.stop = Some(Box::new(|| Some(Stop::Shutdown)));
        host.dataflow(numbers, sum).unwrap();
        assert_eq!(host.flow.batches, 1);
    }

    #[test]
    fn marks_are_counted_and_retried_once() {
        let mut host = Host::default();
        let mut rounds = Vec::new();
        let fetch = |b: &mut Batch| (0..4).try_for_each(|i| b.add([i]).map(drop));
        let process = |all: &Elements| -> crate::Result {
            let mut buf = Vec::new();
            let mut seen = Vec::new();
            for e in all.iter() {
                e.read_into(&mut buf)?;
                seen.extend_from_slice(&buf);
                match buf[0] {
                    0 => e.ack(Ack::Done)?,
                    1 => e.ack(Ack::Failed)?,
                    2 => e.ack(Ack::Retry)?,
                    _ => {}
                }
            }
            rounds.push(seen);
            Ok(())
        };
        host.dataflow(fetch, process).unwrap();
        assert_eq!(rounds, [vec![0, 1, 2, 3], vec![2]]);
        assert_eq!(
            host.flow,
            Flow {
                batches: 1,
                done: 2,
                failed: 2
            }
        );
    }

    #[test]
    fn a_failed_batch_takes_back_what_fetch_set() {
        let mut host = Host {
            state: Some(BTreeMap::new()),
            ..Host::default()
        };
        let fetch = |b: &mut Batch| -> crate::Result {
            b.state().set("k", "v")?;
            b.add("x")?;
            Ok(())
        };
        let process = |all: &Elements| -> crate::Result {
            assert_eq!(all.state().get_text("k")?.as_deref(), Some("v"));
            Err(Failure::new("bad batch"))
        };
        assert_eq!(
            host.dataflow(fetch, process),
            Err(Failure::new("bad batch"))
        );
        assert_eq!(
            host.flow,
            Flow {
                batches: 1,
                done: 0,
                failed: 1
            }
        );
        assert!(host.state.unwrap().is_empty());
    }
}
