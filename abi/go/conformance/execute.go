package main

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
)

// execute is the simple job: it plays the case that the job's parameter names.
func execute(c wasmjob.Context) error {
	name, argument := selected(c)
	switch name {
	case "ok", "veto", "listen":
		return nil
	case "fail":
		return errors.New("it failed")
	case "retry":
		return again{}
	case "skip":
		return wasmjob.Skip
	case "code":
		return wasmjob.WithCode(142, errors.New("own code"))
	case "panic":
		panic("it broke")
	case "stop":
		return stop(c)
	case "log":
		levels(c)
		return nil
	case "progress":
		c.Progress(3, 4)
		return nil
	case "metric":
		return errors.Join(c.Metric("rows", 2.5), c.Metric("rows", 2.5))
	case "count", "countfail":
		return count(c, name == "countfail")
	}
	result, err := answer(c, name, argument)
	if err != nil {
		return err
	}
	return c.ResultString(result)
}

// again requests another attempt with its own text.
type again struct{}

func (again) Error() string { return "again later" }
func (again) Unwrap() error { return wasmjob.Retry }

// answer handles the cases that return a text.
func answer(c wasmjob.Context, name, argument string) (string, error) {
	switch name {
	case "fields":
		return fields(c), nil
	case "json":
		return string(c.JSON()), nil
	case "config":
		return orDash(c.Config(argument)), nil
	case "utf8":
		return argument, nil
	case "empty":
		return "", nil
	case "large":
		return large(c, argument)
	case "nap":
		ms, err := number(argument)
		if err != nil {
			return "", err
		}
		return either("slept", c.Sleep(time.Duration(ms)*time.Millisecond)), nil
	case "badmetric":
		return either("valid", c.Metric("no good", 1)), nil
	case "clock":
		now, err := c.Now()
		return either(strconv.FormatInt(now.UnixMilli(), 10), err), nil
	case "random":
		b := make([]byte, 16)
		err := c.Random(b)
		return either(hex.EncodeToString(b), err), nil
	case "forget":
		return either("gone", c.State().Delete("n")), nil
	case "secret":
		secret, err := c.Secret(argument)
		return either(secret, err), nil
	case "get":
		return get(c, argument), nil
	case "post":
		return post(c, argument), nil
	}
	return "", unknown(name)
}

// either returns the text, or the word for the error.
func either(text string, err error) string {
	if err != nil {
		return word(err)
	}
	return text
}

// orDash returns the text, or - if there is none.
func orDash(text string, ok bool) string {
	if !ok {
		return "-"
	}
	return text
}

// fields lists all facts of the run, one name=value in a line.
func fields(c wasmjob.Context) string {
	var lines strings.Builder
	text := func(name, value string) { lines.WriteString(name + "=" + value + "\n") }
	integer := func(name string, n int64) { text(name, strconv.FormatInt(n, 10)) }
	moment := func(name string, t time.Time) {
		if t.IsZero() {
			t = time.Unix(0, 0)
		}
		integer(name, t.UnixMilli())
	}
	bit := func(name string, b bool) {
		if b {
			integer(name, 1)
		} else {
			integer(name, 0)
		}
	}
	text("jobName", c.JobName())
	text("taskId", c.TaskID())
	text("jobParam", c.JobParam())
	text("itemParam", orDash(c.Param()))
	text("instance", c.Instance())
	text("namespace", c.Namespace())
	text("digest", c.ModuleDigest())
	text("seed", c.Seed())
	text("runId", c.RunID())
	integer("total", int64(c.Total()))
	integer("item", int64(c.Item()))
	moment("fired", c.Fired())
	deadline, _ := c.Deadline()
	moment("deadline", deadline)
	integer("attempt", int64(c.Attempt()))
	bit("failover", c.Failover())
	bit("misfire", c.Misfire())
	integer("hostMinor", int64(c.HostMinor()))
	bit("streaming", c.Streaming())
	integer("fence", c.Fence())
	moment("scheduled", c.Scheduled())
	integer("fetchCount", int64(c.FetchCount()))
	return lines.String()
}

// large returns that many bytes as the result, or the word for the error.
func large(c wasmjob.Context, argument string) (string, error) {
	n, err := number(argument)
	if err != nil {
		return "", err
	}
	text := strings.Repeat("x", n)
	return either(text, c.ResultString(text)), nil
}

// levels logs a line of each level, and a text of two lines.
func levels(c wasmjob.Context) {
	for level, name := range []string{"trace", "debug", "info", "warn", "error"} {
		c.Log(wasmjob.Level(level), name+" line")
	}
	c.Info("two\nlines")
	c.Info("end")
}

// stop computes without sleeping until the run should stop, and returns why it should.
func stop(c wasmjob.Context) error {
	reason := c.Cancelled()
	for ; reason == wasmjob.Continue; reason = c.Cancelled() {
	}
	return c.ResultString(strconv.Itoa(int(reason)))
}

// count adds 1 to a number in the state. If the run then fails, that is not kept.
func count(c wasmjob.Context, fails bool) error {
	n, err := c.State().Int("n")
	if err == nil {
		n++
		err = c.State().SetInt("n", n)
	}
	if err := c.ResultString(either(strconv.FormatInt(n, 10), err)); err != nil {
		return err
	}
	if fails {
		return errors.New("not kept")
	}
	return nil
}

// get sends a request and returns status and body, or the word for the error.
func get(c wasmjob.Context, url string) string {
	r, err := c.HTTP(wasmjob.Request{URL: url})
	if err != nil {
		return word(err)
	}
	body, err := r.Bytes()
	return either(strconv.Itoa(r.Status)+" "+string(body), err)
}

// post sends a request with a header and a body, and returns status, a header and the
// body.
func post(c wasmjob.Context, url string) string {
	r, err := c.HTTP(wasmjob.Request{Method: "POST", URL: url, Header: map[string]string{"X-Test": "yes"}, Body: strings.NewReader("ping")})
	if err != nil {
		return word(err)
	}
	echo := orDash(r.Header("X-Echo"))
	body, err := r.Bytes()
	return either(strconv.Itoa(r.Status)+" "+echo+" "+string(body), err)
}
