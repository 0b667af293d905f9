package admin

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// readQuery parses a query. Like readBody, it refuses unknown parameters. It also refuses
// parameters that are wrongly repeated, wrongly empty, or not one of their allowed texts.
func readQuery(r *http.Request, known []parameter) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	if len(known) == 0 {
		return nil, refuse(http.StatusBadRequest, codeBadRequest, "this request takes no query")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, codeBadRequest, "the query cannot be read: "+err.Error())
	}
	var faults []fault
	for _, name := range slices.Sorted(maps.Keys(query)) {
		i := slices.IndexFunc(known, func(p parameter) bool { return p.name == name })
		switch {
		case i < 0:
			var names []string
			for _, p := range known {
				names = append(names, p.name)
			}
			slices.Sort(names)
			faults = append(faults, fault{Parameter: name, Message: fmt.Sprintf("%.64q is not known; known are %s", name, strings.Join(names, ", "))})
		case len(query[name]) > 1 && !known[i].many:
			faults = append(faults, fault{Parameter: name, Message: fmt.Sprintf("%q comes twice", name)})
		case (known[i].takes != nil || known[i].oneOf != nil) && slices.Contains(query[name], ""): // it has to be a time, number or state
			faults = append(faults, fault{Parameter: name, Message: fmt.Sprintf("%q has no value; give it one, or leave it out", name)})
		case known[i].oneOf != nil && !slices.Contains(known[i].oneOf, query.Get(name)):
			faults = append(faults, fault{Parameter: name, Message: fmt.Sprintf("%s is one of %s, not %.64q", name, strings.Join(known[i].oneOf, ", "), query.Get(name))})
		}
	}
	if len(faults) > 0 {
		return nil, refuse(http.StatusBadRequest, codeBadRequest, "the query is not what this request takes: "+faults[0].Message, faults...)
	}
	return query, nil
}

// addTexts adds the parameters that are not empty.
func addTexts(query url.Values, texts map[string]string) {
	for name, text := range texts {
		if text != "" {
			query.Set(name, text)
		}
	}
}

// textsOf returns values as texts.
func textsOf[S ~string](values []S) []string {
	var all []string
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}
