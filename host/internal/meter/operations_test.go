package meter

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// operation is an instruction that takes values and produces one.
type operation struct {
	code        []byte
	takes       string
	lanes, lane int // bytes of lanes that follow, and their upper bound
	nan         byte
}

var operations = allOperations()

func allOperations() map[byte][]operation {
	all := map[byte][]operation{}
	for _, p := range []struct {
		from, to int
		typ      string
	}{
		{0x45, 0x45, "i>i"}, {0x46, 0x4f, "ii>i"}, {0x50, 0x50, "l>i"}, {0x51, 0x5a, "ll>i"}, {0x5b, 0x60, "ff>i"}, {0x61, 0x66, "dd>i"},
		{0x67, 0x69, "i>i"}, {0x6a, 0x78, "ii>i"}, {0x79, 0x7b, "l>l"}, {0x7c, 0x8a, "ll>l"}, {0x8b, 0x91, "f>f"}, {0x92, 0x98, "ff>f"},
		{0x99, 0x9f, "d>d"}, {0xa0, 0xa6, "dd>d"}, {0xa7, 0xa7, "l>i"}, {0xa8, 0xa9, "f>i"}, {0xaa, 0xab, "d>i"}, {0xac, 0xad, "i>l"},
		{0xae, 0xaf, "f>l"}, {0xb0, 0xb1, "d>l"}, {0xb2, 0xb3, "i>f"}, {0xb4, 0xb5, "l>f"}, {0xb6, 0xb6, "d>f"}, {0xb7, 0xb8, "i>d"},
		{0xb9, 0xba, "l>d"}, {0xbb, 0xbb, "f>d"}, {0xbc, 0xbc, "f>i"}, {0xbd, 0xbd, "d>l"}, {0xbe, 0xbe, "i>f"}, {0xbf, 0xbf, "l>d"},
		{0xc0, 0xc1, "i>i"}, {0xc2, 0xc4, "l>l"},
		{0xfc00, 0xfc01, "f>i"}, {0xfc02, 0xfc03, "d>i"}, {0xfc04, 0xfc05, "f>l"}, {0xfc06, 0xfc07, "d>l"},
	} {
		takes, gives, _ := strings.Cut(p.typ, ">")
		for op := p.from; op <= p.to; op++ {
			o := operation{code: []byte{byte(op)}, takes: takes, nan: gives[0]}
			if op > 0xff {
				o.code = []byte{0xfc, byte(op)}
			}
			all[gives[0]] = append(all[gives[0]], o)
		}
	}
	vectorOperations(all)
	return all
}

func vectorOperations(all map[byte][]operation) {
	for _, p := range []struct {
		from, to int
		typ      string
		lane     int
	}{
		{0x0f, 0x11, "i>v", 0}, {0x12, 0x12, "l>v", 0}, {0x13, 0x13, "f>v", 0}, {0x14, 0x14, "d>v", 0}, {0x15, 0x16, "v>i", 16}, {0x18, 0x19, "v>i", 8},
		{0x1b, 0x1b, "v>i", 4}, {0x1d, 0x1d, "v>l", 2}, {0x1f, 0x1f, "v>f", 4}, {0x21, 0x21, "v>d", 2}, {0x17, 0x17, "vi>v", 16}, {0x1a, 0x1a, "vi>v", 8},
		{0x1c, 0x1c, "vi>v", 4}, {0x1e, 0x1e, "vl>v", 2}, {0x20, 0x20, "vf>v", 4}, {0x22, 0x22, "vd>v", 2}, {0x0d, 0x0d, "vv>v", 32}, {0x0e, 0x0e, "vv>v", 0},
		{0x23, 0x4c, "vv>v", 0}, {0x4d, 0x4d, "v>v", 0}, {0x4e, 0x51, "vv>v", 0}, {0x52, 0x52, "vvv>v", 0}, {0x53, 0x53, "v>i", 0}, {0x5e, 0x62, "v>v", 0},
		{0x63, 0x64, "v>i", 0}, {0x65, 0x66, "vv>v", 0}, {0x67, 0x6a, "v>v", 0}, {0x6b, 0x6d, "vi>v", 0}, {0x6e, 0x73, "vv>v", 0}, {0x74, 0x75, "v>v", 0},
		{0x76, 0x79, "vv>v", 0}, {0x7a, 0x7a, "v>v", 0}, {0x7b, 0x7b, "vv>v", 0}, {0x7c, 0x81, "v>v", 0}, {0x82, 0x82, "vv>v", 0}, {0x83, 0x84, "v>i", 0},
		{0x85, 0x86, "vv>v", 0}, {0x87, 0x8a, "v>v", 0}, {0x8b, 0x8d, "vi>v", 0}, {0x8e, 0x93, "vv>v", 0}, {0x94, 0x94, "v>v", 0}, {0x95, 0x99, "vv>v", 0},
		{0x9b, 0x9f, "vv>v", 0}, {0xa0, 0xa1, "v>v", 0}, {0xa3, 0xa4, "v>i", 0}, {0xa7, 0xaa, "v>v", 0}, {0xab, 0xad, "vi>v", 0}, {0xae, 0xae, "vv>v", 0},
		{0xb1, 0xb1, "vv>v", 0}, {0xb5, 0xba, "vv>v", 0}, {0xbc, 0xbf, "vv>v", 0}, {0xc0, 0xc1, "v>v", 0}, {0xc3, 0xc4, "v>i", 0}, {0xc7, 0xca, "v>v", 0},
		{0xcb, 0xcd, "vi>v", 0}, {0xce, 0xce, "vv>v", 0}, {0xd1, 0xd1, "vv>v", 0}, {0xd5, 0xdf, "vv>v", 0}, {0xe0, 0xe1, "v>v", 0}, {0xe3, 0xe3, "v>v", 0},
		{0xe4, 0xeb, "vv>v", 0}, {0xec, 0xed, "v>v", 0}, {0xef, 0xef, "v>v", 0}, {0xf0, 0xf7, "vv>v", 0}, {0xf8, 0xff, "v>v", 0},
	} {
		takes, gives, _ := strings.Cut(p.typ, ">")
		for op := p.from; op <= p.to; op++ {
			o := operation{code: cat(0xfd, u(op)), takes: takes, lane: p.lane, nan: gives[0]}
			switch {
			case op == 0x0d:
				o.lanes = 16
			case p.lane > 0:
				o.lanes = 1
			case op == 0x5e, op >= 0x67 && op <= 0x6a, op >= 0xe0 && op <= 0xeb:
				o.nan = 'F'
			case op == 0x5f, op == 0x74, op == 0x75, op == 0x7a, op == 0x94, op >= 0xec && op <= 0xf7:
				o.nan = 'D'
			}
			all[gives[0]] = append(all[gives[0]], o)
		}
	}
}

// TestOperations compares the table of package wasm with the list of these tests, which
// the engine has validated.
func TestOperations(t *testing.T) {
	t.Parallel()
	for _, list := range operations {
		for _, o := range list {
			m, err := wasm.Decode((&build{funcs: []fn{{"f", ">", "", cat(o.code, make([]byte, o.lanes))}}}).bytes())
			if err != nil {
				t.Fatal(err)
			}
			var c wasm.Code
			c.BeginBody(m, 0)
			c.Next()
			if takes, leaves := c.Op.StackEffect(); takes != len(o.takes) || leaves != 1 || !c.Next() || c.Op != wasm.OpEnd {
				t.Errorf("% x takes %d and leaves %d; then comes %#x, %v", o.code, takes, leaves, c.Op, c.Err())
			}
		}
	}
}
