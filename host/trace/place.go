package trace

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
)

// Place is the position of a row in lists of rows. It is the same in every history, so a page
// of one history can continue after a row of another.
type Place struct {
	Instant int64  `json:"t"`
	Job     string `json:"j"`
	Item    int    `json:"i"`
	Run     string `json:"r"`
	Attempt int    `json:"a"`
}

// PlaceOf returns the place of a row.
func PlaceOf(r *Row) Place { return Place{r.Instant, r.Job, r.Item, r.Run, r.Attempt} }

// Compare is negative if p comes before other, ordered by time.
func (p Place) Compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Instant, other.Instant), cmp.Compare(p.Job, other.Job), cmp.Compare(p.Item, other.Item),
		cmp.Compare(p.Run, other.Run), cmp.Compare(p.Attempt, other.Attempt))
}

// String returns the place as a cursor, which ParsePlace reads.
func (p Place) String() string {
	b, err := json.Marshal(p)
	if err != nil {
		return "" // cannot fail for strings and numbers
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParsePlace reads a cursor.
func ParsePlace(cursor string) (Place, error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return Place{}, err //nolint:wrapcheck // callers add which cursor it is
	}
	var p Place
	if err := json.Unmarshal(b, &p); err != nil {
		return Place{}, err //nolint:wrapcheck // as above
	}
	if p.Job == "" {
		return Place{}, errors.New("it names no job")
	}
	return p, nil
}

// Newest sorts elements of several histories by their rows, newest first, and keeps one for
// each place: the one with the most detail, or the first of these. row returns the row of an
// element.
func Newest[E any](all []E, row func(*E) *Row) []E {
	newest := func(a, b E) int { return -PlaceOf(row(&a)).Compare(PlaceOf(row(&b))) }
	slices.SortStableFunc(all, func(a, b E) int {
		return cmp.Or(newest(a, b), -cmp.Compare(Detail(row(&a)), Detail(row(&b))))
	})
	return slices.CompactFunc(all, func(a, b E) bool { return newest(a, b) == 0 })
}
