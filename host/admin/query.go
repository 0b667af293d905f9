package admin

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// readQuery reads the parameters of a query into the variables that fields names, which
// are strings or lists of strings. It refuses unknown parameters, as readBody does, and
// a parameter that comes twice and is no list.
func (r *request) readQuery(fields map[string]any) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	if len(fields) == 0 {
		return refuse(http.StatusBadRequest, codeBadRequest, "this request takes no query")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refuse(http.StatusBadRequest, codeBadRequest, "the query cannot be read: "+err.Error())
	}
	var faults []fault
	for _, name := range slices.Sorted(maps.Keys(query)) {
		to := fields[name]
		one, single := to.(*string)
		many, _ := to.(*[]string)
		switch {
		case many != nil:
			*many = query[name]
		case !single:
			known := strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
			faults = append(faults, fault{Parameter: name, Message: fmt.Sprintf("%.64q is not known; known are %s", name, known)})
		case len(query[name]) > 1:
			faults = append(faults, fault{Parameter: name, Message: fmt.Sprintf("%q comes twice", name)})
		default:
			*one = query[name][0]
		}
	}
	if len(faults) > 0 {
		return refuse(http.StatusBadRequest, codeBadRequest, "the query is not what this request takes: "+faults[0].Message, faults...)
	}
	return nil
}
