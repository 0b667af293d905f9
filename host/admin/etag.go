package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/operator"
)

const (
	matchHeader = "If-Match"
	noneHeader  = "If-None-Match"
	etagHeader  = "ETag"
	maxTags     = 16 // of a header
)

// Headers of requests that depend on tags.
var ( // read only
	matchParameter = parameter{name: matchHeader, says: "tags of the job, at least one of which must be current: its ETag, or its edition in quotes", takes: schema{"type": "string"}}
	noneParameter  = parameter{name: noneHeader, says: "the ETag of the answer that the client has", takes: schema{"type": "string"}}
)

// headers returns the headers that the route reads.
func (r *route) headers() []parameter {
	switch {
	case r.does.tagged:
		return append(slices.Clone(r.header), noneParameter)
	case r.writes() && r.ofJob():
		return append(slices.Clone(r.header), matchParameter)
	}
	return r.header
}

// etagOf returns the strong tag of a document, which changes with every byte of it.
func etagOf(document any) (string, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return "", fmt.Errorf("write the document: %w", err)
	}
	sum := sha256.Sum256(text)
	return quoted(hex.EncodeToString(sum[:16])), nil
}

func quoted(tag string) string { return `"` + tag + `"` }

// tagList is the form of a list of tags of RFC 9110.
var tagList = regexp.MustCompile(`^[ \t,]*(W/)?"[!#-~\x80-\xff]*"([ \t]*(,[ \t]*((W/)?"[!#-~\x80-\xff]*")?)?)*$`)

var oneTag = regexp.MustCompile(`(W/)?"[!#-~\x80-\xff]*"`)

// tags returns the tags in a header; star reports whether it is "*". Without the header there are none.
func (r *request) tags(header string) (tags []string, star bool, err error) {
	sent := r.Header.Values(header)
	text := strings.Join(sent, ",")
	if len(sent) == 0 {
		return nil, false, nil
	}
	if strings.TrimSpace(text) == "*" {
		return nil, true, nil
	}
	if tags = oneTag.FindAllString(text, maxTags+1); !tagList.MatchString(text) || len(tags) > maxTags {
		return nil, false, refuse(http.StatusBadRequest, codeBadRequest, fmt.Sprintf(`the header %s must be *, or up to %d tags in quotes, as "1f03"`, header, maxTags))
	}
	return tags, false, nil
}

// onlyIfMatch makes a request that writes depend on its header If-Match: it is refused unless one of the tags there
// is that of the job, or its edition. Only jobs have tags. The header "*" allows any state.
func (r *request) onlyIfMatch(ofJob bool) error {
	tags, star, err := r.tags(matchHeader)
	if err != nil || star || tags == nil {
		return err
	}
	if !ofJob {
		return refuse(http.StatusPreconditionFailed, codeOutdated, "no tag covers what this request changes, since only jobs have tags; leave "+matchHeader+" out")
	}
	r.op.OnlyIf(func(report *operator.JobReport) error {
		tag, err := etagOf(shownOf(report))
		if err != nil || slices.Contains(tags, tag) || slices.Contains(tags, quoted(report.Edition)) {
			return err
		}
		return refuse(http.StatusPreconditionFailed, codeOutdated, fmt.Sprintf("job %s has changed, and nothing was done; look at it again: its tag is %s, its edition %s", report.Name, tag, quoted(report.Edition)))
	})
	return nil
}

// unchanged sets the tag of an answer, and reports whether the client has that document already.
func (r *request) unchanged(document any) (bool, error) {
	tag, err := etagOf(document)
	if err != nil {
		return false, err
	}
	have, known, err := r.tags(noneHeader)
	if err != nil {
		return false, err
	}
	r.w.Header().Set(etagHeader, tag)
	for _, one := range have {
		known = known || strings.TrimPrefix(one, "W/") == tag // this header compares weakly
	}
	return known, nil
}
