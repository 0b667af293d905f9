package operator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host"
)

var errChanged = errors.New("it has changed")

// unless returns an error for another edition of a job.
func unless(edition string) func(*JobReport) error {
	return func(r *JobReport) error {
		if r.Edition != edition {
			return errChanged
		}
		return nil
	}
}

// If two operators have seen the same edition, only one changes the job, even if the other
// writes between its read and its write.
func TestOnlyOneOfTwoChangesAJob(t *testing.T) {
	t.Parallel()
	for what, verb := range map[string]func(context.Context, *Operator) error{
		"disable": func(ctx context.Context, o *Operator) error { return o.SetServer(ctx, "j", "10.0.0.1", true) },
		"pause":   func(ctx context.Context, o *Operator) error { return o.Pause(ctx, "j", PauseTerms{}) },
		"trigger": func(ctx context.Context, o *Operator) error { return o.Trigger(ctx, "j") },
		"reshard": func(ctx context.Context, o *Operator) error { return o.Reshard(ctx, "j") },
		"all":     func(ctx context.Context, o *Operator) error { return o.SetJob(ctx, "j", true) },
		"shut down": func(ctx context.Context, o *Operator) error {
			_, err := o.Shutdown(ctx, "j", Which{All: true})
			return err
		},
		"remove": func(ctx context.Context, o *Operator) error { return o.Remove(ctx, "j", true) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows := onceStage(t)
				o, other := operate(t, reg), operate(t, reg)
				before, err := o.Job(t.Context(), "j")
				if err != nil {
					t.Fatal(err)
				}
				o.OnlyIf(unless(before.Edition))
				o.session = &overtaken{o.session, func() {
					if err := other.SetItem(t.Context(), "j", 0, true); err != nil {
						t.Error(err)
					}
				}}
				if err := verb(t.Context(), o); !errors.Is(err, errChanged) || o.session.(*overtaken).by != nil {
					t.Errorf("it was done, or the test did not overtake it: %v", err)
				}
				synctest.Wait()
				after, err := other.Job(t.Context(), "j")
				if err != nil || after.Paused || !after.Items[0].Disabled || after.Servers[0].Disabled || len(rows.rows) > 0 {
					t.Errorf("after it: %+v, %v", after, err)
				}
				o.OnlyIf(unless(after.Edition))
				if err := o.SetJob(t.Context(), "j", true); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A write that was applied without an answer is not reported as refused by OnlyIf.
func TestOnlyIfWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, _ := onceStage(t)
		o := operate(t, reg)
		before, err := o.Job(t.Context(), "j")
		if err != nil {
			t.Fatal(err)
		}
		o.session = &forgetful{Session: o.session, least: 3}
		o.OnlyIf(unless(before.Edition))
		err = o.Pause(t.Context(), "j", PauseTerms{})
		if wantCode(t, "pause", err, host.Unknown); !errors.Is(err, errChanged) {
			t.Error(err)
		}
	})
}
