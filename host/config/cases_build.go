package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/abi/conformance"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// caseBuilder makes one case from the values that were read.
type caseBuilder struct {
	*builder
	tables, leaves []string // all paths of the text, sorted

	table string
	c     conformance.Case
	ids   []string // of the instances, in descending order
}

// has reports whether the case has a valid value of the key.
func (b *caseBuilder) has(key string) bool {
	v := b.values[b.table+"."+key]
	return v.at.file != "" && !v.refused
}

// of returns the value of a key of the case, or instead if it is not set.
func of[T any](b *caseBuilder, key string, instead T) T {
	return get(b.builder, instead, b.table+"."+key)
}

func (b *caseBuilder) text(key, instead string) string        { return of(b, key, instead) }
func (b *caseBuilder) flag(key string) bool                   { return of(b, key, false) }
func (b *caseBuilder) list(key string) []string               { return of[[]string](b, key, nil) }
func (b *caseBuilder) number(key string, instead int64) int64 { return of(b, key, instead) }
func (b *caseBuilder) texts(key string) map[string]string     { return of[map[string]string](b, key, nil) }

// millis returns a duration in ms. Less than one counts as one, since 0 would mean no limit.
func (b *caseBuilder) millis(key string, d time.Duration) int64 {
	return max(1, of(b, key, d).Milliseconds())
}

// wrong reports a problem of a key's value or of its part sub, unless one was reported already.
func (b *caseBuilder) wrong(key, sub string, why reason.Reason) {
	if path := b.table + "." + key; !b.faulty[path] && !b.faulty[path+sub] {
		b.fault(b.table, key, sub, why)
	}
}

// build makes the case. The instances come first, as the kind of the job and the wanted owners
// depend on them.
func (b *caseBuilder) build() conformance.Case {
	b.c.Name = unquoteKey(strings.TrimPrefix(b.table, "cases."))
	b.c.Rule = b.named[b.table].String()
	b.instances()
	b.request()
	b.allow()
	b.exchanges()
	b.want()
	return b.c
}

// request sets everything in the Request except the grants.
func (b *caseBuilder) request() {
	item, total := b.number("item", 0), b.number("total", 1)
	if item >= total {
		key := "item"
		if !b.has(key) { // then its default is not below total
			key = "total"
		}
		b.wrong(key, "", reason.Of(reason.CaseItem, strconv.FormatInt(item, 10), strconv.FormatInt(total, 10), strconv.FormatInt(item+1, 10)))
	}
	name, scheduled := b.text("job", "job"), of(b, "scheduled", caseScheduled()).UnixMilli()
	// plain is the job as serve would read it, so that the same names and parameters are refused.
	plain := job.Config{Name: name, Kind: job.Simple, Shards: 1, Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, Layout: job.Layout21}
	// It can only fail for the name, which sameAsServe checks.
	task, _ := job.NewTaskID(name, []int{int(item)}, caseInstance)
	r := &b.c.Request
	r.Kind, r.Event = b.kind(), b.text("event", "")
	r.Job = conformance.Job{
		Name: name, Namespace: "test", Param: b.text("param", ""), Config: b.texts("config"), Args: b.list("args"),
		Streaming: b.flag("streaming"), FetchCount: int(b.number("fetch_count", 0)), Concurrency: int(b.number("concurrency", 0)),
	}
	r.Run = conformance.Run{
		Item: int(item), Total: int(total), Items: []int{int(item)}, Params: map[int]string{},
		TaskID: task.String(), RunID: fmt.Sprintf("%s/%d/%d", name, item, scheduled), Instance: caseInstance,
		Attempt: int(b.number("attempt", 1)), Fence: b.number("fence", 1), Scheduled: scheduled,
		Failover: b.flag("failover"), Misfire: b.flag("misfire"),
	}
	if b.has("item_param") {
		param := b.text("item_param", "")
		r.Run.ItemParam, r.Run.Params[int(item)] = &param, param
		text, err := job.FormatItemParams(r.Run.Params)
		if err != nil {
			b.wrong("item_param", "", reason.Of(reason.CaseParamUnwritable, err.Error()))
		}
		plain.ItemParams = text
	}
	plain.Param = r.Job.Param
	b.sameAsServe(plain)
	r.Limits = conformance.Limits{Timeout: b.millis("timeout", caseTimeout), Memory: b.number("memory", 0), Fuel: b.number("fuel", 0)}
	if b.has("grace") {
		r.Limits.Grace = b.millis("grace", 0)
	}
}

