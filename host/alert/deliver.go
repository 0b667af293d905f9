package alert

import (
	"context"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
)

const (
	// The pauses between tries to send, and the limit of tries: about 15 hours in total.
	firstPause = time.Second
	lastPause  = 10 * time.Minute
	maxTries   = 100
)

// delivery has the due alerts of one notifier.
type delivery struct {
	to      string              // name of the notifier
	alerts  []clustertree.Alert // as read
	notices []Notice            // what is sent of them
	err     error               // of the attempt to send; nil: nothing is to be sent again
}

// deliver sends what is due, one message to each notifier, and records what was sent.
func (w *Watcher) deliver(ctx context.Context) {
	all := w.due()
	if len(all) == 0 {
		return
	}
	for i := range all {
		w.send(ctx, &all[i])
	}
	now := w.now().UnixMilli()
	// Record it even if the server is stopping.
	if err := w.change(context.WithoutCancel(ctx), func(a *clustertree.Alerts) bool { return settle(a, all, now, w.gather) }); err != nil {
		w.warn("sent alerts cannot be recorded, and may be sent again", err)
	}
}

// send sends one message with what is due to a notifier.
func (w *Watcher) send(ctx context.Context, d *delivery) {
	n := w.notifiers[d.to]
	if n == nil { // settled as if sent, since trying again would not help
		w.log.Warn("an alert names a notifier that the delivering server does not have; add it to [notify] of all servers", "notifier", d.to, "job", d.alerts[0].Job)
		return
	}
	notices := slices.DeleteFunc(d.notices, func(one Notice) bool { return len(n.Events) > 0 && !slices.Contains(n.Events, one.Event) })
	if len(notices) == 0 { // the notifier does not want these events
		return
	}
	d.err = n.send(ctx, &Message{Version: 1, Cluster: w.in.Namespace, Server: w.in.Server, Alerts: notices})
	if d.err == nil {
		w.log.Info("alerts were sent", "notifier", d.to, "alerts", len(notices))
		return
	}
	last := 0 // alerts that were tried for the last time
	for i := range d.alerts {
		if d.alerts[i].Tries >= maxTries {
			last++
		}
	}
	if more := len(d.alerts) - last; more > 0 {
		w.log.Warn("alerts were not sent, and are tried again", "notifier", d.to, "alerts", more, "error", d.err)
	}
	if last > 0 {
		w.log.Warn("alerts were not sent, and are given up", "notifier", d.to, "alerts", last, "error", d.err)
	}
}

// due returns the alerts that are due now, by notifier.
func (w *Watcher) due() (all []delivery) {
	now := w.now().UnixMilli()
	for i := range w.value.All {
		a := w.value.All[i]
		if a.After > now || w.value.Silenced(a.Job, now) {
			continue
		}
		for _, to := range a.Left {
			k := slices.IndexFunc(all, func(d delivery) bool { return d.to == to })
			if k < 0 {
				k = len(all)
				all = append(all, delivery{to: to})
			}
			all[k].alerts = append(all[k].alerts, a)
			all[k].notices = append(all[k].notices, noticeOf(w.in.Namespace, &a))
		}
	}
	return all
}

// settle records the outcome of deliveries, all, in the alerts a, which other servers may have
// changed since. It reports whether it has changed them. An alert that has the same job and kind
// but began at another time is not the one that was sent. A notifier to which nothing could be
// sent stays in Left, until maxTries. So does one that has received an alert which ended or came
// back since; that is due again at once. Alerts that are over, and of which all know that, are
// removed.
func settle(a *clustertree.Alerts, all []delivery, now int64, gather time.Duration) (changed bool) {
	failed, stale := map[*clustertree.Alert]bool{}, map[*clustertree.Alert]bool{}
	for i := range all {
		for _, was := range all[i].alerts {
			one := a.Find(was.Job, was.Kind)
			if one == nil || one.First != was.First || !slices.Contains(one.Left, all[i].to) {
				continue
			}
			changed = true
			if all[i].err != nil && one.Tries < maxTries {
				failed[one] = true
				continue
			}
			if all[i].err == nil || one.Sent == 0 {
				one.Sent = now
			}
			if recovering(&was) != (one.Over != 0) {
				stale[one] = true
				continue
			}
			one.Left = slices.DeleteFunc(slices.Clone(one.Left), func(to string) bool { return to == all[i].to })
			if len(one.Left) == 0 {
				one.Tries, one.After = 0, 0
			}
		}
	}
	for one := range failed {
		one.Tries++
		one.After = now + backoff.After(firstPause, lastPause, one.Tries).Milliseconds()
	}
	for one := range stale { // even if another notifier could not be reached
		one.Tries, one.After = 0, now
		if one.Over == 0 {
			one.After += gather.Milliseconds()
		}
	}
	a.Remove(func(one *clustertree.Alert) bool { return one.Over != 0 && one.Sent != 0 && len(one.Left) == 0 })
	return changed
}
