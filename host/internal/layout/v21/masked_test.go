package v21

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

func TestMasked(t *testing.T) {
	t.Parallel()
	j := NewJob("jobs", "j")
	config, module, members := j.Nodes()
	_, state := j.StateOf(0)
	for _, c := range []struct{ path, value, want string }{
		{config, `{"jobName":"j","scriptCommandLine":"/opt/report.sh -p x","jobParameter":"p"}`, `{"jobName":"j","scriptCommandLine":"***","jobParameter":"p"}`},
		{config, `{"jobName":`, `{"jobName":`}, // a text that ElasticJob cannot read is shown as it is
		{module, `{"v":1, "module" : {"name":"m","reference" : "file:/srv/m.wasm"},"past":[{"reference":"file:/srv/l.wasm","digest":"d"}]}`, `{"v":1, "module" : {"name":"m","reference" : "***"},"past":[{"reference":"***","digest":"d"}]}`},
		{module, `{"kind":"simple","config":{"password":"a\"b", "n":"7"},"args":["-p","x"],"limits":{"memory":1}}`, `{"kind":"simple","config":{"password":"***", "n":"***"},"args":["***","***"],"limits":{"memory":1}}`},
		{module, `{"allow":{"dirs":[{"host":"/srv/in","guest":"/in","write":true}],"env":{"TOKEN":"x"},"secrets":["key"],"http":["GET https://a.example/v1"]}}`, `{"allow":{"dirs":[{"host":"***","guest":"/in","write":true}],"env":{"TOKEN":"***"},"secrets":["key"],"http":["GET https://a.example/v1"]}}`},
		{module, `{"base":{"config":{"password":"12345678"},"args":"12345678","allow":{"dirs":"12345678","env":{"TOKEN":"12345678"},"state":"87654321"}}}`, `{"base":{"config":{"password":"***"},"args":"***","allow":{"dirs":"***","env":{"TOKEN":"***"},"state":"87654321"}}}`},
		{module, `{"config":{"password":"x"`, "(25 bytes that cannot be read)"},
		{module, "", "(0 bytes that cannot be read)"},
		{members + "/10.0.0.1@-@7", `{"v":1,"address":"10.0.0.1:9"}`, `{"v":1,"address":"10.0.0.1:9"}`},
		{members + "/10.0.0.1@-@7", `{"next":{"fault":"module m: open /srv/m.wasm: it is not there, nor is file:/srv/.n/m.wasm (see https://a.example/b)"}}`, `{"next":{"fault":"module m: open ***: it is not there, nor is file:*** (see https://a.example/b)"}}`},
		{members + "/10.0.0.1@-@7", `{"next":{"fault":"open \"/srv/m.wasm\": no"}}`, `{"next":{"fault":"open \"***\": no"}}`},
		{j.At(jobtree.NodeAssignment), `{"crons":["0 0/5 /5 * * ?"],"timezone":"Europe/Berlin","run":"j/0/7"}`, `{"crons":["0 0/5 /5 * * ?"],"timezone":"Europe/Berlin","run":"j/0/7"}`},
		{state, "x", "(1 bytes)"},
	} {
		if got := j.Masked(c.path, []byte(c.value)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.value, got, c.want)
		}
	}
}

// Secrets that people write into a job do not show in its masked nodes.
func TestMaskedDefinition(t *testing.T) {
	t.Parallel()
	j := NewJob("jobs", "j")
	config, module, _ := j.Nodes()
	d := NewJob("", "j").Define(job.Config{
		Name: "j", Kind: job.Script, Shards: 1, Strategy: "average", Command: "/srv/private/run", Args: []string{"private"},
		Settings: map[string]string{"a": "private"}, Allow: job.Allow{Env: map[string]string{"A": "private"}, Dirs: []job.Dir{{Host: "/srv/private", Guest: "/in"}}},
	})
	d.Module.Code = &definition.Code{Name: "m", Digest: strings.Repeat("0", 64), Reference: "file:/srv/private/m.wasm"}
	spelled, err := NewJob("", "j").Spell(protocol.Definition{}, d)
	if err != nil {
		t.Fatal(err)
	}
	for path, value := range map[string][]byte{config: spelling.Bytes(spelled.Config), module: spelling.Bytes(spelled.Module)} {
		got := j.Masked(path, value)
		if strings.Contains(got, "private") || !strings.Contains(string(value), "private") || !json.Valid([]byte(got)) {
			t.Errorf("%s shows %s", path, got)
		}
	}
}