// sameAsServe reports values that serve would refuse in a job.
func (b *caseBuilder) sameAsServe(c job.Config) {
	fault, ok := errors.AsType[*job.FieldError](c.Validate())
	switch {
	case !ok:
	case fault.Field == "name":
		b.wrong("job", "", reason.Of(reason.CaseJob, fault.Why.String()))
	case fault.Field == "item_params":
		b.wrong("item_param", "", fault.Why)
	default:
		b.wrong(fault.Field, "", fault.Why)
	}
}

// kind returns the kind that the case sets, or the kind to which its keys belong.
func (b *caseBuilder) kind() string {
	has := func(keys ...string) bool { return slices.ContainsFunc(keys, b.has) }
	switch {
	case b.has("kind"):
		return b.text("kind", "")
	case b.ids != nil:
		return "strategy"
	case has("streaming", "fetch_count", "concurrency", "want.batches", "want.succeeded", "want.failed"):
		return string(job.Dataflow)
	case has("args"):
		return string(job.Script)
	}
	return ""
}

// allow sets the grants except for the requests.
func (b *caseBuilder) allow() {
	a := &b.c.Request.Allow
	a.Random, a.Env, a.Secrets = b.flag("random"), b.texts("env"), b.texts("secrets")
	a.State, a.Values = b.has("state"), b.texts("state")
	if b.has("clock") {
		at := of(b, "clock", time.Time{}).UnixMilli()
		a.Clock = &at
	}
	for i, entry := range b.list("dirs") {
		d, ok := dirOf(entry)
		if !ok || !strings.HasPrefix(d.Guest, "/") {
			b.wrong("dirs", "["+strconv.Itoa(i)+"]", reason.Of(reason.GrantUnreadable, strconv.Quote(entry), `"ro:testdata:/path/for/the/guest"`))
			continue
		}
		d.Host = b.resolve(b.values[b.table+".dirs"].at, d.Host)
		a.Dirs = append(a.Dirs, conformance.Dir(d))
	}
}

// exchanges sets the requests that the network answers.
func (b *caseBuilder) exchanges() {
	top := b.table + ".http."
	for _, path := range inside(b.tables, top) {
		request := unquoteKey(strings.TrimPrefix(path, top))
		method, target, _ := strings.Cut(request, " ")
		u, err := url.Parse(target)
		if method == "" || strings.ToUpper(method) != method || err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			b.report(b.named[path].problem(path, reason.Of(reason.CaseRequest, strconv.Quote(request))))
			continue
		}
		key := strings.TrimPrefix(path, b.table+".") + "."
		x := conformance.Exchange{
			Method: method, URL: target, Headers: b.texts(key + "want_headers"), Body: b.text(key+"want_body", ""),
			Status: int(b.number(key+"status", 200)), Answer: b.texts(key + "headers"), Content: b.text(key+"body", ""),
			Fails: b.flag(key + "fails"),
		}
		b.c.Request.Allow.HTTP = append(b.c.Request.Allow.HTTP, x)
	}
}

// instances sets the instances to which a strategy assigns items.
func (b *caseBuilder) instances() {
	labels := map[string]map[string]string{}
	top := b.table + ".instances."
	for _, path := range inside(b.leaves, top) {
		id := caseID(unquoteKey(strings.TrimPrefix(path, top)))
		if err := job.InstanceID(id).Validate(); err != nil {
			b.report(b.values[path].at.problem(path, reason.Of(reason.CaseInstance, err.Error())))
			continue
		}
		labels[id], _ = b.values[path].is.(map[string]string)
		b.ids = append(b.ids, id)
	}
	// A strategy receives the ids in descending order.
	slices.Sort(b.ids)
	slices.Reverse(b.ids)
	if same := len(b.ids) != len(labels); same { // two names are one id once caseID has completed them
		b.report(b.named[b.table].problem(b.table+".instances", reason.Of(reason.CaseInstanceTwice, job.Delimiter)))
	}
	d := &b.c.Request.Deal
	for _, id := range b.ids {
		d.Instances = append(d.Instances, conformance.Instance{ID: id, Labels: labels[id]})
	}
	if !b.has("previous") {
		return
	}
	total := int(b.number("total", 1))
	if n := len(b.list("previous")); n > total {
		b.wrong("previous", "", reason.Of(reason.CaseOwners, strconv.Itoa(n), strconv.Itoa(total)))
		return
	}
	d.Previous = slices.Repeat([]int{-1}, total)
	for item, id := range b.list("previous") {
		d.Previous[item] = slices.Index(b.ids, caseID(id)) // -1 for an unknown instance
	}
}

