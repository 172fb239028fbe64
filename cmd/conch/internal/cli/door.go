package cli

import (
	"io"
	"sync/atomic"
)

// door is the one way from conch to stdout or stderr. What others have written reaches commands by a hundred ways, so it is
// made inert here once more, whatever they print. It remembers that something could not be written.
type door struct {
	to     io.Writer
	failed atomic.Pointer[error]
}

// Write implements io.Writer.
func (d *door) Write(p []byte) (int, error) {
	if _, err := d.to.Write(escaped(string(p))); err != nil {
		d.failed.CompareAndSwap(nil, &err)
		return 0, err
	}
	return len(p), nil
}

// fault returns the first error of a write.
func (d *door) fault() error {
	if first := d.failed.Load(); first != nil {
		return *first
	}
	return nil
}

// Beneath returns what is behind the door of a command, for those who draw on a terminal: they make inert themselves what is not theirs.
func Beneath(w io.Writer) io.Writer {
	if d, is := w.(*door); is {
		return d.to
	}
	return w
}
