package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// defaultPage and maxPage bound a page.
const (
	defaultPage = 100
	maxPage     = 1000
)

// pageParameters are the parameters of every list in pages.
func pageParameters(rows string) []parameter {
	return []parameter{
		{name: "limit", says: rows + " of a page", takes: schema{"type": "integer", "minimum": 1, "maximum": maxPage, "default": defaultPage}},
		{name: "cursor", says: "\"next\" of the previous page"},
	}
}

// limit returns the limit of a page.
func (r *request) limit() (int, error) {
	text := r.query.Get("limit")
	if text == "" {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPage {
		return 0, wrongParameter("limit", fmt.Sprintf("limit is 1 to %d", maxPage))
	}
	return n, nil
}

// linkNext names the following page in the header Link; empty: there is none.
func (r *request) linkNext(cursor string) {
	if cursor == "" {
		return
	}
	query := r.URL.Query()
	query.Set("cursor", cursor)
	next := url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: query.Encode()}
	r.w.Header().Set("Link", "<"+next.String()+`>; rel="next"`)
}

func wrongParameter(name, message string) *problem {
	return refuse(http.StatusBadRequest, codeBadRequest, message, fault{Parameter: name, Message: message})
}
