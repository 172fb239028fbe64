package swarm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// told is what the supervisor hears of a process, one of the pointers.
type told struct {
	life  int
	at    time.Time
	view  *named  // what it names now
	heard *string // the topic of a piece of news
	piece *string // the topic of a piece that it has taken
	peers *int    // how many neighbours it has
	gap   *string // why something may not have been told
}

// ear hears what one process tells, on the Unix socket of its API.
type ear struct {
	life   int
	client *http.Client
	tell   func(told)
	last   string // the place in the stream
}

const (
	knockEvery = 20 * time.Millisecond // until a process serves its API
	answerMost = 10 * time.Second
	mostLine   = 1 << 20
)

func newEar(life int, socket string, tell func(told)) *ear {
	return &ear{life: life, tell: tell, client: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}}
}

// listen hears until ctx ends. A stream that breaks is taken up where it was.
func (e *ear) listen(ctx context.Context) {
	defer e.client.CloseIdleConnections()
	for ctx.Err() == nil {
		_ = e.stream(ctx) // the next one tells what was missed, or of a gap
		select {
		case <-ctx.Done():
		case <-time.After(knockEvery):
		}
	}
}

// stream hears one stream to its end. What a process named before the stream began is asked when it has.
func (e *ear) stream(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/events", nil)
	if err != nil {
		return err
	}
	fresh := e.last == ""
	if !fresh {
		r.Header.Set("Last-Event-ID", e.last)
	}
	answer, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the events are refused: %s", answer.Status)
	}
	if fresh {
		if err := e.look(ctx, true); err != nil {
			return err
		}
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, mostLine)
	var kind string
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			e.last = value
		case "event":
			kind = value
		case "data":
			if err := e.hear(kind, []byte(value)); err != nil {
				return err
			}
			kind = ""
		}
	}
	return lines.Err()
}

// hear takes an event.
func (e *ear) hear(kind string, data []byte) error {
	now := time.Now()
	switch kind {
	case "gossip.leader":
		var v view
		if err := json.Unmarshal(data, &v); err != nil {
			return err
		}
		if v.Namespace == namespace {
			e.tell(told{life: e.life, at: now, view: &named{v.Leader, v.Number}})
		}
	case "gossip.news":
		var n struct {
			Topic string `json:"topic"`
		}
		if err := json.Unmarshal(data, &n); err != nil {
			return err
		}
		e.tell(told{life: e.life, at: now, heard: &n.Topic})
	case "gap":
		text := string(data)
		e.tell(told{life: e.life, at: now, gap: &text})
	}
	return nil
}

// view is what a node says of a namespace.
type view struct {
	Namespace string `json:"namespace"`
	Leader    string `json:"leader"`
	Number    uint64 `json:"reign"`
}

// look asks how many neighbours the process has, and what it names, unless the stream tells that.
func (e *ear) look(ctx context.Context, names bool) error {
	var answer struct {
		Namespaces []view            `json:"namespaces"`
		Neighbours []json.RawMessage `json:"neighbours"`
	}
	if err := e.ask(ctx, http.MethodGet, "/v1/nodes", nil, &answer); err != nil {
		return err
	}
	now, peers := time.Now(), len(answer.Neighbours)
	e.tell(told{life: e.life, at: now, peers: &peers})
	for _, v := range answer.Namespaces {
		if names && v.Namespace == namespace {
			e.tell(told{life: e.life, at: now, view: &named{v.Leader, v.Number}})
		}
	}
	return nil
}

// publish has the process tell a piece of news. Its time is before the request: all that comes after counts as the way.
func (e *ear) publish(ctx context.Context, topic string) error {
	at := time.Now()
	err := e.ask(ctx, http.MethodPut, "/v1/nodes/"+namespace+"/news/"+topic, []byte("from the demo"), nil)
	if err == nil {
		e.tell(told{life: e.life, at: at, piece: &topic})
	}
	return err
}

// ask sends a request, and decodes the answer unless out is nil.
func (e *ear) ask(ctx context.Context, method, path string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, answerMost)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostLine))
	switch {
	case err != nil:
		return err
	case answer.StatusCode >= http.StatusBadRequest:
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, bytes.TrimSpace(text))
	case out == nil:
		return nil
	}
	return errors.Join(err, json.Unmarshal(text, out))
}
