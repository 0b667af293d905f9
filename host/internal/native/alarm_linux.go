package native

import (
	"os"

	"golang.org/x/sys/unix"
)

// bootTime reads a clock that all processes of the machine share. It cannot be set, and
// it goes on while the machine sleeps, as the registry's clock does. It returns 0 if the
// clock cannot be read.
func bootTime() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return now.Nano()
}

// alarm calls a function at a time of bootTime. Go's timers stand still while the
// machine sleeps, and would be late by that time.
type alarm struct {
	timer *os.File // nil: the system has no such timer
	ring  func()
}

// newAlarm returns an alarm that calls ring at the time for which it is set, once. Its
// goroutine lives until the process ends.
func newAlarm(ring func()) *alarm {
	timer, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC)
	if err != nil {
		return &alarm{ring: ring}
	}
	a := &alarm{timer: os.NewFile(uintptr(timer), "alarm"), ring: ring}
	go func() {
		_, _ = a.timer.Read(make([]byte, 8)) // blocks until the set time; after an error the time is not known, which also ends the command
		ring()
	}()
	return a
}

// set replaces the time of the alarm, which may lie in the past; 0: never.
func (a *alarm) set(at int64) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(at)}
	if a.timer == nil && at != 0 || a.timer != nil && unix.TimerfdSettime(int(a.timer.Fd()), unix.TFD_TIMER_ABSTIME, &spec, nil) != nil {
		a.ring() // without a timer the end of the lease would go unnoticed
	}
}
