package mtls

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"connectrpc.com/connect"
)

// A connection that breaks in the middle of a message is nobody's fault, whichever of the two has noticed, and however. What cannot be read
// is its sender's.
func TestWhoIsToBlameForABreak(t *testing.T) {
	t.Parallel()
	const cut = "protocol error: incomplete envelope: %w"
	for _, c := range []struct {
		err  error
		want Reason
	}{
		{connect.NewError(connect.CodeInternal, fmt.Errorf(cut, io.ErrUnexpectedEOF)), Ended},
		{connect.NewError(connect.CodeInternal, fmt.Errorf(cut, errors.New("http2: client conn is closed"))), Ended},
		{connect.NewError(connect.CodeInternal, fmt.Errorf(cut, errors.New("http2: client connection lost"))), Ended},
		{connect.NewError(connect.CodeInternal, errors.New("protocol error: invalid envelope flags")), Malformed},
		{connect.NewError(connect.CodeResourceExhausted, errors.New("message size 5000000 is larger than configured max")), Malformed},
	} {
		if got := refusalOf(whyEnded("b", c.err), "b", Ended).Reason; got != c.want {
			t.Errorf("%v is %q, want %q", c.err, got, c.want)
		}
	}
}
