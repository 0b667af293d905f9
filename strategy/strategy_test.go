package strategy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

// assigned is a recorded result: pairs of an instance's index and its items, in
// the order in which ElasticJob assigned them, or an error.
type assigned struct {
	order []int
	items [][]int
	err   string
}

func (d *assigned) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		var e struct{ Error string }
		err := json.Unmarshal(data, &e)
		d.err = e.Error
		return err
	}
	var pairs [][2]json.RawMessage
	if err := json.Unmarshal(data, &pairs); err != nil {
		return err
	}
	for _, p := range pairs {
		var index int
		var items []int
		if err := errors.Join(json.Unmarshal(p[0], &index), json.Unmarshal(p[1], &items)); err != nil {
			return err
		}
		d.order, d.items = append(d.order, index), append(d.items, items)
	}
	return nil
}

type shardingVector struct {
	ID                 string   `json:"id"`
	Cat                string   `json:"cat"`
	Op                 string   `json:"op"`
	Instances          []string `json:"instances"`
	Job                string   `json:"job"`
	Total              int      `json:"total"`
	Hash               int32    `json:"hash"`
	AverageAllocation  assigned
	OdevitySortByName  assigned
	RotateServerByName assigned
	// Alt is what version 3 gave where it differs: for negative totals only.
	Alt map[string]struct {
		Average assigned `json:"AVG_ALLOCATION"`
		Odevity assigned `json:"ODEVITY"`
		Rotate  assigned `json:"ROUND_ROBIN"`
	} `json:"alt"`
}

func TestShardingVectors(t *testing.T) {
	t.Parallel()
	for _, v := range recorded.Vectors[shardingVector](t, "strategy/sharding.jsonl") {
		if v.Op != "sharding" {
			t.Errorf("%s: unknown op %q", v.ID, v.Op)
		}
		if h := JavaHash(v.Job); h != v.Hash {
			t.Errorf("%s: hash of %q: got %d, want %d", v.ID, v.Job, h, v.Hash)
		}
		rotate := v.RotateServerByName
		if v.Hash == math.MinInt32 && len(v.Instances) > 0 && rotate.err == "IndexOutOfBoundsException" {
			rotate = v.AverageAllocation // where Java fails, the rotation is by 0 here
		}
		for _, s := range []struct {
			name  string
			order func(Request) []int
			want  assigned
		}{
			{"average", averageOrder, v.AverageAllocation},
			{"odevity", odevityOrder, v.OdevitySortByName},
			{"rotate", rotateOrder, rotate},
		} {
			compare(t, v, s.name, s.order, s.want)
		}
		for version, alt := range v.Alt {
			if version != "3.0.4" || v.Total >= 0 {
				t.Errorf("%s: an unknown difference of version %s", v.ID, version)
			}
			compareAlt(t, v, averageOrder, alt.Average)
			compareAlt(t, v, odevityOrder, alt.Odevity)
			compareAlt(t, v, rotateOrder, alt.Rotate)
		}
	}
}

func compare(t *testing.T, v shardingVector, name string, order func(Request) []int, want assigned) {
	t.Helper()
	s, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Job: v.Job, Instances: slices.Clone(v.Instances), Total: v.Total}
	got, err := s.Assign(t.Context(), r)
	if !slices.Equal(r.Instances, v.Instances) {
		t.Errorf("%s: %s changed the caller's instances", v.ID, name)
	}
	if (err != nil) != (want.err != "") {
		t.Errorf("%s: %s: error %v, want %q", v.ID, name, err, want.err)
	}
	if err != nil || want.err != "" {
		known := map[string]bool{
			"IllegalArgumentException": v.Total < 0,
			"ArithmeticException":      len(v.Instances) == 0,
		}
		if !known[want.err] {
			t.Errorf("%s: %s: the recorded error %q is new", v.ID, name, want.err)
		}
		return
	}
	items := make([][]int, len(v.Instances))
	for i, index := range want.order {
		items[index] = want.items[i]
	}
	if !slices.EqualFunc(got, items, slices.Equal) {
		t.Errorf("%s: %s: got %v, want %v", v.ID, name, got, items)
	}
	if o := distinct(r.Instances, order(r)); !slices.Equal(o, want.order) {
		t.Errorf("%s: %s: assigned in the order %v, want %v", v.ID, name, o, want.order)
	}
	count := 0
	for _, block := range got {
		count += len(block)
	}
	if err := Check(r, got); (err == nil) != (count == v.Total) {
		t.Errorf("%s: %s: %d items of %d given; check says %v", v.ID, name, count, v.Total, err)
	}
}

// distinct is the order with every id once, as its first index.
func distinct(ids []string, order []int) []int {
	var firsts []int
	for _, i := range order {
		if first := slices.Index(ids, ids[i]); !slices.Contains(firsts, first) {
			firsts = append(firsts, first)
		}
	}
	return firsts
}

// Version 3 takes a negative total for no items at all.
func compareAlt(t *testing.T, v shardingVector, order func(Request) []int, want assigned) {
	t.Helper()
	r := Request{Job: v.Job, Instances: v.Instances}
	if o := order(r); want.err != "" || !slices.Equal(o, want.order) {
		t.Errorf("%s: version 3 assigned in the order %v, want %v", v.ID, want.order, o)
	}
	for _, items := range want.items {
		if len(items) > 0 {
			t.Errorf("%s: version 3 gave items of a negative total", v.ID)
		}
	}
}

