package conformance

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stub gives every request the same answer.
type stub struct{ answer Answer }

func (s stub) Do(context.Context, Request) (Answer, error) { return s.answer, nil }

// A host that always gives the same answer fails nearly every case, whatever the answer.
func TestNoAnswerFitsAll(t *testing.T) {
	t.Parallel()
	cases, err := HostCases(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cases = append(cases, GuestCases(Guest{Module: module("ok"), Script: module("script")})...)
	for _, a := range []Answer{
		{}, {Verdict: "ok"}, {Verdict: "failed"}, {Verdict: "ok", Result: []byte("denied")}, {Refused: "no"}, {Verdict: "deadline"},
	} {
		passed := 0
		for _, v := range Play(t.Context(), stub{a}, cases) {
			if v.Err == nil {
				passed++
			}
		}
		if passed > len(cases)/3 {
			t.Errorf("%+v passes %d of %d cases", a, passed, len(cases))
		}
	}
}

func TestWant(t *testing.T) {
	t.Parallel()
	right := Answer{
		Verdict: "ok", Code: 3, Result: []byte("r"), Reason: "because", Logs: []Line{{"info", "a"}, {"warn", "b"}},
		Values: map[string]string{"k": "v"}, Metrics: map[string]float64{"m": 1}, Flow: Flow{1, 2, 3}, Owners: []int{0, 1},
		Requests: []string{"GET https://a.org/"},
	}
	want := Want{
		Verdict: one("ok"), Code: new(int32(3)), Result: new("r"), Reason: one("cause"), Lines: []string{"info a", "warn b"},
		Values: map[string]string{"k": "v"}, Metrics: map[string]float64{"m": 1}, Flow: flow(1, 2, 3), Owners: []int{0, 1},
		Requests: []string{"GET https://a.org/"},
		Check:    func(Answer) error { return nil },
	}
	if err := want.check(right); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Answer){
		"refused": func(a *Answer) { a.Refused = "x" },
		"verdict": func(a *Answer) { a.Verdict = "failed" },
		"code":    func(a *Answer) { a.Code = 0 },
		"result":  func(a *Answer) { a.Result = nil },
		"reason":  func(a *Answer) { a.Reason = "" },
		"order":   func(a *Answer) { slices.Reverse(a.Logs) },
		"values":  func(a *Answer) { a.Values = nil },
		"metrics": func(a *Answer) { a.Metrics = nil },
		"flow":    func(a *Answer) { a.Flow = Flow{} },
		"owners":  func(a *Answer) { a.Owners = nil },
		"request": func(a *Answer) { a.Requests = nil },
	} {
		a := right
		a.Logs = slices.Clone(right.Logs)
		spoil(&a)
		if want.check(a) == nil {
			t.Errorf("a wrong %s passes", name)
		}
	}
	if err := want.check(Answer{Verdict: "failed"}); err == nil || strings.Count(err.Error(), "\n") < 8 {
		t.Errorf("not all that differs is told: %v", err)
	}
	want.Check = func(Answer) error { return errors.New("no") }
	if want.check(right) == nil {
		t.Error("Check is not asked")
	}
}

// A difference is printed as an author writes it into a file of cases.
func TestDifferencesAreTOML(t *testing.T) {
	t.Parallel()
	want := Want{
		Lines: []string{"info hello"}, Values: map[string]string{}, Metrics: map[string]float64{"rows.read": 0.5, "a": 1e6},
		Flow: flow(1, 2, 3), Owners: []int{0}, Requests: []string{"GET https://a.org/"},
	}
	err := want.check(Answer{Logs: []Line{{"info", "item 1"}, {"warn", `a "b"`}}, Values: map[string]string{"k": "v", "a b": "\n"}, Owners: []int{}})
	if err == nil {
		t.Fatal("nothing differs")
	}
	const text = `the state is { "a b" = "\n", k = "v" }, wanted {}
the metrics are {}, wanted { a = 1000000, "rows.read" = 0.5 }
counted { batches = 0, succeeded = 0, failed = 0 }, wanted { batches = 1, succeeded = 2, failed = 3 }
dealt [], wanted [0]
sent [], wanted ["GET https://a.org/"]
the log has no line "info hello" at its place: ["info item 1", "warn a \"b\""]`
	if err.Error() != text {
		t.Errorf("got\n%s\nwant\n%s", err, text)
	}
	long := Want{Lines: []string{"info a"}}
	if err := long.check(Answer{Logs: []Line{{"info", strings.Repeat("é", 1000)}}}); err == nil || len(err.Error()) > 1200 {
		t.Errorf("a long log gives %v", err)
	}
}

