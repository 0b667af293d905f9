package definition

import (
	"encoding/json"
	"errors"
	"fmt"
)

func decodeJSON(data []byte, v any) error {
	if len(data) == 0 {
		return errors.New("it is empty")
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("it is not what this release writes: %w", err)
	}
	return nil
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // only numbers, texts and slices of them
		panic(err)
	}
	return b
}
