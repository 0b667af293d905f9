package spelling

// MaxSkew is maxTimeDiffSeconds in ms, 0 if there is no bound. A bound of 0 s is a difference
// that is less than one second: no server can tell that two clocks are the same.
func MaxSkew(seconds int32) int64 {
	switch {
	case seconds < 0:
		return 0
	case seconds == 0:
		return 999
	}
	return int64(seconds) * 1000
}
