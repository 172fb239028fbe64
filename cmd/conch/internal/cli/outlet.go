package cli

import (
	"cmp"
	"io"
	"sync/atomic"
)

// outlet is the one way from conch to stdout or stderr. What others have written reaches commands by a hundred ways, so it is
// made inert here once more, whatever they print. It remembers that something could not be written.
type outlet struct {
	to     io.Writer
	failed atomic.Pointer[error]
}

// Write implements io.Writer.
func (o *outlet) Write(p []byte) (int, error) {
	if _, err := o.to.Write(escaped(string(p))); err != nil {
		o.failed.CompareAndSwap(nil, &err)
		return 0, err
	}
	return len(p), nil
}

// fault returns the first error of a write.
func (o *outlet) fault() error { return *cmp.Or(o.failed.Load(), new(error)) }

// Beneath returns what is behind the outlet of a command, for those who draw on a terminal: they make inert themselves what is not theirs.
func Beneath(w io.Writer) io.Writer {
	if o, is := w.(*outlet); is {
		return o.to
	}
	return w
}
