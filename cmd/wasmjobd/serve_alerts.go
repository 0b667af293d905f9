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

func newAlerts(f *config.File, secrets map[string]config.NotifierSecrets, log *slog.Logger) *alert.Watcher {
	o := alert.Options{Jobs: f.Jobs, Log: log}
	for _, n := range f.Notify {
		of := secrets[n.Name]
		o.Notifiers = append(o.Notifiers, alert.Notifier{
			Name: n.Name, Events: n.Events, Webhook: alert.Webhook{URL: of.URL, Key: of.Key},
			Mail: alert.Mail{Server: n.Mail.Server, From: n.Mail.From, To: n.Mail.To, User: n.Mail.User, Password: of.Password},
		})
	}
	return alert.New(o)
}

// watchAlerts creates and sends alerts until stop is called, which must be after the host's
// last rows.
func watchAlerts(ctx context.Context, again *reloader, r registry.Registry, instance string) (stop func()) {
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	shared := operator.NewSharedSession(r, again.file().Registry.Namespace)
	again.metrics.Alerts(again.alerts.Gauges)
	var running sync.WaitGroup
	running.Go(func() {
		again.alerts.Run(within, alert.Cluster{
			Registry: r, Namespace: again.file().Registry.Namespace, Server: instance,
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
			again.log.Debug("the session for alerts was not closed", "error", err)
		}
	}
}
