package keyservice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/conchhq/conch/chain"
)

// Kind is why a service did not sign.
type Kind int

// The kinds of faults.
const (
	Refused   Kind = iota // for a reason that none of the others fits
	Throttled             // it was asked too often
	Away                  // it gave no answer in time, or says that it cannot now
	Denied                // this process may not use the key, or has no credentials
	Disabled              // the key is disabled, destroyed, or about to be deleted
	Missing               // there is no such key
	Unfit                 // the key is of another curve, or not for signing
	Foreign               // the key is that of another account
)

var words = map[Kind]string{
	Refused:   "refuses to sign",
	Throttled: "is asked too often: it is asked again after a pause, and what waits keeps its place",
	Away:      "does not answer: it is asked again after a pause",
	Denied:    "does not let this process use the key: give it credentials, and the right to read the public key and to sign with it",
	Disabled:  "does not sign with the key, which is disabled, destroyed or about to be deleted: enable it",
	Missing:   "has no such key: correct its name, its region or its mount",
	Unfit:     "has a key that cannot sign for an account: it has to be one for signing, on the curve secp256k1",
	Foreign:   "has the key of another account: correct the key or the address",
}

// FaultError is why a service did not sign. It wraps chain.ErrKey.
type FaultError struct {
	Kind    Kind
	Service string // names the service and its key, without a secret
	Detail  string // such as the code of its answer; optional
	Cause   error  // what it wraps beside chain.ErrKey; optional
}

// Error names the service, and says what to do.
func (f *FaultError) Error() string {
	said := fmt.Sprintf("%v: %s %s", chain.ErrKey, f.Service, words[f.Kind])
	if f.Detail != "" {
		said += " (" + f.Detail + ")"
	}
	return said
}

// Unwrap returns chain.ErrKey and the cause.
func (f *FaultError) Unwrap() []error {
	if f.Cause == nil {
		return []error{chain.ErrKey}
	}
	return []error{chain.ErrKey, f.Cause}
}

// Passes reports whether the fault may go without a change to the configuration, the rights or the key.
func (f *FaultError) Passes() bool { return f.Kind == Throttled || f.Kind == Away }

// KindOf returns the kind of a fault in err, false if there is none.
func KindOf(err error) (Kind, bool) {
	f, is := errors.AsType[*FaultError](err)
	if !is {
		return 0, false
	}
	return f.Kind, true
}

// Of returns a fault of a service for a call that ended without an answer. It quotes nothing of err, whose text may have a URL.
func Of(service string, err error) *FaultError {
	f := &FaultError{Kind: Away, Service: service, Detail: "no connection"}
	timeout, is := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		f.Detail, f.Cause = "the call was given up", context.Canceled
	case errors.Is(err, context.DeadlineExceeded), is && timeout.Timeout():
		f.Detail = "no answer in time"
	}
	return f
}

// OfStatus returns the kind of fault for a status of HTTP that says nothing more.
func OfStatus(status int) Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return Throttled
	case status == http.StatusRequestTimeout || status >= http.StatusInternalServerError && status != http.StatusNotImplemented:
		return Away
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Denied
	case status == http.StatusNotFound:
		return Missing
	}
	return Refused
}

// Code returns what may be shown of the code that a service gave: empty if it does not look like one.
func Code(said string) string {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.'
	}
	if len(said) > 64 || strings.ContainsFunc(said, other) {
		return ""
	}
	return said
}
