package queue

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
)

// settled returns an attribute whose value cannot change any more, and that any
// handler can format: the texts of errors and of values that describe themselves,
// and the JSON of all others.
func settled(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() { //nolint:exhaustive // the others do not change
	case slog.KindGroup:
		in := make([]slog.Attr, 0, len(a.Value.Group()))
		for _, b := range a.Value.Group() {
			in = append(in, settled(b))
		}
		a.Value = slog.GroupValue(in...)
	case slog.KindAny:
		a.Value = settledAny(a.Value.Any())
	}
	return a
}

// settledAny returns a value that says what x is now.
func settledAny(x any) slog.Value {
	switch x.(type) {
	case nil:
		return slog.AnyValue(nil)
	case error, fmt.Stringer:
		return slog.StringValue(fmt.Sprint(x)) // Sprint handles a nil pointer
	}
	switch reflect.TypeOf(x).Kind() { //nolint:exhaustive // plain values do not change
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64, reflect.String:
		return slog.AnyValue(x)
	}
	return asText(x)
}

// asText formats a value with its type's own method, which may panic.
func asText(x any) (v slog.Value) {
	defer func() {
		if p := recover(); p != nil {
			v = slog.StringValue(fmt.Sprintf("!PANIC: %v", p))
		}
	}()
	if m, ok := x.(encoding.TextMarshaler); ok {
		if text, err := m.MarshalText(); err == nil {
			return slog.StringValue(string(text))
		}
	}
	text, err := json.Marshal(x)
	if err != nil {
		return slog.StringValue(fmt.Sprintf("%+v", x))
	}
	return slog.AnyValue(json.RawMessage(text))
}
