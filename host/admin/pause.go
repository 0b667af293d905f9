package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
)

type pauseBody struct {
	Reason string  `json:"reason"`
	Until  *string `json:"until"`
	For    *string `json:"for"`
}

// terms converts a body to the terms of a pause.
func (b *pauseBody) terms() (t operator.PauseTerms, err error) {
	t.Why = b.Reason
	// Empty texts and zero values would stand for no end.
	if b.Until != nil {
		if t.Until, err = time.Parse(time.RFC3339, *b.Until); err != nil || t.Until.IsZero() {
			return t, noTime("/until", *b.Until, "write a time in RFC 3339")
		}
	}
	if b.For != nil {
		if t.For, err = time.ParseDuration(*b.For); err != nil || t.For == 0 {
			return t, noTime("/for", *b.For, "write a time such as 1h")
		}
	}
	return t, nil
}

// noTime refuses a text of a body that is no time.
func noTime(pointer, text, hint string) error {
	return refuse(http.StatusUnprocessableEntity, codeInvalid, fmt.Sprintf("%.40q is not a time; %s", text, hint), fault{Pointer: pointer, Message: hint})
}

// bodyOf converts the terms of a pause to a body.
func bodyOf(t operator.PauseTerms) map[string]string {
	b := map[string]string{"reason": t.Why}
	if !t.Until.IsZero() {
		b["until"] = t.Until.Format(time.RFC3339Nano)
	}
	if t.For != 0 {
		b["for"] = t.For.String()
	}
	return b
}

// pauseJob pauses the job in the path.
func pauseJob(r *request, name string, b *pauseBody) error {
	t, err := b.terms()
	if err != nil {
		return err
	}
	return r.op.Pause(r.Context(), name, t)
}

// Pause is operator.Operator.Pause.
func (c *Client) Pause(ctx context.Context, name string, t operator.PauseTerms) error {
	return c.post(ctx, name, ":pause", bodyOf(t))
}