// Every module in wat is used, and has its source.
func TestModules(t *testing.T) {
	t.Parallel()
	cases, err := HostCases(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("wat/*.wat")
	if err != nil {
		t.Fatal(err)
	}
	files, err := built.ReadDir("wat")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(sources) {
		t.Errorf("%d built files of %d sources", len(files), len(sources))
	}
	for _, source := range sources {
		wasm, err := os.ReadFile(strings.TrimSuffix(source, "t") + "sm")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(cases, func(c Case) bool { return string(c.Request.Module) == string(wasm) }) {
			t.Errorf("no case uses %s", source)
		}
	}
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		names[c.Name] = true
	}
}

// Requests and answers survive their encoding as lines of JSON.
func TestLines(t *testing.T) {
	t.Parallel()
	fromUs, toHost := io.Pipe()
	fromHost, toUs := io.Pipe()
	served := make(chan error, 1)
	want := Answer{Verdict: "ok", Result: []byte{0, 255}, Logs: []Line{{"info", "a\nb"}}}
	go func() {
		err := Serve(t.Context(), stub{want}, fromUs, toUs)
		_ = toUs.Close() // as the end of a program does
		served <- err
	}()
	p := newProgram(nil, toHost, fromHost)
	for range 2 {
		got, _, err := p.do(t.Context(), Guest{Module: module("ok")}.request("simple", "x"))
		if err != nil || got.Verdict != "ok" || string(got.Result) != string(want.Result) || !slices.Equal(got.Logs, want.Logs) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if _, err := toHost.Write([]byte("nonsense\n")); err != nil {
		t.Fatal(err)
	}
	if !p.out.Scan() || !strings.Contains(p.out.Text(), `"error":"`) {
		t.Errorf("nonsense is answered with %s", p.out.Text())
	}
	_ = toHost.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, lives, err := p.do(t.Context(), Request{}); err == nil || lives {
		t.Error("a host that is gone answers")
	}
}

// A case that a host never answers fails alone: the host is restarted for the next one.
func TestAHostThatHangsIsStartedAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	starts := 0
	p := &Process{start: func() (*program, error) {
		starts++
		first := starts == 1
		fromUs, toHost := io.Pipe()
		fromHost, toUs := io.Pipe()
		go func() {
			if !first {
				served <- Serve(t.Context(), stub{Answer{Verdict: "ok"}}, fromUs, toUs)
				return
			}
			_, err := bufio.NewReader(fromUs).ReadString('\n')
			cancel() // as the deadline of the case does
			served <- err
		}()
		return newProgram(nil, toHost, fromHost), nil
	}}
	if _, err := p.Do(ctx, Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("no answer in time: %v", err)
	}
	if a, err := p.Do(t.Context(), Request{}); err != nil || a.Verdict != "ok" || starts != 2 {
		t.Errorf("the next case: %+v, %v, after %d starts", a, err, starts)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for range starts {
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	c := Case{Name: "one", Rule: "rule"}
	var out strings.Builder
	passed, failed, err := Print(&out, []Column{
		{"a", []Verdict{{Case: c}}}, {"b", []Verdict{{Case: c, Err: errors.New("wrong")}}},
	})
	if passed != 1 || failed != 1 || err != nil {
		t.Errorf("%d passed, %d failed, %v", passed, failed, err)
	}
	if want := "case  a     b\none   pass  FAIL\nb: one (rule): wrong\n"; out.String() != want {
		t.Errorf("printed\n%s", out.String())
	}
}