// caseID completes an id that lacks its suffix.
func caseID(text string) string {
	if text == "" || strings.Contains(text, job.Delimiter) {
		return text
	}
	return string(job.NewInstanceID(text, "1"))
}

// want sets what the answer must have. A case that wants a code need not say the verdict.
func (b *caseBuilder) want() {
	w := &b.c.Want
	if b.has("want.verdict") || !b.has("want.code") {
		w.Verdict = []string{b.text("want.verdict", string(job.OK))}
	}
	if b.has("want.code") {
		code := int32(b.number("want.code", 0))
		w.Code = &code
	}
	if b.has("want.result") {
		result := b.text("want.result", "")
		w.Result = &result
	}
	if b.has("want.reason") {
		w.Reason = []string{b.text("want.reason", "")}
	}
	w.Lines, w.Requests = b.list("want.log"), b.list("want.requests")
	for i, line := range w.Lines {
		level, _, _ := strings.Cut(line, " ")
		if !slices.Contains([]string{"trace", "debug", "info", "warn", "error"}, level) {
			b.wrong("want.log", "["+strconv.Itoa(i)+"]", reason.Of(reason.CaseLog, strconv.Quote(line)))
		}
	}
	w.Values = b.texts("want.state")
	w.Metrics = of[map[string]float64](b, "want.metrics", nil)
	flow, owners := b.flow(), b.owners()
	w.Check = func(a conformance.Answer) error { return errors.Join(flow(a), owners(a)) }
}

// flow returns a check that a dataflow job has counted what the case wants.
func (b *caseBuilder) flow() func(conformance.Answer) error {
	type count struct {
		name string
		want int64
	}
	var counts []count
	for _, name := range []string{"batches", "succeeded", "failed"} {
		if b.has("want." + name) {
			counts = append(counts, count{name, b.number("want."+name, 0)})
		}
	}
	return func(a conformance.Answer) error {
		got := map[string]int64{"batches": a.Flow.Batches, "succeeded": a.Flow.Succeeded, "failed": a.Flow.Failed}
		var wrong []error
		for _, c := range counts {
			if got[c.name] != c.want {
				wrong = append(wrong, fmt.Errorf("%s: %d, wanted %d", c.name, got[c.name], c.want))
			}
		}
		return errors.Join(wrong...)
	}
}

// owners returns a check that the strategy has assigned the items as the case wants. Owners are
// indexes into b.ids.
func (b *caseBuilder) owners() func(conformance.Answer) error {
	var want []int
	for i, id := range b.list("want.owners") {
		owner := slices.Index(b.ids, caseID(id))
		if owner < 0 {
			b.wrong("want.owners", "["+strconv.Itoa(i)+"]", reason.Of(reason.CaseInstanceUnknown, strconv.Quote(id)))
		}
		want = append(want, owner)
	}
	if n, total := len(want), int(b.number("total", 1)); want != nil && n != total {
		b.wrong("want.owners", "", reason.Of(reason.CaseOwners, strconv.Itoa(n), strconv.Itoa(total)))
	}
	ids := b.ids
	return func(a conformance.Answer) error {
		var wrong []error
		for item, owner := range want {
			if item < len(a.Owners) && a.Owners[item] != owner {
				wrong = append(wrong, fmt.Errorf("item %d went to %s, wanted %s", item, ids[a.Owners[item]], ids[owner]))
			}
		}
		return errors.Join(wrong...)
	}
}
