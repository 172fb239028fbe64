package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// unansweredError means that a request may have been carried out: its answer was lost or unclear.
type unansweredError struct{ error }

func (e unansweredError) Unwrap() error { return e.error }

// Unanswered reports whether the request that failed with err may have been carried out.
func Unanswered(err error) bool {
	_, unanswered := errors.AsType[unansweredError](err)
	return unanswered
}

// awayError means that a request was not carried out, and may succeed later.
type awayError struct{ error }

func (e awayError) Unwrap() error { return e.error }

// Passing reports whether err says nothing about the request itself, so that another attempt may succeed.
func Passing(err error) bool {
	_, away := errors.AsType[awayError](err)
	return away || Unanswered(err)
}

// unanswered returns the error of a request that was sent and not answered. An interrupt loses
// the answer, but does not take the request back.
func (c *Client) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted before the node at %s answered", c.base)
	}
	return unansweredError{err}
}

// notDone are the problems by which a node says that it has done nothing, and that another attempt may succeed.
var notDone = []string{"urn:conch:problem:not-leading", "urn:conch:problem:contract-unread", "urn:conch:problem:busy"}

// absent are the problems by which a node says that it has nothing of what it was asked for to work with.
var absent = []string{
	"urn:conch:problem:unknown-log", "urn:conch:problem:no-gossip", "urn:conch:problem:unknown-namespace",
	"urn:conch:problem:unknown-scope", "urn:conch:problem:no-files", "urn:conch:problem:unknown-contract",
	"urn:conch:problem:unknown-cron", "urn:conch:problem:unknown-job", "urn:conch:problem:unknown-operation", "urn:conch:problem:no-database",
}

// notYet is the problem by which a node says that it has nothing to work with, and that this may pass.
const notYet = "urn:conch:problem:no-log-yet"

// refusalOf returns the error that a problem document describes. A status of 5xx is no refusal
// unless the node says so: it or a proxy may have missed a commit that went through.
func refusalOf(status int, text []byte) error {
	var problem struct{ Type, Title, Detail string }
	known := json.Unmarshal(text, &problem) == nil && problem.Title != ""
	said := fmt.Sprintf("the node answered %d %s", status, http.StatusText(status))
	if known {
		said = cmp.Or(problem.Detail, problem.Title)
	}
	switch {
	case known && problem.Type == notYet:
		return usage{awayError{errors.New(said)}}
	case known && slices.Contains(notDone, problem.Type):
		return awayError{errors.New(said)}
	case known && slices.Contains(absent, problem.Type):
		return usage{errors.New(said)}
	case status >= http.StatusInternalServerError:
		return unansweredError{errors.New(said)}
	case status == http.StatusTooManyRequests:
		return awayError{errors.New(said)}
	case status == http.StatusRequestHeaderFieldsTooLarge:
		return usage{errors.New(said + ": what is asked is too long for a URL, of which a node reads 16 KiB with all headers")}
	case !known: // the text of a proxy, or of something that is not a node
	case status == http.StatusUnauthorized:
		said += ": name a file that holds one with --token-file"
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity, status == http.StatusRequestEntityTooLarge:
		return usage{errors.New(said)}
	}
	return errors.New(said)
}
