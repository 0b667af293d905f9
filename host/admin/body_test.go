package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
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

// The fault of a member says what the member takes.
func TestFaultsOfMembersSayTheirKind(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{
		"boolean": "true or false", "integer": "a number", "string": "a string", "string date-time": "a time in RFC 3339",
		"array integer": "a list of numbers", "array string": "a list of strings",
	}
	schemas := newSchemas()
	for _, one := range routes() {
		if one.does.takes == nil {
			continue
		}
		members := membersOf(reflect.New(one.does.takes).Interface())
		for name, to := range members {
			s := schemas.of(reflect.TypeOf(to).Elem())
			kind := fmt.Sprint(s["type"])
			if format, ok := s["format"]; ok {
				kind += fmt.Sprint(" ", format)
			}
			if items, ok := s["items"].(schema); ok {
				kind += fmt.Sprint(" ", items["type"])
			}
			want := fmt.Sprintf("%q must be %s", name, kinds[kind])
			if got := parseMember(name, json.RawMessage("{}"), members, nil); kinds[kind] == "" || got != want {
				t.Errorf("%s %s, %s: %s, not %s", one.method, one.path, kind, got, want)
			}
		}
	}
}

// A member that is there and selects nothing, or stands for no limit, is no request for all.
func TestEmptyMembersAreNotAll(t *testing.T) {
	t.Parallel()
	h := NewHandler(Options{Operate: onMemory, Purge: func(context.Context, Purge) (int64, error) {
		t.Error("rows are purged")
		return 0, nil
	}})
	for _, c := range [][2]string{
		{jobsPath + "/report:cancel", `{"run":""}`},
		{jobsPath + "/report:retry", `{"run":""}`},
		{jobsPath + "/report:retry", `{"items":[]}`},
		{jobsPath + "/report:cancel-backfill", `{"items":[]}`},
		{jobsPath + "/report:backfill", `{"from":"2026-01-31T12:00:00Z","items":[]}`},
		{jobsPath + "/report:rollback-module", `{"to":""}`},
		{jobsPath + "/report:pause", `{"for":"0s"}`},
		{jobsPath + "/report:pause", `{"for":""}`},
		{jobsPath + "/report:pause", `{"until":""}`},
		{tokensPath, `{"name":"ci","role":"admin","valid_for":""}`},
		{tokensPath, `{"name":"ci","role":"admin","valid_for":"0s"}`},
		{jobsPath + "/report:pause", `{"until":"0001-01-01T00:00:00Z"}`},
		{purgePath, `{"job":"","per_job":1}`},
		{purgePath, `{"older_than":""}`},
		{purgePath, `{"older_than":"0s"}`},
		{purgePath, `{"per_job":0}`},
		{purgePath, `{"older_than":"1h","bytes":0}`},
	} {
		w := answered(t, h, http.MethodPost, c[0], c[1], jsonType)
		if p := problemIn(t, w); w.Code != http.StatusUnprocessableEntity || p.Code != codeInvalid {
			t.Errorf("%s %s is answered %d %s (%s)", c[0], c[1], w.Code, p.Code, p.Detail)
		}
	}
}
