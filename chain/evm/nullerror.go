package evm

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
)

// nullErrors reads JSON and calls each member "error" that is null by another name. Some servers send one beside a result, as
// JSON-RPC 1.0 has it, and go-ethereum's client takes it for an error. Nobody reads a null, so the name can be any; one of
// the same length leaves all else as it is. In a string the quotes would have a backslash before them.
type nullErrors struct {
	io.Closer
	from *bufio.Reader
	due  []byte // to be read next; it may be in the buffer of from
}

var (
	errorName = []byte(`"error"`)
	otherName = []byte(`"_null"`)
	nullError = regexp.MustCompile(`^"error"\s*:\s*null`)
)

func withoutNullErrors(body io.ReadCloser) io.ReadCloser {
	return &nullErrors{Closer: body, from: bufio.NewReaderSize(body, 16<<10)}
}

func (r *nullErrors) Read(p []byte) (int, error) {
	if len(r.due) == 0 {
		if _, err := r.from.Peek(len(errorName)); r.from.Buffered() == 0 {
			return 0, err
		}
		r.due, _ = r.from.Peek(r.from.Buffered())
		switch at := bytes.Index(r.due, errorName); {
		case at > 0:
			r.due = r.due[:at]
		case at == 0:
			ahead, _ := r.from.Peek(64)
			if r.due = errorName; nullError.Match(ahead) {
				r.due = otherName
			}
		case len(r.due) >= len(errorName): // its end may be the beginning of one
			r.due = r.due[:len(r.due)-len(errorName)+1]
		}
		_, _ = r.from.Discard(len(r.due))
	}
	n := copy(p, r.due)
	r.due = r.due[n:]
	return n, nil
}
