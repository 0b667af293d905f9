use std::ops::{Add, Sub};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment, in milliseconds since 1970.
///
/// It replaces [`SystemTime`], whose `now` and `elapsed` panic in a module without WASI:
/// there only [`Context::now`](crate::Context::now) has a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment the given number of milliseconds after the beginning of 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Timestamp(millis)
    }

    /// The number of milliseconds since the beginning of 1970.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The time since an earlier moment; zero if that is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// The time in milliseconds; at most the largest `i64`.
fn millis(d: Duration) -> i64 {
    i64::try_from(d.as_millis()).unwrap_or(i64::MAX)
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;
    fn add(self, d: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(millis(d)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Timestamp;
    fn sub(self, d: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(millis(d)))
    }
}

impl From<Timestamp> for SystemTime {
    fn from(t: Timestamp) -> SystemTime {
        let distance = Duration::from_millis(t.0.unsigned_abs());
        match t.0 < 0 {
            true => UNIX_EPOCH - distance,
            false => UNIX_EPOCH + distance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic() {
        let t = Timestamp::from_millis(1_500);
        assert_eq!((t + Duration::from_secs(1)).millis(), 2_500);
        assert_eq!((t - Duration::from_secs(2)).millis(), -500);
        assert_eq!(t.since(Timestamp::default()), Duration::from_millis(1_500));
        assert_eq!(Timestamp::default().since(t), Duration::ZERO);
        assert_eq!((t + Duration::MAX).millis(), i64::MAX);
        for ms in [-500, 0, 1_500] {
            let system = SystemTime::from(Timestamp(ms));
            assert_eq!(system < UNIX_EPOCH, ms < 0);
        }
    }
}
