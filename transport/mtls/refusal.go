package mtls

import (
	"errors"
	"fmt"
)

// Reason is why a connection was not made, or ended.
type Reason string

// The reasons.
const (
	Unreachable   Reason = "unreachable"    // the peer's address does not answer
	Ended         Reason = "ended"          // a connection that stood broke, or went silent
	RefusedUs     Reason = "refused us"     // the peer wants nothing of this node; its own log says why
	NoCertificate Reason = "no certificate" // the other side showed none
	NoTLS         Reason = "no TLS"         // the other side does not speak TLS: a browser or a probe that speaks plain HTTP
	OldTLS        Reason = "old TLS"        // the other side has no TLS 1.3, or no HTTP/2 in it
	UnknownKey    Reason = "unknown key"    // no peer has this key or certificate
	WrongKey      Reason = "wrong key"      // the certificate has a peer's name, and the key is not the one pinned
	OtherCA       Reason = "other CA"       // the certificate has a peer's name, and the CA did not sign it
	Expired       Reason = "expired"        // the certificate's time is over, or has not begun
	OtherName     Reason = "other name"     // who it proved to be is not who it says it is, or not who was called
	OtherVersion  Reason = "other version"  // it speaks another version of the protocol
	Malformed     Reason = "malformed"      // it sent what cannot be read
	Silent        Reason = "silent"         // it did not say in time who it is
	TooMany       Reason = "too many"       // it had more connections than allowed, or was the oldest of too many strangers
	Twin          Reason = "twin"           // with Roam: another process with its name is connected, and lives
	Crowded       Reason = "crowded"        // as many guests are here as may be, or there where this node has called
)

// RefusalError says why a connection was refused, or could not be made.
type RefusalError struct {
	Peer   string // who it is, or says it is; empty for a stranger
	Reason Reason
	Err    error // the details
}

// Error implements error.
func (e *RefusalError) Error() string {
	who := "a stranger"
	if e.Peer != "" {
		who = fmt.Sprintf("peer %q", e.Peer)
	}
	if e.Err == nil {
		return fmt.Sprintf("%s: %s", who, e.Reason)
	}
	return fmt.Sprintf("%s: %s: %v", who, e.Reason, e.Err)
}

// Unwrap returns the details.
func (e *RefusalError) Unwrap() error { return e.Err }

// errTwin means that a call was refused since another process with this node's name or key is connected there.
var errTwin = errors.New("this node is the second of two")

func refuse(peer string, reason Reason, format string, args ...any) *RefusalError {
	return &RefusalError{Peer: peer, Reason: reason, Err: fmt.Errorf(format, args...)}
}

// refusalOf returns the refusal in an error, or makes one for this reason.
func refusalOf(err error, peer string, otherwise Reason) *RefusalError {
	if r, ok := errors.AsType[*RefusalError](err); ok {
		return r
	}
	return &RefusalError{Peer: peer, Reason: otherwise, Err: err}
}
