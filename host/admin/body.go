package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxBody is the limit of a request's body, in bytes.
const maxBody = 64 << 10

const jsonType = "application/json"

// readBody reads the members of a JSON object into the fields of a struct. Without a
// body, it sets none. It refuses unknown members, because a client of another release
// may rely on them, and repeated members.
func (r *request) readBody(to any) error {
	if r.Header.Get("Content-Type") == wasmType { // aheadHandler has not read it, and it may take long
		return notJSON(wasmType)
	}
	body, err := io.ReadAll(http.MaxBytesReader(r.w, r.Body, maxBody))
	if err != nil {
		return unread(err)
	}
	if r.Header.Get("Content-Encoding") != "" {
		return refuse(http.StatusUnsupportedMediaType, codeMediaType, "a body is sent as it is, without Content-Encoding")
	}
	if sent := r.Header.Get("Content-Type"); sent != "" || len(body) > 0 { // only an empty body needs no type
		mediaType, _, err := mime.ParseMediaType(sent)
		if err != nil || mediaType != jsonType {
			return notJSON(sent)
		}
	}
	if len(body) == 0 {
		return nil
	}
	if faults := parseObject(body, membersOf(to)); len(faults) > 0 {
		return refuse(http.StatusBadRequest, codeBadRequest, "the body is not what this request takes: "+faults[0].Message, faults...)
	}
	return nil
}

// membersOf returns the fields of a struct, by their names in JSON.
func membersOf(to any) map[string]any {
	v := reflect.ValueOf(to).Elem()
	members := map[string]any{}
	for i := range v.NumField() {
		members[v.Type().Field(i).Tag.Get("json")] = v.Field(i).Addr().Interface()
	}
	return members
}

// unread is why a body could not be read.
func unread(err error) *problem {
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return refuse(http.StatusRequestEntityTooLarge, codeTooLarge, fmt.Sprintf("the body has more than %d bytes", maxBody))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return tooSlow()
	}
	return refuse(http.StatusBadRequest, codeBadRequest, "the body cannot be read: "+err.Error())
}

// notJSON is the problem of a body with a wrong Content-Type, which is sent.
func notJSON(sent string) *problem {
	return refuse(http.StatusUnsupportedMediaType, codeMediaType, fmt.Sprintf("the body is %.64q; send %s", sent, jsonType))
}

func tooSlow() *problem {
	return refuse(http.StatusRequestTimeout, codeTimeout, "the body did not come in time")
}

// parseObject parses one JSON object into fields, which has a pointer for each known member. It returns all
// faults of the members.
func parseObject(body []byte, fields map[string]any) []fault {
	if !utf8.Valid(body) {
		return []fault{{Message: "it is not UTF-8"}}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return []fault{{Message: "it is no JSON object"}}
	}
	var faults []fault
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return append(faults, fault{Message: "it is no JSON"})
		}
		if message := parseMember(name, value, fields, seen); message != "" {
			faults = append(faults, fault{Pointer: "/" + escapePointer(name), Message: message})
		}
		seen[name] = true
	}
	if t, err := d.Token(); err != nil || t != json.Delim('}') {
		return append(faults, fault{Message: "it is no JSON"})
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		faults = append(faults, fault{Message: "there is more text after the object"})
	}
	return faults
}

// parseMember parses one member into its field, and returns what is wrong with it; "": nothing. seen has the
// members before it. It refuses null, which would leave the field as it is, or be 0 in a list.
func parseMember(name string, value json.RawMessage, fields map[string]any, seen map[string]bool) string {
	to, ok := fields[name]
	switch {
	case !ok && len(fields) == 0:
		return fmt.Sprintf("%.64q is not known; nothing is", name)
	case !ok:
		return fmt.Sprintf("%.64q is not known; known are %s", name, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
	case seen[name]:
		return fmt.Sprintf("%q comes twice", name)
	case hasNull(value) || json.Unmarshal(value, to) != nil:
		return fmt.Sprintf("%q must be %s", name, kindOf(to))
	}
	return ""
}

// hasNull reports whether a JSON value is null or contains one.
func hasNull(value json.RawMessage) bool {
	d := json.NewDecoder(bytes.NewReader(value))
	for {
		t, err := d.Token()
		if err != nil || t == nil {
			return err == nil
		}
	}
}

// kindOf describes the values that a variable takes.
func kindOf(to any) string {
	switch to.(type) {
	case *bool:
		return "true or false"
	case **int, *int, **int64:
		return "a number"
	case *[]int:
		return "a list of numbers"
	case *[]string:
		return "a list of strings"
	case *time.Time:
		return "a time in RFC 3339"
	}
	return "a string"
}

// refuseEmpty refuses a member that is there and empty, since the request without it is about more: it is probably a
// mistake, such as an unset variable in a script.
func refuseEmpty(name string, empty bool) error {
	if !empty {
		return nil
	}
	const message = "is empty; give it a value, or leave it out"
	return refuse(http.StatusUnprocessableEntity, codeInvalid, fmt.Sprintf("%q %s", name, message), fault{Pointer: "/" + name, Message: message})
}

// emptyItems is refuseEmpty for a list of items; nil: it is not there.
func emptyItems(items []int) error { return refuseEmpty("items", items != nil && len(items) == 0) }

// textIn returns a text that may be missing, and refuses an empty one.
func textIn(name string, member *string) (string, error) {
	if member == nil {
		return "", nil
	}
	return *member, refuseEmpty(name, *member == "")
}

// escapePointer writes the name of a member as a part of a JSON Pointer.
func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
