use super::{Answer, Host};
use crate::codes::*;
use crate::{Level, Timestamp};
use std::time::Duration;

/// The entry that is running.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Run,
    Fetch,
    Process,
    Shard,
}

/// A host while it runs an entry.
pub(super) struct Served {
    pub(super) host: Host,
    pub(super) dealt: Vec<Option<usize>>, // by item, the instance that a strategy gave it
    pub(super) phase: Phase,
    pub(super) answers: Vec<Option<(Answer, usize)>>, // by handle, with the number of bytes read
}

/// Handles a read: returns the full length, and writes the value if it fits.
pub(super) fn fill(buf: &mut [u8], value: &[u8]) -> i32 {
    if let Some(room) = buf.get_mut(..value.len()) {
        room.copy_from_slice(value);
    }
    value.len() as i32
}

/// Handles a read of a value that may be missing.
pub(super) fn fill_some(buf: &mut [u8], value: Option<impl AsRef<[u8]>>) -> i32 {
    value.map_or(ERR_NOT_FOUND, |v| fill(buf, v.as_ref()))
}

/// The element with an index of the guest, if there is one.
pub(super) fn at<T>(all: &[T], index: i32) -> Option<&T> {
    all.get(usize::try_from(index).ok()?)
}

impl Served {
    pub(super) fn new(host: Host, phase: Phase) -> Self {
        let dealt = vec![None; host.total];
        Served {
            host,
            dealt,
            phase,
            answers: Vec::new(),
        }
    }

    /// Whether a job runs, not a strategy. Most functions are only for jobs.
    pub(super) fn in_job(&self) -> bool {
        self.phase != Phase::Shard
    }

    pub(super) fn ctx_str(&self, field: i32, buf: &mut [u8]) -> i32 {
        let h = &self.host;
        match field {
            FIELD_JOB_NAME => fill(buf, h.job_name.as_bytes()),
            FIELD_TASK_ID => fill_some(buf, self.in_job().then_some(&h.task_id)),
            FIELD_JOB_PARAM => fill(buf, h.job_param.as_bytes()),
            FIELD_SHARDING_PARAM => fill_some(buf, h.param.as_ref()),
            FIELD_INSTANCE_ID => fill_some(buf, self.in_job().then_some(&h.instance)),
            FIELD_NAMESPACE => fill(buf, h.namespace.as_bytes()),
            FIELD_MODULE_DIGEST => fill(buf, h.module_digest.as_bytes()),
            FIELD_SEED => fill(buf, h.seed.as_bytes()),
            FIELD_RUN_ID => fill_some(buf, self.in_job().then_some(&h.run_id)),
            FIELD_REASON => fill_some(buf, h.ended.and(h.ended_reason.as_ref())),
            _ => ERR_UNKNOWN_FIELD,
        }
    }

    pub(super) fn ctx_int(&self, field: i32) -> i64 {
        let h = &self.host;
        match field {
            FIELD_SHARDING_TOTAL => h.total as i64,
            FIELD_SHARDING_ITEM => h.item as i64,
            FIELD_FIRE_TIME => h.fired.millis(),
            FIELD_DEADLINE => h.deadline.map_or(0, Timestamp::millis),
            FIELD_ATTEMPT => h.attempt as i64,
            FIELD_FAILOVER => h.failover.into(),
            FIELD_MISFIRE => h.misfire.into(),
            FIELD_HOST_MINOR => HOST_MINOR.into(),
            FIELD_STREAMING => h.streaming.into(),
            FIELD_FENCE => h.fence,
            FIELD_SCHEDULED_TIME => h.scheduled.millis(),
            FIELD_FETCH_COUNT => h.fetch_count.unwrap_or(0) as i64,
            FIELD_OUTCOME => h.ended.map_or(NO_INT, |e| e.code().into()),
            FIELD_FIRE_SUCCEEDED => h.fire.map_or(NO_INT, |f| f.succeeded as i64),
            FIELD_FIRE_FAILED => h.fire.map_or(NO_INT, |f| f.failed as i64),
            FIELD_FIRE_SKIPPED => h.fire.map_or(NO_INT, |f| f.skipped as i64),
            _ => NO_INT,
        }
    }

    pub(super) fn ctx_json(&self, buf: &mut [u8]) -> i32 {
        fill_some(buf, self.in_job().then_some(&self.host.json))
    }

