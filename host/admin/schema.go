package admin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// schema is a JSON Schema.
type schema map[string]any

// schemas collects the schemas of the documents, by their names.
type schemas struct {
	byName map[string]schema
	types  map[string]reflect.Type // which type has which name
}

func newSchemas() schemas { return schemas{map[string]schema{}, map[string]reflect.Type{}} }

const schemaPath = "#/components/schemas/"

// fixed are the schemas of types that write their own JSON.
var fixed = map[reflect.Type]schema{ // read only
	reflect.TypeFor[time.Time]():       {"type": "string", "format": "date-time"},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[[]byte]():          {"type": "string", "contentEncoding": "base64"},
	reflect.TypeFor[trace.State]():     {"type": "string", "enum": trace.States()},
	reflect.TypeFor[trace.Cause]():     {"type": "string", "enum": trace.Causes()},
	reflect.TypeFor[reason.Reason](): {
		"type": "object", "additionalProperties": false, "required": []string{"text"},
		"properties": schema{"code": schema{"type": "string"}, "text": schema{"type": "string"}, "hint": schema{"type": "string"}, "params": schema{"type": "object", "additionalProperties": schema{"type": "string"}}},
	},
}

// of returns the schema of the JSON that a value of a type becomes. A struct with a
// name is put into the collection, and the schema refers to it.
func (all schemas) of(t reflect.Type) schema {
	if s, ok := fixed[t]; ok {
		return s
	}
	switch t.Kind() {
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return schema{"type": "integer"}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Pointer:
		return all.of(t.Elem())
	case reflect.Slice:
		return schema{"type": "array", "items": all.of(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": all.of(t.Elem())}
	case reflect.Struct:
		name := documentName(t)
		switch known, ok := all.types[name]; {
		case !ok:
			all.types[name] = t // a type may contain itself
			all.byName[name] = all.object(t, false)
		case known != t:
			panic(fmt.Sprintf("%v and %v are both called %s: rename one of them", known, t, name))
		}
		return schema{"$ref": schemaPath + name}
	default:
		panic("no schema for " + t.String())
	}
}

// documentName is the name of a type for readers of the document.
func documentName(t reflect.Type) string {
	name := strings.TrimSuffix(t.Name(), "Document")
	return strings.ToUpper(name[:1]) + name[1:]
}

// object returns the schema of a struct. In a body every member may be left out.
func (all schemas) object(t reflect.Type, body bool) schema {
	members, required := schema{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" { // embedded, or left out
			continue
		}
		members[name] = all.of(f.Type)
		if options == "" && !body {
			required = append(required, name)
		}
	}
	s := schema{"type": "object", "additionalProperties": false, "properties": members}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}
