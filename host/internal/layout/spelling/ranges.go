package spelling

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
)

// byItem is a number for each item, 0 for none. Its JSON is ranges, [from, to, number]. If
// there are too many ranges, it is the different numbers, and the index into them, from 1,
// for each item: base64 of one varint after another.
type byItem []int64

// At most maxRanges are written. A strategy may scatter items, and 50,000 ranges outgrow a
// node.

// moments are times in ms for operators. If so many differ that even the packed form is
// large, they are rounded down until at most maxMoments differ, so each item takes one
// byte.
type moments []int64

// IsZero is what omitzero asks.
func (s moments) IsZero() bool { return byItem(s).IsZero() }

// MarshalJSON writes moments as those of a byItem, rounded if there are too many ranges.
func (s moments) MarshalJSON() ([]byte, error) {
	if len(ranges(s)) > maxRanges {
		s = s.rounded()
	}
	return byItem(s).MarshalJSON()
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *moments) UnmarshalJSON(data []byte) error { return (*byItem)(s).UnmarshalJSON(data) }

// rounded rounds the moments down, by ever larger units, until at most maxMoments differ. A
// known moment never becomes 0, which means none.
func (s moments) rounded() moments {
	for unit := int64(1000); ; unit *= 4 {
		r, known := make(moments, len(s)), map[int64]bool{}
		for i, t := range s {
			if t != 0 {
				r[i] = max(t-t%unit, 1)
				known[r[i]] = true
			}
		}
		if len(known) <= maxMoments || unit > 1<<60 {
			return r
		}
	}
}

type packed struct {
	Numbers []int64 `json:"numbers"`
	Of      []byte  `json:"of"`
}

// IsZero is what omitzero asks.
func (s byItem) IsZero() bool {
	return len(s) == 0 || !slices.ContainsFunc(s, func(n int64) bool { return n != 0 })
}

// MarshalJSON writes ranges or, if there are too many, the packed form.
func (s byItem) MarshalJSON() ([]byte, error) {
	r := ranges(s)
	if len(r) <= maxRanges {
		return jsonvalue.Encode(r), nil
	}
	return s.packed(), nil
}

// packed returns the second form: of each item, the index of its number, from 1; 0 for
// none.
func (s byItem) packed() []byte {
	var p packed
	known := map[int64]uint64{0: 0}
	for _, n := range s {
		k, ok := known[n]
		if !ok {
			p.Numbers = append(p.Numbers, n)
			k = uint64(len(p.Numbers))
			known[n] = k
		}
		p.Of = binary.AppendUvarint(p.Of, k)
	}
	return jsonvalue.Encode(p)
}

// UnmarshalJSON reads either form: ranges are an array, the packed form is an object. It
// bounds the items, since a few bytes of a foreign value may stand for many.
func (s *byItem) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		var r [][3]int64
		if err := json.Unmarshal(data, &r); err != nil {
			return fmt.Errorf("ranges of items: %w", err)
		}
		items, err := spread(r)
		*s = items
		return err
	}
	var p packed
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("packed numbers: %w", err)
	}
	items := make(byItem, 0, min(len(p.Of), MaxItems))
	for rest := p.Of; len(rest) > 0; {
		k, n := binary.Uvarint(rest)
		switch {
		case n <= 0 || k > uint64(len(p.Numbers)):
			return errors.New("the packed numbers are cut off or out of range")
		case len(items) == MaxItems:
			return fmt.Errorf("numbers of more than %d items", MaxItems)
		case k == 0:
			items = append(items, 0)
		default:
			items = append(items, p.Numbers[k-1])
		}
		rest = rest[n:]
	}
	*s = items
	return nil
}

// ranges returns the numbers of items as ranges, [from, to, number]. It joins equal
// neighbours, and leaves zeros out.
func ranges(s []int64) [][3]int64 {
	var r [][3]int64
	for i, x := range s {
		if x == 0 {
			continue
		}
		if n := len(r); n > 0 && r[n-1][1]+1 == int64(i) && r[n-1][2] == x {
			r[n-1][1]++
			continue
		}
		r = append(r, [3]int64{int64(i), int64(i), x})
	}
	return r
}

// spread is the reverse of ranges. It refuses ranges that are not ascending, or that
// overlap.
func spread(r [][3]int64) ([]int64, error) {
	if len(r) == 0 {
		return nil, nil
	}
	s := make([]int64, 0, max(0, min(r[len(r)-1][1]+1, MaxItems)))
	for _, x := range r {
		if x[0] < int64(len(s)) || x[1] < x[0] || x[1] >= MaxItems {
			return nil, errors.New("a range of items is out of order or out of range")
		}
		for int64(len(s)) < x[0] {
			s = append(s, 0)
		}
		for int64(len(s)) <= x[1] {
			s = append(s, x[2])
		}
	}
	return s, nil
}

// checkRange refuses a range that ends before it begins, or names items that no job has.
func checkRange(r [2]int) error {
	if r[0] < 0 || r[1] < r[0] || r[1] >= MaxItems {
		return fmt.Errorf("the range of items %d-%d is out of range", r[0], r[1])
	}
	return nil
}
