package missed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/trace"
)

// picky takes all rows but those of item 1.
type picky struct{ rows []trace.Row }

func (p *picky) Write(_ context.Context, batch []trace.Row) error {
	for _, r := range batch {
		if r.Item == 1 {
			return fmt.Errorf("%w: as the test wants it", trace.ErrRow)
		}
	}
	p.rows = append(p.rows, batch...)
	return nil
}

func TestARowThatNoHistoryTakesKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	to := &picky{}
	var refused []int
	j := Job{Refused: func(r trace.Row, err error) {
		if !errors.Is(err, trace.ErrRow) {
			t.Error(err)
		}
		refused = append(refused, r.Item)
	}}
	stored, err := j.write(t.Context(), to, []trace.Row{{Item: 0}, {Item: 1}, {Item: 2}})
	if err != nil || len(to.rows) != 2 || to.rows[1].Item != 2 || len(stored) != 2 || !slices.Equal(refused, []int{1}) {
		t.Errorf("took %+v, stored %+v, refused %v, says %v", to.rows, stored, refused, err)
	}
}
