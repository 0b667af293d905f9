package wasmjob

import "time"

// Now returns the time of the host's clock, which the job must be granted. Without the
// grant time.Now begins at the scheduled instant and advances each time it is read.
func (c Context) Now() (time.Time, error) {
	ms := c.h.now()
	if ms < 0 {
		return time.Time{}, check(int32(ms), "look at the clock")
	}
	return time.UnixMilli(ms), nil
}

// longest is the longest wait of one call, in ms.
const longest = 1<<31 - 1

// Sleep waits for d, rounded up to whole milliseconds. It fails with ErrCancelled as soon
// as the run should stop.
func (c Context) Sleep(d time.Duration) error {
	left := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		left++
	}
	for {
		ms := max(0, min(left, longest))
		if err := check(c.h.sleep(int32(ms)), "sleep"); err != nil {
			return err
		}
		if left -= ms; left <= 0 {
			return nil
		}
	}
}
