package sim

import (
	"iter"
	"slices"
)

// thread runs a program that waits for answers, such as a Java process, in the simulation's
// one goroutine. The world resumes it, and it runs until it waits again.
type thread struct {
	j      *jvm
	next   func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	waits  int  // number of waits so far; a wake-up says which wait it is for
	asking bool // it waits for an answer of the registry
	lost   bool // the connection broke meanwhile
}

// halted unwinds the thread of a process that is gone.
type halted struct{}

// thrown is an exception of Java.
type thrown struct{ text string }

// spawn starts a thread.
func (j *jvm) spawn(run func(*thread)) {
	t := &thread{j: j}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(halted); !ok {
					panic(r)
				}
			}
		}()
		t.try(func() { run(t) })
		j.threads = slices.DeleteFunc(j.threads, func(o *thread) bool { return o == t })
	})
	j.threads = append(j.threads, t)
	t.waits++
	j.later(1, t.waker())
}

// waker returns a function that lets the thread go on if it is still in the same wait.
func (t *thread) waker() func() {
	n, life := t.waits, t.j.life
	return func() {
		t.j.turn(life, func() {
			if t.waits == n {
				t.waits++
				t.next()
			}
		})
	}
}

// await waits until the thread is woken.
func (t *thread) await(begin func(wake func())) {
	t.waits++
	begin(t.waker())
	if !t.yield(struct{}{}) { // the process has ended
		panic(halted{})
	}
}

// sleep waits for d microseconds.
func (t *thread) sleep(d int64) { t.await(func(wake func()) { t.j.w.after(d, wake) }) }

// call waits for an answer of the registry. After a lost connection it asks again on the
// next one.
func (t *thread) call(ask func(answered func())) {
	for {
		t.asking, t.lost = true, false
		t.await(ask)
		t.asking = false
		if !t.lost {
			return
		}
	}
}

// try calls do. If that throws, it traces the exception and goes on.
func (t *thread) try(do func()) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(thrown)
			if !ok {
				panic(r)
			}
			t.j.w.tracef("%s: %s", t.j.name(), e.text)
		}
	}()
	do()
}

// throw throws an exception, which the nearest try catches.
func (t *thread) throw(text string) { panic(thrown{text}) }
