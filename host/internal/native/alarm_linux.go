package native

import (
	"os"

	"golang.org/x/sys/unix"
)

// bootTime is a clock that all processes of the machine share, that nobody can set,
// and that goes on while the machine sleeps, as that of the registry does. 0: it
// cannot be read.
func bootTime() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return now.Nano()
}

// alarm calls somebody at a time of bootTime. The timers of Go stand still while
// the machine sleeps, and would be late by that.
type alarm struct {
	timer *os.File // nil: there is none
	ring  func()
}

// newAlarm makes an alarm that rings once; it is there until the process ends.
func newAlarm(ring func()) *alarm {
	timer, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC)
	if err != nil {
		return &alarm{ring: ring}
	}
	a := &alarm{timer: os.NewFile(uintptr(timer), "alarm"), ring: ring}
	go func() {
		_, _ = a.timer.Read(make([]byte, 8)) // which waits until it is time; who cannot tell ends it as well
		ring()
	}()
	return a
}

// set has it ring at a time, which may have passed, and not at the one before; 0 is
// never.
func (a *alarm) set(at int64) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(at)}
	if a.timer == nil && at != 0 || a.timer != nil && unix.TimerfdSettime(int(a.timer.Fd()), unix.TFD_TIMER_ABSTIME, &spec, nil) != nil {
		a.ring() // who cannot tell when it is over must not go on
	}
}
