package admin

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
)

const (
	doctorPath = "/api/v1/doctor"
	// doctorTime limits the time for asking the others, so that a caller with a time-out of ten seconds learns
	// which are silent.
	doctorTime = 7 * time.Second
)

type doctorDocument struct {
	Version int `json:"version"`
	operator.Diagnosis
}

// doctor examines the registry with the options of the server.
func doctor(r *request) (doctorDocument, error) {
	for _, name := range r.query["job"] {
		if _, err := checkName(name); err != nil {
			return doctorDocument{}, err
		}
	}
	as, err := r.h.o.Doctor()
	if err != nil {
		return doctorDocument{}, err
	}
	d, err := r.op.Doctor(r.Context(), as, r.query["job"]...)
	if err != nil {
		return doctorDocument{}, err
	}
	for i := range d.Jobs {
		c := &d.Jobs[i]
		c.Members = orEmpty(c.Members)
		for _, list := range []*[]reason.Reason{&c.Breaks, &c.Needs, &c.Notes} {
			*list = orEmpty(*list)
		}
	}
	if r.asksOthers() {
		r.askDoctors(d)
	}
	return doctorDocument{1, *d}, nil
}

// askDoctors adds what the other servers find.
func (r *request) askDoctors(d *operator.Diagnosis) {
	clients, unread := r.others(r.Context(), "", operator.Administer)
	within, cancel := context.WithTimeout(r.Context(), r.h.doctorTime)
	defer cancel()
	var mu sync.Mutex // guards d
	silent := operator.AskAllTo(within, clients, func(ctx context.Context, address string, c *Client) error {
		there, err := c.Doctor(ctx, host.Options{}, r.query["job"]...)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		d.Add(address, there)
		return nil
	})
	slices.SortFunc(d.Others, func(a, b operator.DiagnosedElsewhere) int { return strings.Compare(a.Server, b.Server) })
	d.Unread = append(silent, unread...)
}

// Doctor is operator.Operator.Doctor with the options of the server, and on the other servers with theirs.
func (c *Client) Doctor(ctx context.Context, _ host.Options, names ...string) (*operator.Diagnosis, error) {
	at := doctorPath
	if len(names) > 0 {
		at += "?" + url.Values{"job": names}.Encode()
	}
	var d doctorDocument
	if err := c.read(ctx, http.MethodGet, at, nil, &d); err != nil {
		return nil, err
	}
	return &d.Diagnosis, nil
}
