package job

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

// answer is ElasticJob's recorded answer: a value, or an error in Java's words.
type answer struct {
	Map    map[string]string `json:"map"`
	Items  []int             `json:"items"`
	S      *string           `json:"s"`
	TaskID *string           `json:"taskId"`
	IP     *string           `json:"ip"`

	JobName  *string `json:"jobName"`
	Type     *string `json:"type"`
	SlaveID  *string `json:"slaveId"`
	TaskName *string `json:"taskName"`
	Meta     *string `json:"meta"`

	Strategy string `json:"strategy"`
	Error    string `json:"error"`
	Message  string `json:"message"`
}

type vector struct {
	ID       string `json:"id"`
	Cat      string `json:"cat"`
	Op       string `json:"op"`
	S        string `json:"s"` // null stands for Go's empty string
	Name     string `json:"name"`
	Job      string `json:"job"`
	Items    []int  `json:"items"`
	Instance string `json:"instance"`
	Want     answer `json:"want"`
}

// javaFaults maps Java's name of an error to words that our error must contain.
var javaFaults = map[string][]string{
	"IllegalStateException":           {"parts, not"},
	"NumberFormatException":           {"32-bit integer"},
	"StringIndexOutOfBoundsException": {"has no"},
	"IllegalArgumentException":        {"is empty", "is neither"},
	"JobConfigurationException":       {"is not item=parameter", "32-bit integer"},
}

// refusal reports whether the recording or err is an error, and compares the two.
func refusal(t *testing.T, v vector, err error) bool {
	t.Helper()
	if err == nil && v.Want.Error == "" {
		return false
	}
	says := func(s string) bool { return err != nil && strings.Contains(err.Error(), s) }
	if !slices.ContainsFunc(javaFaults[v.Want.Error], says) {
		t.Errorf("%s: error %v, want %q", v.ID, err, v.Want.Error)
	}
	return true
}

func TestItemParamsVectors(t *testing.T) {
	t.Parallel()
	for _, v := range recorded.Vectors[vector](t, "itemparams/itemparams.jsonl") {
		if v.Op != "itemparams" {
			t.Errorf("%s: unknown op %q", v.ID, v.Op)
		}
		got, err := ParseItemParams(v.S)
		if refusal(t, v, err) {
			checkFault(t, v, err)
			continue
		}
		want := make(map[int]string)
		for item, param := range v.Want.Map {
			n, err := strconv.Atoi(item)
			if err != nil {
				t.Fatalf("%s: %v", v.ID, err)
			}
			want[n] = param
		}
		if !maps.Equal(got, want) || v.Want.Map == nil {
			t.Errorf("%s: %q: got %v, want %v", v.ID, v.S, got, want)
		}
	}
}

// checkFault distinguishes the two faults: a piece that is no pair, and an item that is no
// integer.
func checkFault(t *testing.T, v vector, err error) {
	t.Helper()
	noInteger := strings.HasSuffix(v.Want.Message, "is not an integer.")
	noPair := strings.HasSuffix(v.Want.Message, "format error, should be int=xx,int=xx")
	if noInteger == noPair || !strings.Contains(v.Want.Message, "Sharding item parameters ") {
		t.Errorf("%s: the recorded fault is new: %+v", v.ID, v.Want)
	}
	if err != nil && strings.Contains(err.Error(), "32-bit integer") != noInteger {
		t.Errorf("%s: error %q, ElasticJob says %q", v.ID, err, v.Want.Message)
	}
}

func TestItemsVectors(t *testing.T) {
	t.Parallel()
	for _, v := range recorded.Vectors[vector](t, "itemparams/items.jsonl") {
		switch v.Op {
		case "items":
			got, err := ParseItems(v.S)
			if refusal(t, v, err) {
				continue
			}
			if v.Want.Items == nil || !slices.Equal(got, v.Want.Items) {
				t.Errorf("%s: %q: got %v, want %v", v.ID, v.S, got, v.Want.Items)
			}
		case "itemstr":
			if got := FormatItems(v.Items); v.Want.S == nil || got != *v.Want.S {
				t.Errorf("%s: %v: got %q, want %+v", v.ID, v.Items, got, v.Want)
			}
		default:
			t.Errorf("%s: unknown op %q", v.ID, v.Op)
		}
	}
}

func TestFormatItemParams(t *testing.T) {
	t.Parallel()
	good := map[string]map[int]string{
		"":                 {},
		"0=a":              {0: "a"},
		"-1=z,2=b c,10=中":  {10: "中", 2: "b c", -1: "z"},
		"0= =,1=\u00a0x":   {0: "", 1: "\u00a0x"},
		"0= =":             {0: ""},
		"-2147483648=last": {-2147483648: "last"},
	}
	for want, params := range good {
		got, err := FormatItemParams(params)
		if err != nil || got != want {
			t.Errorf("%v: got %q, %v, want %q", params, got, err, want)
		}
		back, err := ParseItemParams(got)
		if err != nil || !maps.Equal(back, params) {
			t.Errorf("%q reads as %v, %v, want %v", got, back, err, params)
		}
	}
	for _, params := range []map[int]string{
		{0: "a,b"}, {0: "a=b"}, {0: " a"}, {0: "a\n"}, {1 << 31: "a"}, {0: " "},
	} {
		if got, err := FormatItemParams(params); err == nil {
			t.Errorf("%v: got %q, want an error", params, got)
		}
	}
}

// A digit's value follows from its position in a table with runs of ten, which a new version of
// Unicode must not break.
func TestDigitsComeInRunsOfTen(t *testing.T) {
	t.Parallel()
	for _, r := range unicode.Nd.R16 {
		if (r.Hi-r.Lo+1)%10 != 0 || r.Stride != 1 {
			t.Errorf("%U-%U", r.Lo, r.Hi)
		}
	}
	for _, s := range []string{"𝟎", "０x", "", "+", "-", "2147483648", "-2147483649", "99999999999999999999999", "1_0", "0x1"} {
		if n, err := ParseInt(s); err == nil {
			t.Errorf("%q: got %d", s, n)
		}
	}
	for s, want := range map[string]int{"+7": 7, "-007": -7, "-2147483648": -2147483648, "2147483647": 2147483647, "٣٤": 34, "1０": 10} {
		if n, err := ParseInt(s); err != nil || n != want {
			t.Errorf("%q: got %d, %v", s, n, err)
		}
	}
}

func FuzzParseItemParams(f *testing.F) {
	for _, s := range []string{"", ",", "0=a,1=b", " 0 = A , 1=B,", "0= =", "٣=x", "+1=\u3000", "0=a=b", "\xff=\xfe", "9999999999=a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		params, err := ParseItemParams(s)
		if err != nil {
			if len(err.Error()) > 2000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		text, err := FormatItemParams(params)
		if err != nil {
			t.Fatalf("%q reads as %v, which can't be written: %v", s, params, err)
		}
		if back, err := ParseItemParams(text); err != nil || !maps.Equal(back, params) {
			t.Errorf("%q → %v → %q → %v, %v", s, params, text, back, err)
		}
	})
}
