// Package leaky contains, line by line, what the test of exported names must refuse.
package leaky

import (
	"github.com/wasmjob/wasmjob/host/internal/runner"
	inner "github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

type Alias = inner.Refusal // want: Alias shows inner.Refusal

type Defined inner.Report // want: Defined shows inner.Report

const Kind = runner.Start // want: Kind shows runner.Start

var (
	ErrInner        = runner.ErrBusy // want: ErrInner shows runner.ErrBusy
	ErrTyped  error = runner.ErrBusy
	errHidden       = runner.ErrBusy
)

type Box struct {
	Config       job.Config
	Event        runner.Event // want: Box shows runner.Event
	hidden       *runner.Runner
	inner.Report // want: Box shows inner.Report
	part
}

type part struct {
	Listed []inner.Import // want: Box shows inner.Import
	listed []inner.Import
}

type alone struct{ Listed []inner.Export }

func (alone) Exported(inner.Export) {}

type Port interface {
	Ask(runner.Event) error             // want: Port shows runner.Event
	Run(c job.Call, o ...inner.Options) // want: Port shows inner.Options
}

func (b *Box) Runner() *runner.Runner { return b.hidden } // want: Runner shows runner.Runner

func (b *Box) code() inner.Report { return b.Report }

func New(
	c job.Config,
	observe func(runner.Event), // want: New shows runner.Event
) error {
	var r runner.Runner
	_ = r
	return errHidden
}

func Made[T inner.Report]() {} // want: Made shows inner.Report
