package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

const (
	tokensPath = "/api/v1/tokens" //nolint:gosec // a path
	auditPath  = "/api/v1/audit"
)

const (
	// keyHeader is the request header with the idempotency key of a trigger.
	keyHeader = "Idempotency-Key"
	// againHeader is in the answer if the key was used before, so nothing was triggered.
	againHeader = "Idempotency-Replayed"
)

const (
	defaultAudit = 100
	maxAudit     = 1000
)

// tokenRoutes are the routes of tokens and of the audit.
func tokenRoutes() []route {
	return []route{
		{method: http.MethodGet, path: tokensPath, right: operator.Administer, does: shows(listTokens), says: "answers as `token list`", fails: []string{codeRefused}},
		{
			method: http.MethodPost, path: tokensPath, right: operator.Administer, does: calls(createToken), fails: []string{codeInvalid, codeRefused},
			says: `does what ` + "`token create`" + ` does. "valid_for" is a time such as 2160h; without it the token is valid for ever. The answer has the token's secret, which no other request shows`,
		},
		{method: http.MethodDelete, path: tokensPath + "/{token}", right: operator.Administer, does: does(revokeToken), says: "does what `token revoke` does", fails: []string{codeRefused}},
		{
			method: http.MethodGet, path: auditPath, right: operator.Administer, does: shows(listAudit), says: "answers as `audit list`", fails: []string{codeInvalid},
			query: []parameter{
				{name: "who", says: "name of a token or user"},
				{name: "verb", says: "a verb, or its first words, as in job"},
				{name: "job", says: "name of a job"},
				{name: "since", says: "a time in RFC 3339", takes: schema{"type": "string", "format": "date-time"}},
				{name: "limit", says: "the maximum of rows, the newest ones", takes: schema{"type": "integer", "minimum": 1, "maximum": maxAudit, "default": defaultAudit}},
			},
		},
	}
}

type tokensDocument struct {
	Version int              `json:"version"`
	Tokens  []operator.Token `json:"tokens"`
}

func listTokens(r *request) (tokensDocument, error) {
	all, err := r.op.Tokens(r.Context())
	return tokensDocument{Version: 1, Tokens: orEmpty(all)}, err
}

type createTokenBody struct {
	Name     string  `json:"name"`
	Role     string  `json:"role"`
	ValidFor *string `json:"valid_for"`
}

// newTokenDocument is a token with its secret.
type newTokenDocument struct {
	Version int    `json:"version"`
	Secret  string `json:"secret"`
	operator.Token
}

// createToken creates a token. Only this answer has its secret.
func createToken(r *request, b *createTokenBody) (newTokenDocument, error) {
	var life time.Duration
	if b.ValidFor != nil { // an empty text and zero would stand for no end
		var err error
		if life, err = time.ParseDuration(*b.ValidFor); err != nil || life == 0 {
			return newTokenDocument{}, noTime("/valid_for", *b.ValidFor, "write a time such as 2160h")
		}
	}
	secret, t, err := r.op.CreateToken(r.Context(), b.Name, operator.Role(b.Role), life)
	return newTokenDocument{Version: 1, Secret: secret, Token: t}, err
}

func revokeToken(r *request, _ *nothing) error {
	return r.op.RevokeToken(r.Context(), r.PathValue("token"))
}

type auditDocument struct {
	Version int                 `json:"version"`
	Rows    []operator.AuditRow `json:"rows"`
}

// listAudit answers with the newest rows of the audit that the query selects.
func listAudit(r *request) (auditDocument, error) {
	f := operator.AuditFilter{Who: r.query.Get("who"), Verb: r.query.Get("verb"), Job: r.query.Get("job"), Limit: defaultAudit}
	var faults []fault
	if text := r.query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxAudit || strconv.Itoa(n) != text {
			faults = append(faults, fault{Parameter: "limit", Message: fmt.Sprintf("%.20q is no number from 1 to %d", text, maxAudit)})
		}
		f.Limit = n
	}
	if text := r.query.Get("since"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			faults = append(faults, fault{Parameter: "since", Message: fmt.Sprintf("%.40q is not a time in RFC 3339", text)})
		}
		f.Since = at
	}
	if len(faults) > 0 {
		return auditDocument{}, refuse(http.StatusUnprocessableEntity, codeInvalid, faults[0].Message, faults...)
	}
	rows, err := r.op.Audit(r.Context(), f)
	return auditDocument{Version: 1, Rows: orEmpty(rows)}, err
}

