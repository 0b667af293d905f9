package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
	"github.com/wasmjob/wasmjob/host/job"
)

// settings are a job's settings that have no key in ElasticJob's config, the rows of
// besides. Other fields of the Config are zero. They are encoded with the names of
// jobs.toml. Zero values are left out, because each server keeps the text of each job.
type settings struct{ job.Config }

// besides are the rows of the settings that are kept beside the module. The digests of
// the job's two modules are kept there, too.
var besides = func() []job.Setting {
	var rows []job.Setting
	for s := range job.Settings() {
		if s.Module && s.Name != keyModule && s.Name != keyStrategyModule {
			rows = append(rows, s)
		}
	}
	return rows
}()

// settingsOf copies the settings from a job.
func settingsOf(j *job.Config) (s settings) {
	copySettings(&s.Config, j)
	return s
}

// put copies the settings to a job.
func (s *settings) put(j *job.Config) { copySettings(j, &s.Config) }

// copySettings copies the settings of besides, and leaves all other fields as they are.
func copySettings(to, from *job.Config) {
	for i := range besides {
		reflect.ValueOf(besides[i].Field(to)).Elem().Set(reflect.ValueOf(besides[i].Field(from)).Elem())
	}
}

// text returns the settings as a JSON object.
func (s *settings) text() []byte { return append(s.appendTo([]byte{'{'}), '}') }

// appendTo appends the settings as members of an object. Settings of the same table are
// adjacent in the rows.
func (s *settings) appendTo(b []byte) []byte {
	begun := "" // the table of the settings before
	for i := range besides {
		field := besides[i].Field(&s.Config)
		if v := reflect.ValueOf(field).Elem(); v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0 {
			continue
		}
		table, name := tableOf(besides[i].Name)
		if table != begun && begun != "" {
			b = append(b, '}')
		}
		if table != begun && table != "" {
			b = append(appendKey(b, table), '{')
		}
		begun = table
		b = append(appendKey(b, name), jsonvalue.Encode(asJSON(field))...)
	}
	if begun != "" {
		b = append(b, '}')
	}
	return b
}

// appendKey appends the name of a member, with a comma if it is not the first.
func appendKey(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(b, jsonvalue.Encode(name)...), ':')
}

// tableOf splits the name of a setting.
func tableOf(name string) (table, key string) {
	if table, key, in := strings.Cut(name, "."); in {
		return table, key
	}
	return "", name
}

// readSettings decodes the settings in an object. rest holds its other members, by full
// name.
func readSettings(text []byte) (s settings, rest map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(text, &rest); err != nil {
		return s, nil, err //nolint:wrapcheck // the caller adds the context
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		if strings.Contains(name, ".") { // a dot would make it look like a key of a table
			return s, nil, fmt.Errorf("unknown key %.100q", name)
		}
	}
	for i := range besides {
		table, _ := tableOf(besides[i].Name)
		inner, there := rest[table]
		if table == "" || !there {
			continue
		}
		delete(rest, table)
		var members map[string]json.RawMessage
		if err := json.Unmarshal(inner, &members); err != nil {
			return s, nil, fmt.Errorf("%s: %w", table, err)
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			rest[table+"."+name] = members[name]
		}
	}
	for i := range besides {
		name := besides[i].Name
		value, there := rest[name]
		if !there {
			continue
		}
		delete(rest, name)
		if err := strictJSON(value, asJSON(besides[i].Field(&s.Config))); err != nil {
			return s, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, rest, nil
}

// strictJSON decodes one value and refuses unknown keys.
func strictJSON(text []byte, v any) error {
	if text[0] != '{' && text[0] != '[' {
		return json.Unmarshal(text, v) //nolint:wrapcheck // as below; it has no keys, and thousands of jobs are read
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err //nolint:wrapcheck // the caller names the key
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind it")
	}
	return nil
}

// asJSON returns a field of a Config in its encoded form.
func asJSON(field any) any {
	switch f := field.(type) {
	case *time.Duration:
		return (*duration)(f)
	case *job.Pool:
		return (*poolJSON)(f)
	case *[]job.Dir:
		return (*dirsJSON)(f)
	}
	return field
}

// duration is encoded as "1m30s".
type duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%.100q is not a duration: write 1m30s", text)
	}
	*d = duration(v)
	return nil
}

type poolJSON struct {
	Size    int `json:"pool,omitzero"`
	MaxUses int `json:"max_uses,omitzero"`
}

type dirJSON struct {
	Host  string `json:"host"`
	Guest string `json:"guest"`
	Write bool   `json:"write"`
}

type dirsJSON []job.Dir

// MarshalJSON implements json.Marshaler.
func (ds dirsJSON) MarshalJSON() ([]byte, error) {
	all := make([]dirJSON, len(ds))
	for i, d := range ds {
		all[i] = dirJSON(d)
	}
	return jsonvalue.Encode(all), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (ds *dirsJSON) UnmarshalJSON(text []byte) error {
	var all []dirJSON
	if err := strictJSON(text, &all); err != nil {
		return err
	}
	*ds = nil
	for _, d := range all {
		*ds = append(*ds, job.Dir(d))
	}
	return nil
}
