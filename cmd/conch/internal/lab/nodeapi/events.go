package nodeapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// mostLine bounds a line of a stream of events.
const mostLine = 64 << 20

// Listener hears a stream. Every function but Heard may be nil.
type Listener struct {
	Answered func(status int)                     // before anything is heard, whatever was answered
	Opened   func() error                         // the stream is open
	Line     func()                               // each line, of which some are no event but a sign of life
	Heard    func(kind string, data []byte) error // an event; kind is empty for one of the history
}

// Follow asks for a stream of events behind the place last, and hears it to its end. It moves last on.
func (n *Node) Follow(ctx context.Context, path string, last *string, to Listener) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.Base+path, http.NoBody)
	if err != nil {
		return err
	}
	if *last != "" {
		r.Header.Set("Last-Event-ID", *last)
	}
	answer, err := n.Client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if to.Answered != nil {
		to.Answered(answer.StatusCode)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the events are refused: %s", answer.Status)
	}
	if to.Opened != nil {
		if err := to.Opened(); err != nil {
			return err
		}
	}
	return Hear(answer.Body, last, to)
}

// Hear hears a stream that is open to its end.
func Hear(from io.Reader, last *string, to Listener) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, mostLine)
	kind := ""
	for lines.Scan() {
		if to.Line != nil {
			to.Line()
		}
		switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
		case "id":
			*last = value
		case "event":
			kind = value
		case "data":
			if err := to.Heard(kind, []byte(value)); err != nil {
				return err
			}
			kind = ""
		}
	}
	return lines.Err()
}
