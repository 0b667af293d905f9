package admin

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

// members are members of every kind.
type members struct {
	All    bool    `json:"all"`
	Server *string `json:"server"`
	Items  []*int  `json:"items"`
}

// A body that readBody accepts means the same to a less strict parser.
func FuzzBody(f *testing.F) {
	for _, text := range []string{
		"", "{}", `{"all":true}`, `{"server":"10.0.0.1","all":false}`, `{"server":"\ud800"}`, `{"all":true,"all":true}`, `{"ALL":true}`, `{"all":null}`,
		`{"items":[1,2]}`, `{"items":[1,null]}`, `{"items":[[null]]}`, `{"server":"null"}`,
		`{"all":true}x`, "{\"server\":\"\xff\"}", `[`, `{"a":{"b":[1,2,{}]}}`, `{"all":tru`, `{"all" "server"}`, "\ufeff{}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var got, want members
		var items []int
		if faults := parseObject(body, map[string]any{"all": &got.All, "server": &got.Server, "items": &items}); len(faults) > 0 {
			for _, fault := range faults {
				if fault.Message == "" {
					t.Errorf("a fault without words: %+v", faults)
				}
			}
			return
		}
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(&want); err != nil {
			t.Fatalf("%q is taken: %v", body, err)
		}
		if got.All != want.All || (got.Server == nil) != (want.Server == nil) || got.Server != nil && *got.Server != *want.Server {
			t.Errorf("%q is taken for %+v, not %+v", body, got, want)
		}
		if !slices.EqualFunc(items, want.Items, func(i int, p *int) bool { return p != nil && *p == i }) {
			t.Errorf("%q is taken for the items %v", body, items)
		}
	})
}
