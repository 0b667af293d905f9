package v3

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
)

// Props are the properties without a field of Config: a JSON object, or empty. Two Props
// with the same values are equal.
type Props string

const (
	propStreaming = "streaming.process"
	propCommand   = "script.command.line"
)

// propsOf returns properties as one text, with the names in order.
func propsOf(values map[string]string) Props {
	if len(values) == 0 {
		return ""
	}
	return Props(jsonvalue.Encode(values))
}

// values is the reverse of propsOf.
func (p Props) values() map[string]string {
	values := map[string]string{}
	if p != "" {
		_ = json.Unmarshal([]byte(p), &values) // propsOf made the text, or it has no values
	}
	return values
}

// props returns all properties of a job: those in Props, and those that are fields of
// Config.
func (c *Config) props() map[string]string {
	values := c.Props.values()
	if c.Dataflow {
		values[propStreaming] = strconv.FormatBool(c.StreamingProcess)
	}
	if c.Class == typeScript && c.ScriptCommandLine != "" {
		values[propCommand] = c.ScriptCommandLine
	}
	return values
}

// setProps sets the fields that properties hold, and Props to the rest.
func (c *Config) setProps(values map[string]string) {
	if streaming, ok := values[propStreaming]; ok {
		c.Dataflow, c.StreamingProcess = true, strings.EqualFold(streaming, "true")
		delete(values, propStreaming)
	}
	if c.Class == typeScript {
		c.ScriptCommandLine = values[propCommand]
		delete(values, propCommand)
	}
	c.Props = propsOf(values)
}

// javaOrder returns the names of properties in the order in which Java's HashMap lists
// them: by their place in a table that doubles whenever it is three quarters full. The
// place is the String's hash code, with the upper half folded into the lower. Names of the
// same place are sorted.
func javaOrder(props map[string]string) []string {
	size := int32(16)
	for int32(len(props)) >= size/4*3 {
		size *= 2
	}
	place := func(name string) int32 {
		var hash int32
		for _, unit := range utf16.Encode([]rune(name)) {
			hash = 31*hash + int32(unit)
		}
		return (hash ^ int32(uint32(hash)>>16)) & (size - 1)
	}
	names := slices.Sorted(maps.Keys(props))
	slices.SortStableFunc(names, func(a, b string) int { return int(place(a) - place(b)) })
	return names
}
