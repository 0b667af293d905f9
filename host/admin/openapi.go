package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const openAPIPath = "/api/v1/openapi.json"

// openAPI returns the OpenAPI document of routes, as JSON.
func openAPI(all []route) []byte {
	text, err := json.MarshalIndent(openAPIOf(all), "", " ")
	if err != nil {
		panic(err) // the document is the same in every process, so a test would have failed
	}
	return append(text, '\n')
}

// openAPIAction answers with the OpenAPI document.
func openAPIAction() action {
	return action{givesType: jsonType, status: http.StatusOK, do: func(r *request) error {
		r.w.Header().Set("Content-Type", jsonType)
		_, _ = r.w.Write(r.h.document()) // an error means that the client is gone
		return nil
	}}
}

// openAPIOf returns the OpenAPI document of routes.
func openAPIOf(all []route) schema {
	documents, paths := newSchemas(), map[string]schema{}
	for i := range all {
		r := &all[i]
		at := strings.ReplaceAll(r.path, "...}", "}") // OpenAPI has no parameters of several parts
		if paths[at] == nil {
			paths[at] = schema{}
		}
		paths[at][strings.ToLower(r.method)] = r.operation(documents)
	}
	documents.of(reflect.TypeFor[problem]())
	return schema{
		"openapi": "3.1.0",
		"info": schema{
			"title": "wasmjobd", "version": "1",
			"description": "The API for operators of a server. Later releases add routes and members; they change none.",
		},
		"paths": paths,
		"components": schema{"schemas": documents.byName, "securitySchemes": schema{
			"token":   schema{"type": "http", "scheme": "bearer"},
			"session": schema{"type": "apiKey", "in": "cookie", "name": secureCookie, "description": "Of POST " + sessionPath + ". Writes need the header " + csrfHeader + " as well. Without TLS the cookie is " + plainCookie + "."},
		}},
		"security": []schema{{"token": []string{}}, {"session": []string{}}},
	}
}

// operation describes a route.
func (r *route) operation(documents schemas) schema {
	o := schema{
		"operationId": r.operationID(), "summary": r.says, "responses": r.responses(documents),
	}
	if isOpen(r.path) {
		o["security"] = []schema{{}, {"token": []string{}}, {"session": []string{}}}
	} else {
		o["description"], o["x-role"] = "Needs the role "+string(r.role())+".", r.role()
	}
	if p := r.parameters(); len(p) > 0 {
		o["parameters"] = p
	}
	switch a := r.does; {
	case a.takesType != "":
		o["requestBody"] = schema{"required": true, "content": content(a.takesType, schema{"type": "string", "format": "binary"})}
	case a.takes != nil:
		o["requestBody"] = schema{"required": false, "content": content(jsonType, documents.object(a.takes, true))}
	}
	return o
}

// operationID makes a name from the method and the path, as getJobsJobRuns.
func (r *route) operationID() string {
	var id strings.Builder
	id.WriteString(strings.ToLower(r.method))
	for _, word := range strings.FieldsFunc(strings.TrimPrefix(r.path, "/api/v1"), func(c rune) bool { return !unicode.IsLetter(c) }) {
		id.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return id.String()
}

// parameters describes the parameters of the path, the query and the headers.
func (r *route) parameters() []schema {
	var all []schema
	for _, name := range r.pathNames() {
		takes := schema{"type": "string", "minLength": 1}
		if name == "item" {
			takes = itemSchema
		}
		all = append(all, schema{"name": name, "in": "path", "required": true, "schema": takes})
	}
	for _, p := range r.queried() {
		takes := p.takes
		if takes == nil {
			takes = schema{"type": "string"}
		}
		if p.oneOf != nil {
			takes = schema{"type": "string", "enum": p.oneOf}
		}
		if p.many {
			takes = schema{"type": "array", "items": takes}
		}
		all = append(all, schema{"name": p.name, "in": "query", "required": p.required, "description": p.says, "schema": takes})
	}
	for _, p := range r.headers() {
		all = append(all, schema{"name": p.name, "in": "header", "required": p.required, "description": p.says, "schema": p.takes})
	}
	return all
}

// itemSchema is the schema of the number of an item.
var itemSchema = schema{"type": "integer", "minimum": 0} // read only

// eventSchema is the schema of each event of a stream, as the stream's lines name its fields.
var eventSchema = schema{ // read only
	"type": "object", "required": []string{"data"},
	"properties": schema{
		"id": schema{"type": "string"}, "event": schema{"type": "string"}, "retry": schema{"type": "integer"},
		"data": schema{"type": "string", "contentMediaType": jsonType},
	},
}

// responses describes the success of a route and its problems.
func (r *route) responses(documents schemas) map[string]schema {
	a := r.does
	done := schema{"description": http.StatusText(a.status)}
	switch {
	case a.gives != nil:
		done["content"] = content(jsonType, documents.of(a.gives))
	case a.givesType == jsonType:
		done["content"] = content(jsonType, schema{"type": "object"})
	case a.givesType == eventsType:
		done["content"] = content(eventsType, eventSchema)
	case a.givesType != "":
		done["content"] = content(a.givesType, schema{"type": "string"})
	}
	all := map[string]schema{strconv.Itoa(a.status): done}
	if a.tagged {
		done["headers"] = schema{etagHeader: schema{"description": "changes with every byte of the answer", "schema": schema{"type": "string"}}}
		all[strconv.Itoa(http.StatusNotModified)] = schema{"description": "The client has it already"}
	}
	if r.writes() && !r.does.reports {
		all[strconv.Itoa(http.StatusOK)] = r.orDry(done, documents)
	}
	codes := map[int][]string{}
	for _, code := range r.codes() {
		status := statusOf(code)
		codes[status] = append(codes[status], code)
	}
	for status, of := range codes {
		all[strconv.Itoa(status)] = schema{
			"description": fmt.Sprintf("%s: %s", http.StatusText(status), strings.Join(slices.Sorted(slices.Values(of)), ", ")),
			"content":     content(problemType, schema{"$ref": schemaPath + documentName(reflect.TypeFor[problem]())}),
		}
	}
	return all
}

// orDry describes the answers of a route that writes with the status OK: that of a dry run and, if the route has
// this status itself, done.
func (r *route) orDry(done schema, documents schemas) schema {
	tried := documents.of(reflect.TypeFor[dryDocument]())
	if r.does.status != http.StatusOK {
		return schema{"description": "What a dry run would have done", "content": content(jsonType, tried)}
	}
	return schema{"description": done["description"], "content": content(jsonType, schema{"oneOf": []schema{documents.of(r.does.gives), tried}})}
}

// content describes a body of one media type.
func content(mediaType string, s schema) schema { return schema{mediaType: schema{"schema": s}} }
