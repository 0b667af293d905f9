package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// CSV has a column for each field of a row, except those that another column has in another form,
// and one that only rows of the registry have.
func TestCSVHasEveryFieldOfARow(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[listedRow]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch name {
		case "", "duration", "reason_params", "in_registry_for":
			continue
		}
		if !strings.HasSuffix(name, "_unix_ms") {
			fields = append(fields, name)
		}
	}
	columns := csvNames()
	if len(columns) != len(csvValues(&listedRow{Metrics: json.RawMessage("{}")})) {
		t.Error("the line of names and the lines of rows differ in length")
	}
	slices.Sort(fields)
	slices.Sort(columns)
	if !slices.Equal(fields, columns) {
		t.Errorf("columns %q, want %q", columns, fields)
	}
}
