package spelling

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

func TestStateIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, values := range []map[string][]byte{
		nil, {}, {"offset": []byte("5")}, {"ü \"\\\x00": {0, 255, '<'}, "empty": {}},
		{"large": bytes.Repeat([]byte{0xff}, job.MaxState-5)},
	} {
		data, err := EncodeState(values)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 512<<10 {
			t.Errorf("%d bytes are too much for a node", len(data))
		}
		got, err := DecodeState(registry.Node{Exists: true, Data: data})
		if err != nil || got == nil || !maps.EqualFunc(got, values, bytes.Equal) {
			t.Errorf("%v, %v, want %v", got, err, values)
		}
	}
	if got, err := DecodeState(registry.Node{}); err != nil || got == nil || len(got) > 0 {
		t.Errorf("a node that is not there: %v, %v", got, err)
	}
}

func TestStateThatCannotBe(t *testing.T) {
	t.Parallel()
	if _, err := EncodeState(map[string][]byte{"large": make([]byte, job.MaxState-4)}); err == nil {
		t.Error("too large a state was written")
	}
	for _, data := range []string{"", "{", "[]", `{"v":2,"values":{}}`, `{"values":{}}`, `{"v":1,"values":{"a":"?"}}`, strings.Repeat(" ", maxState+1)} {
		if got, err := DecodeState(registry.Node{Exists: true, Data: []byte(data)}); err == nil {
			t.Errorf("%.20q: %v", data, got)
		}
	}
	if got, err := DecodeState(registry.Node{Exists: true, Data: []byte(`{"v":1}`)}); err != nil || got == nil {
		t.Errorf("without values: %v, %v", got, err)
	}
}

func FuzzDecodeState(f *testing.F) {
	f.Add([]byte(`{"v":1,"values":{"a":"AA=="}}`))
	f.Add([]byte(`{"v":1,"values":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := DecodeState(registry.Node{Exists: true, Data: data})
		if err != nil {
			return
		}
		again, err := EncodeState(values)
		if err != nil {
			return // larger than we write
		}
		got, err := DecodeState(registry.Node{Exists: true, Data: again})
		if err != nil || !maps.EqualFunc(got, values, bytes.Equal) {
			t.Errorf("%v, %v, want %v", got, err, values)
		}
	})
}
