package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// unansweredError says that a request may have been carried out: its answer was lost, or
// does not say.
type unansweredError struct{ error }

func (e unansweredError) Unwrap() error { return e.error }

// Unanswered tells that a request may have been carried out.
func Unanswered(err error) bool {
	_, unanswered := errors.AsType[unansweredError](err)
	return unanswered
}

// awayError says that a request was not carried out, and may be if it is made later.
type awayError struct{ error }

func (e awayError) Unwrap() error { return e.error }

// Passing tells an error that says nothing of what was asked for: another attempt may.
func Passing(err error) bool {
	_, away := errors.AsType[awayError](err)
	return away || Unanswered(err)
}

// unanswered is the error of a request that was handed over. To be interrupted then
// is to lose the answer, not to take the request back.
func (c *Client) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted before the node at %s answered", c.base)
	}
	return unansweredError{err}
}

// refusalOf gives a problem document's own sentence. One of the 5xx is no refusal: a
// commit may have gone through whose end the node, or a proxy, did not see.
func refusalOf(status int, text []byte) error {
	var problem struct{ Title, Detail string }
	known := json.Unmarshal(text, &problem) == nil && problem.Title != ""
	said := fmt.Sprintf("the node answered %d %s", status, http.StatusText(status))
	if known {
		said = cmp.Or(problem.Detail, problem.Title)
	}
	switch {
	case status >= http.StatusInternalServerError:
		return unansweredError{errors.New(said)}
	case status == http.StatusTooManyRequests:
		return awayError{errors.New(said)}
	case !known: // a proxy's word, or of something that is no node
	case status == http.StatusUnauthorized:
		said += ": name a file that holds one with --token-file"
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return usage{errors.New(said)}
	}
	return errors.New(said)
}
