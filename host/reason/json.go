package reason

import (
	"encoding/json"
	"fmt"
)

// document is a reason as JSON. The text and the hint are for people only: their wording may
// change between releases.
type document struct {
	Code   Code              `json:"code,omitempty"`
	Params map[string]string `json:"params,omitempty"`
	Text   string            `json:"text"`
	Hint   string            `json:"hint,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (r Reason) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(document{r.Code, r.Params(), r.String(), r.Hint()})
	if err != nil {
		return nil, fmt.Errorf("reason %s: %w", r.Code, err)
	}
	return b, nil
}

// UnmarshalJSON implements json.Unmarshaler. If this release does not know the code, it takes
// the text instead.
func (r *Reason) UnmarshalJSON(b []byte) error {
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("reason: %w", err)
	}
	row, known := rowOf(d.Code)
	if !known {
		*r = Text(d.Text)
		return nil
	}
	args := make([]string, len(row.params))
	for i, name := range row.params {
		args[i] = d.Params[name]
	}
	*r = Of(d.Code, args...)
	return nil
}
