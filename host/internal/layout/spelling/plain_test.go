package spelling

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// plainKinds are the values that plain reads. Each function decodes a value in both ways.
func plainKinds() map[string]func(data []byte) (asPlain, asJSON any, isPlain bool, err error) {
	return map[string]func(data []byte) (any, any, bool, error){
		"record": func(data []byte) (any, any, bool, error) {
			var p, j runsJSON
			ok, err := plainly(data, p.plain), json.Unmarshal(data, &j)
			return p, j, ok, err
		},
		"assignment": func(data []byte) (any, any, bool, error) {
			var p, j assignmentJSON
			ok, err := plainly(data, p.plain), json.Unmarshal(data, &j)
			return p, j, ok, err
		},
		"fires": func(data []byte) (any, any, bool, error) {
			var p, j firesJSON
			ok, err := plainly(data, p.plain), json.Unmarshal(data, &j)
			return p, j, ok, err
		},
	}
}

func samePlain() cmp.Options {
	return cmp.Options{same, cmp.AllowUnexported(rowJSON{}, entryJSON{}, assignmentJSON{}, runsJSON{}, retryJSON{}), cmpopts.IgnoreFields(rowJSON{}, "count")}
}

// TestAllFieldsArePlain checks that plain reads every value that this release writes, with
// any of its fields.
func TestAllFieldsArePlain(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{"record": &runsJSON{}, "assignment": &assignmentJSON{}, "fires": &firesJSON{}} {
		fillFields(reflect.ValueOf(v).Elem())
		data := jsonvalue.Encode(v)
		asPlain, asJSON, ok, err := plainKinds()[name](data)
		if !ok || err != nil {
			t.Fatalf("%s: plain %v, error %v: %s", name, ok, err, data)
		}
		if diff := cmp.Diff(asJSON, asPlain, samePlain()); diff != "" {
			t.Errorf("%s (-json +plain):\n%s", name, diff)
		}
	}
}

// A cut value is refused wherever it ends, even after a backslash.
func TestValuesThatAreCutAreRefused(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{"record": &runsJSON{}, "assignment": &assignmentJSON{}, "fires": &firesJSON{}} {
		fillFields(reflect.ValueOf(v).Elem())
		data := jsonvalue.Encode(v)
		for n := range data {
			for _, end := range []string{"", `\`, `"\`, `"`, ",", "[", "{"} {
				cut := append(slices.Clone(data[:n]), end...)
				if _, _, ok, err := plainKinds()[name](cut); ok && err != nil {
					t.Errorf("%s: %s is taken: %v", name, cut, err)
				}
			}
		}
	}
}

// TestWrittenIsWhatJSONWrites compares to the byte.
func TestWrittenIsWhatJSONWrites(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	check := func(got, want []byte) {
		if string(got) != string(want) {
			t.Fatalf("written\n%.2000s\nencoding/json\n%.2000s", got, want)
		}
	}
	var noRuns, allRuns runsJSON
	var nothing, everything assignmentJSON
	fillFields(reflect.ValueOf(&allRuns).Elem())
	fillFields(reflect.ValueOf(&everything).Elem())
	scattered := assignmentJSON{Packed: anyByItem(rng), Last: anyByItem(rng), pastJSON: pastJSON{Begun: moments(anyByItem(rng))}}
	for _, v := range []*runsJSON{&noRuns, &allRuns, {Triggers: []triggerJSON{{}}, Rows: []rowJSON{{}}, Last: anyByItem(rng)}} {
		check(v.written(), jsonvalue.Encode(v))
	}
	for _, v := range []*assignmentJSON{&nothing, &everything, &scattered} {
		check(v.written(), jsonvalue.Encode(v))
	}
	for range 100 {
		d, a := anyRuns(rng), anyAssignment(rng)
		var r runsJSON
		var v assignmentJSON
		text := EncodeRuns(&d)
		if !plainly(text, r.plain) {
			t.Fatal("a record is not plain")
		}
		check(text, jsonvalue.Encode(r))
		text = EncodeAssignment(&a)
		if !plainly(text, v.plain) {
			t.Fatal("an assignment is not plain")
		}
		check(text, jsonvalue.Encode(v))
	}
}

// anyByItem has more ranges than are written.
func anyByItem(rng *rand.Rand) byItem {
	s := make(byItem, 4*maxRanges)
	for i := range s {
		s[i] = rng.Int64N(1 << 40)
	}
	return s
}

// fillFields gives each field a value.
func fillFields(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() || f.Kind() == reflect.Struct {
				fillFields(f)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[byItem]() || v.Type() == reflect.TypeFor[moments]() {
			v.Set(reflect.ValueOf([]int64{0, 5, 5, -7}).Convert(v.Type()))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillFields(v.Index(0))
		fillFields(v.Index(1))
	case reflect.Array:
		for k := range v.Len() {
			v.Index(k).SetInt(int64(k + 1))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillFields(v.Elem())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("one\x1f\"two\" <three>")
	default:
		v.SetInt(-1_700_000_000_000 + v.Int())
	}
}

// Of damaged values, plain accepts only valid JSON, and reads it as encoding/json does.
func TestPlainIsWhatJSONMakesOfIt(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	kinds, taken := plainKinds(), 0
	check := func(name string, data []byte) bool {
		asPlain, asJSON, ok, err := kinds[name](data)
		if !ok {
			return false
		}
		if err != nil {
			t.Fatalf("%s is plain and no JSON: %v: %s", name, err, data)
		}
		if diff := cmp.Diff(asJSON, asPlain, samePlain()); diff != "" {
			t.Fatalf("%s %s (-json +plain):\n%s", name, data, diff)
		}
		return true
	}
	for range 100 {
		d, a := anyRuns(rng), anyAssignment(rng)
		f := protocol.Fires{Started: protocol.Call{Instant: rng.Int64N(2), Attempt: rng.IntN(2), By: "10.0.0.1@-@1"}}
		for _, v := range []struct {
			name string
			data []byte
		}{{"record", EncodeRuns(&d)}, {"assignment", EncodeAssignment(&a)}, {"fires", EncodeFires(&f)}} {
			if !check(v.name, v.data) {
				t.Fatalf("%s is not plain: %s", v.name, v.data)
			}
			for range 20 {
				if check(v.name, damaged(rng, v.data)) {
					taken++
				}
			}
		}
	}
	if taken == 0 {
		t.Error("no damage leaves a value plain")
	}
}

// damaged returns the text with one byte added, removed or changed.
func damaged(rng *rand.Rand, data []byte) []byte {
	k := rng.IntN(len(data))
	const bytes = `{}[],:"\ 0123456789-.ent` + "\x00\xff"
	odd := bytes[rng.IntN(len(bytes))]
	d := append([]byte(nil), data[:k]...)
	switch rng.IntN(3) {
	case 0:
		d = append(d, odd)
		return append(d, data[k:]...)
	case 1:
		return append(d, data[k+1:]...)
	default:
		return append(append(d, odd), data[k+1:]...)
	}
}
