//go:build unix && !linux

package native

// bootTime returns 0: this system has no clock that goes on while the machine
// sleeps, so commands run without a lease.
func bootTime() int64 { return 0 }

type alarm struct{}

func newAlarm(func()) *alarm { return &alarm{} }

func (*alarm) set(int64) {}