// triggerAction does what `job trigger` does, but only once for an idempotency key.
func triggerAction() action {
	return onJob(func(r *request, name string, _ *nothing) error {
		key, err := r.key()
		switch {
		case err != nil:
			return err
		case key == "":
			return r.op.Trigger(r.Context(), name)
		}
		t, err := r.op.TriggerOnce(r.Context(), name, key)
		if t.Again {
			r.w.Header().Set(againHeader, "true")
		}
		return err
	})
}

// key returns the idempotency key of a request; "" if it has none.
func (r *request) key() (string, error) {
	keys := r.Header.Values(keyHeader)
	switch {
	case len(keys) == 0:
		return "", nil
	case len(keys) > 1:
		return "", refuse(http.StatusBadRequest, codeBadRequest, "there is more than one "+keyHeader)
	case keys[0] == "":
		return "", refuse(http.StatusUnprocessableEntity, codeInvalid, keyHeader+" is empty: write 1 to 255 printable characters of ASCII")
	}
	return keys[0], nil
}

// CreateToken is operator.Operator.CreateToken.
func (c *Client) CreateToken(ctx context.Context, name string, role operator.Role, life time.Duration) (secret string, t operator.Token, err error) {
	body := map[string]string{"name": name, "role": string(role)}
	if life != 0 {
		body["valid_for"] = life.String()
	}
	var d newTokenDocument
	err = c.read(ctx, http.MethodPost, tokensPath, body, &d)
	return d.Secret, d.Token, err
}

// Tokens is operator.Operator.Tokens.
func (c *Client) Tokens(ctx context.Context) ([]operator.Token, error) {
	var d tokensDocument
	err := c.read(ctx, http.MethodGet, tokensPath, nil, &d)
	return d.Tokens, err
}

// RevokeToken is operator.Operator.RevokeToken.
func (c *Client) RevokeToken(ctx context.Context, name string) error {
	if _, err := checkName(name); err != nil {
		return &host.Error{Code: host.NotFound, Msg: "there is no such token"}
	}
	return c.askOnly(ctx, http.MethodDelete, tokensPath+"/"+url.PathEscape(name), nil)
}

// Audit is operator.Operator.Audit, but returns at most maxAudit rows.
func (c *Client) Audit(ctx context.Context, f operator.AuditFilter) ([]operator.AuditRow, error) {
	query := url.Values{}
	addTexts(query, map[string]string{"who": f.Who, "verb": f.Verb, "job": f.Job})
	if !f.Since.IsZero() {
		query.Set("since", f.Since.Format(time.RFC3339Nano))
	}
	query.Set("limit", strconv.Itoa(maxAudit))
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(min(f.Limit, maxAudit)))
	}
	var d auditDocument
	err := c.read(ctx, http.MethodGet, auditPath+"?"+query.Encode(), nil, &d)
	return d.Rows, err
}

// TriggerOnce is operator.Operator.TriggerOnce, but leaves Triggered.At zero.
func (c *Client) TriggerOnce(ctx context.Context, name, key string) (operator.Triggered, error) {
	name, err := checkName(name)
	if err != nil {
		return operator.Triggered{}, err
	}
	r, err := c.newRequest(ctx, http.MethodPost, jobPath(name)+"/runs", "", http.NoBody)
	if err != nil {
		return operator.Triggered{}, err
	}
	r.Header.Set(keyHeader, key)
	answer, err := c.do(r)
	if err != nil {
		return operator.Triggered{}, err
	}
	_ = answer.Body.Close()
	return operator.Triggered{Again: answer.Header.Get(againHeader) != ""}, nil
}