    pub(super) fn config_get(&self, key: &str, buf: &mut [u8]) -> i32 {
        fill_some(buf, self.host.config.get(key))
    }

    pub(super) fn log(&mut self, level: i32, line: &str) {
        let level = match level {
            LEVEL_TRACE => Level::Trace,
            LEVEL_DEBUG => Level::Debug,
            LEVEL_INFO => Level::Info,
            LEVEL_WARN => Level::Warn,
            _ => Level::Error,
        };
        if level >= self.host.level {
            self.host.logs.push((level, line.to_string()));
        }
    }

    pub(super) fn result_set(&mut self, value: &[u8]) -> i32 {
        if !self.in_job() {
            return ERR_WRONG_PHASE;
        }
        if value.len() > self.host.max_result {
            return ERR_LIMIT;
        }
        self.host.result = Some(value.to_vec());
        0
    }

    pub(super) fn cancelled(&mut self) -> i32 {
        if !self.in_job() {
            return ERR_WRONG_PHASE;
        }
        let stop = self.host.stop.as_mut().and_then(|stop| stop());
        stop.map_or(STOP_NONE, |s| s.code())
    }

    pub(super) fn progress(&mut self, done: i64, total: i64) {
        if self.in_job() {
            self.host.progress = Some((done as u64, total as u64));
        }
    }

    pub(super) fn metric_add(&mut self, name: &str, value: f64) -> i32 {
        const MOST: usize = 64;
        if !self.in_job() {
            return ERR_WRONG_PHASE;
        }
        let sound = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(sound) || !value.is_finite() {
            return ERR_INVALID;
        }
        if self.host.metrics.len() == MOST && !self.host.metrics.contains_key(name) {
            return ERR_LIMIT;
        }
        *self.host.metrics.entry(name.to_string()).or_default() += value;
        0
    }

    pub(super) fn sleep_ms(&mut self, ms: i32) -> i32 {
        if self.cancelled() != STOP_NONE {
            return if self.in_job() {
                ERR_CANCELLED
            } else {
                ERR_WRONG_PHASE
            };
        }
        let time = Duration::from_millis(ms as u32 as u64);
        self.host.slept += time;
        self.host.clock = self.host.clock.map(|now| now + time);
        0
    }

    pub(super) fn now_unix_ms(&self) -> i64 {
        if !self.in_job() {
            return ERR_WRONG_PHASE.into();
        }
        self.host.clock.map_or(ERR_DENIED.into(), Timestamp::millis)
    }

    pub(super) fn random(&mut self, buf: &mut [u8]) -> i32 {
        const AT_ONCE: usize = 64 << 10;
        if !self.in_job() {
            return ERR_WRONG_PHASE;
        }
        let Some(seed) = &mut self.host.random else {
            return ERR_DENIED;
        };
        if buf.len() > AT_ONCE {
            return ERR_LIMIT;
        }
        for b in buf {
            // A linear congruential generator; its high bits are better.
            *seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            *b = (*seed >> 56) as u8;
        }
        0
    }

    pub(super) fn state_get(&self, key: &str, buf: &mut [u8]) -> i32 {
        match &self.host.state {
            _ if !self.in_job() => ERR_WRONG_PHASE,
            None => ERR_DENIED,
            Some(state) => fill_some(buf, state.get(key)),
        }
    }

    pub(super) fn state_set(&mut self, key: &str, value: &[u8]) -> i32 {
        const LONGEST: usize = 256;
        match &mut self.host.state {
            _ if self.phase == Phase::Shard => ERR_WRONG_PHASE,
            None => ERR_DENIED,
            Some(_) if key.is_empty() || key.len() > LONGEST => ERR_INVALID,
            Some(state) => {
                state.insert(key.to_string(), value.to_vec());
                0
            }
        }
    }

    pub(super) fn state_delete(&mut self, key: &str) -> i32 {
        match &mut self.host.state {
            _ if self.phase == Phase::Shard => ERR_WRONG_PHASE,
            None => ERR_DENIED,
            Some(state) => state.remove(key).map_or(ERR_NOT_FOUND, |_| 0),
        }
    }

    pub(super) fn secret_get(&self, name: &str, buf: &mut [u8]) -> i32 {
        if !self.in_job() {
            return ERR_WRONG_PHASE;
        }
        self.host
            .secrets
            .get(name)
            .map_or(ERR_DENIED, |secret| fill(buf, secret))
    }
}