type hashVector struct {
	ID   string `json:"id"`
	Cat  string `json:"cat"`
	Op   string `json:"op"`
	S    string `json:"s"`
	Want struct {
		Hash *int32 `json:"hash"`
	} `json:"want"`
}

func TestHashVectors(t *testing.T) {
	t.Parallel()
	for _, v := range recorded.Vectors[hashVector](t, "strategy/hash.jsonl") {
		if got := JavaHash(v.S); v.Op != "hash" || v.Want.Hash == nil || got != *v.Want.Hash {
			t.Errorf("%s: %q: got %d, want %+v", v.ID, v.S, got, v)
		}
	}
}

func FuzzJavaHash(f *testing.F) {
	for _, s := range []string{"", "a", "polygenelubricants", "作业", "😀", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want int32
		for _, unit := range utf16.Encode([]rune(s)) {
			want = 31*want + int32(unit)
		}
		if got := JavaHash(s); got != want {
			t.Errorf("%q: got %d, want %d", s, got, want)
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	r := Request{Job: "j", Instances: []string{"a"}, Total: MaxTotal + 1}
	for _, name := range Names() {
		s, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Assign(t.Context(), r); err == nil {
			t.Errorf("%s: %d items are assigned", name, r.Total)
		}
	}
	if err := Check(r, make([][]int, 1)); err == nil {
		t.Errorf("%d items are checked", r.Total)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	two := []string{"b", "a"}
	scattered := make([]int, 0, 5000)
	for i := range 5000 {
		scattered = append(scattered, 2*i)
	}
	tests := map[string]struct {
		instances []string
		total     int
		result    [][]int
		want      string // the end of the message; empty is no error
	}{
		"right":           {two, 3, [][]int{{2, 0}, {1}}, ""},
		"nothing":         {two, 0, [][]int{nil, {}}, ""},
		"nobody":          {nil, 2, nil, "nobody has 0-1"},
		"missing":         {two, 9, [][]int{{0, 1}, {5}}, "nobody has 2-4, 6-8"},
		"doubled":         {two, 3, [][]int{{0, 1, 1}, {1, 2, 0}}, "given more than once: 0-1"},
		"outside":         {two, 2, [][]int{{0, 1, 2}, {-1, math.MaxInt, math.MinInt}}, "not one of the 2 items: 2, -1, 9223372036854775807, -9223372036854775808"},
		"everything":      {two, 3, [][]int{{0, 0}, {7, 2}}, "nobody has 1; given more than once: 0; not one of the 3 items: 7"},
		"short":           {two, 1, [][]int{{0}}, "result is for 1 instances, not 2"},
		"negative":        {two, -1, [][]int{nil, nil}, "total -1 is not in 0..100000"},
		"stays bounded":   {two, 10000, [][]int{scattered, nil}, "nobody has 1, 3, 5, 7, 9, 11, 13, 15 and 4992 more"},
		"a range at last": {two, 40, [][]int{{0, 2, 4, 6, 8, 10, 12, 14}, nil}, "nobody has 1, 3, 5, 7, 9, 11, 13, 15-39"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Check(Request{Job: "j", Instances: tt.instances, Total: tt.total}, tt.result)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v", err)
			case tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), `job "j": `+tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// Whatever comes out of a strategy of somebody else: Check agrees with a
// plain count, and its text stays short.
func FuzzCheck(f *testing.F) {
	f.Add([]byte{0, 1, 2}, uint16(3), uint8(2))
	f.Add([]byte{0, 0, 255}, uint16(2), uint8(1))
	f.Add([]byte{}, uint16(0), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, total uint16, n uint8) {
		r := Request{Job: "j", Instances: make([]string, n), Total: int(total)}
		result := make([][]int, n)
		count := make(map[int]int)
		for i, b := range data {
			if n > 0 {
				result[i%int(n)] = append(result[i%int(n)], int(int8(b)))
				count[int(int8(b))]++
			}
		}
		right := len(count) == r.Total
		for item := range r.Total {
			right = right && count[item] == 1
		}
		err := Check(r, result)
		if (err == nil) != right {
			t.Errorf("%v of %d: %v, want right = %v", result, total, err, right)
		}
		if err != nil && len(err.Error()) > 800 {
			t.Errorf("the text has %d bytes", len(err.Error()))
		}
	})
}

func ExampleNamed() {
	s, err := Named("average")
	if err != nil {
		fmt.Println(err)
		return
	}
	items, err := s.Assign(context.Background(), Request{Job: "j", Instances: []string{"c", "b", "a"}, Total: 8})
	fmt.Println(items, err)
	_, err = Named("averge")
	fmt.Println(err)
	// Output:
	// [[0 1 6] [2 3 7] [4 5]] <nil>
	// unknown strategy "averge": did you mean "average"? (there are average, odevity, rotate)
}

func BenchmarkAverage(b *testing.B) {
	r := Request{Job: "j", Total: 10_000}
	for i := range 100 {
		r.Instances = append(r.Instances, fmt.Sprintf("10.0.0.%d@-@1", i))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Average(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
