package spelling

// MaxSkew converts maxTimeDiffSeconds to ms; 0 is no bound. A bound of 0 s means a
// difference of less than a second, since no server can know that two clocks are equal.
func MaxSkew(seconds int32) int64 {
	switch {
	case seconds < 0:
		return 0
	case seconds == 0:
		return 999
	}
	return int64(seconds) * 1000
}
