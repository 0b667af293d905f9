package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/wasmjob/wasmjob/host/alert"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
)

// newAlerts returns the watcher that raises the alerts of the configured jobs, and sends them by the
// configured notifiers. secrets are those of the notifiers, by name.
func newAlerts(f *config.File, secrets map[string]config.NotifierSecrets, log *slog.Logger) *alert.Watcher {
	o := alert.Options{Jobs: f.Jobs, Log: log}
	for _, n := range f.Notify {
		of := secrets[n.Name] // the parts of n that are secret
		o.Notifiers = append(o.Notifiers, alert.Notifier{
			Name: n.Name, Events: n.Events, Webhook: alert.Webhook{URL: of.URL, Key: of.Key},
			Mail: alert.Mail{Server: n.Mail.Server, From: n.Mail.From, To: n.Mail.To, User: n.Mail.User, Password: of.Password},
		})
	}
	return alert.New(o)
}

// watchAlerts creates and sends alerts until stop is called, which must be after the host's
// last rows.
func watchAlerts(ctx context.Context, reload *reloader, r registry.Registry, instance string) (stop func()) {
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	shared := operator.NewSharedSession(r, reload.file().Registry.Namespace)
	reload.metrics.Alerts(reload.alerts.Gauges)
	var running sync.WaitGroup
	running.Go(func() {
		reload.alerts.Run(within, alert.Cluster{
			Registry: r, Namespace: reload.file().Registry.Namespace, Server: instance,
			Report: func(ctx context.Context, name string) (*operator.JobReport, error) {
				op, err := shared.Operator(ctx)
				if err != nil {
					return nil, err
				}
				report, err := op.Job(ctx, name)
				return report, errors.Join(err, op.Close())
			},
		})
	})
	return func() {
		cancel()
		running.Wait()
		if err := shared.Close(); err != nil {
			reload.log.Debug("the session for alerts was not closed", "error", err)
		}
	}
}
