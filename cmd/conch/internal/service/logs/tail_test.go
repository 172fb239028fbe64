package logs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// door serves a node at one address, over several starts.
type door struct {
	n    *testNode
	path string
	srv  *http.Server
}

func (n *testNode) door() *door {
	dir, err := os.MkdirTemp("", "d") // a socket's name is short
	if err != nil {
		n.t.Fatal(err)
	}
	d := &door{n: n, path: filepath.Join(dir, "s")}
	n.t.Cleanup(func() {
		d.shut()
		_ = os.RemoveAll(dir)
	})
	d.open()
	return d
}

func (d *door) open() {
	d.n.t.Helper()
	ln, err := new(net.ListenConfig).Listen(d.n.t.Context(), "unix", d.path)
	if err != nil {
		d.n.t.Fatal(err)
	}
	d.srv = &http.Server{Handler: d.n.api, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 16 << 10} // as a node
	go func(srv *http.Server) { _ = srv.Serve(ln) }(d.srv)
}

func (d *door) shut() { _ = d.srv.Close() }

// command runs conch log in this process.
type command struct {
	t      testing.TB
	out    *bufio.Scanner
	errors *nodetest.Log
	ended  chan error
	stop   context.CancelFunc
}

func (d *door) run(args ...string) *command {
	d.n.t.Helper()
	out, in := io.Pipe()
	c := &command{t: d.n.t, out: bufio.NewScanner(out), errors: &nodetest.Log{}, ended: make(chan error, 1)}
	c.out.Buffer(nil, 1<<20)
	s := &cli.Shell{World: cli.World{Stdout: in, Stderr: c.errors, Getenv: func(string) string { return "" }}, JSON: true}
	root := Commands(s)[0]
	root.SetArgs(append(args, "--node", "unix:"+d.path))
	root.SilenceErrors, root.SilenceUsage = true, true
	ctx, cancel := context.WithCancel(d.n.t.Context())
	c.stop = cancel
	go func() {
		err := root.ExecuteContext(ctx)
		_ = in.Close()
		c.ended <- err
	}()
	d.n.t.Cleanup(func() { cancel(); _ = out.Close() })
	return c
}

// next reads the next entry.
func (c *command) next() (e Entry) {
	c.t.Helper()
	var is bool
	pgtest.Within(c.t, 2*nodetest.Patience, "an entry is printed", func() { is = c.out.Scan() })
	if !is || json.Unmarshal(c.out.Bytes(), &e) != nil {
		c.t.Fatalf("printed was %q, after %q", c.out.Text(), c.errors.Lines())
	}
	return e
}

// chain checks that entries come one after the other, each once.
type chain struct {
	t    testing.TB
	last Entry
}

func (c *chain) take(e Entry) {
	c.t.Helper()
	if c.last.Index > 0 && (e.Index != c.last.Index+1 || e.Prev != c.last.Hash) {
		c.t.Fatalf("after entry %d comes %d, and it follows %s", c.last.Index, e.Index, e.Prev)
	}
	c.last = e
}

// conch log tail --follow goes on over a restart of the node that it asks, and over a time in which nothing comes, without a gap and
// without printing anything twice. It ends when it is interrupted, and when the node has another log of that name.
func TestTailGoesOn(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2")
	s.start("n1", "n2")
	n := s.nodes["n1"]
	n.create("n2") // n1 follows
	pgtest.Eventually(t, nodetest.Patience, "n1 has the log", func() bool { return n.status().State == stateRunning })
	d := n.door()
	tail := d.run("tail", "flags", "--from", "1", "--follow")
	seen := chain{t: t}
	upto := func(index uint64) {
		for seen.last.Index < index {
			seen.take(tail.next())
		}
	}
	upto(n.put("a", 1).Index)
	asked := func() int { return strings.Count(strings.Join(tail.errors.Lines(), "\n"), "asked again") }
	for i := range 2 {
		d.shut()
		n.stop()
		o := s.nodes["n2"].put("while it is away", i)
		pgtest.Eventually(t, nodetest.Patience, "it says that no node answers", func() bool { return asked() > i })
		n.start()
		d.open()
		upto(o.Index)
		upto(s.nodes["n2"].put("after", i).Index)
	}
	if asked() != 2 {
		t.Errorf("it has said\n%s", strings.Join(tail.errors.Lines(), "\n"))
	}
	tail.stop()
	pgtest.Within(t, nodetest.Patience, "it ends", func() {
		if err := <-tail.ended; err != nil {
			t.Errorf("interrupted, it ends with %v", err)
		}
	})
	ahead := d.run("tail", "flags", "--from", fmt.Sprint(seen.last.Index+2), "--follow") // and says that it waits
	ahead.errors.Says(t, fmt.Sprintf("the log ends at entry %d here: tail waits for entry %d", seen.last.Index, seen.last.Index+2))
	s.nodes["n2"].put("one before", 1)
	at := s.nodes["n2"].put("where it begins", 1).Index
	if seen.last = ahead.next(); seen.last.Index != at {
		t.Errorf("it begins with entry %d, and not with %d", seen.last.Index, at)
	}
	ahead.stop()
	other := d.run("tail", "flags", "--follow")
	last := chain{t: t}
	for last.last.Index < seen.last.Index {
		last.take(other.next())
	}
	d.shut()
	for _, of := range s.nodes { // all of them: one that starts alone takes the log over from the other
		of.stop()
		if err := os.RemoveAll(filepath.Join(of.dir, "logs")); err != nil {
			t.Fatal(err)
		}
	}
	s.start("n1", "n2")
	n.create("n1")
	for i := range int(last.last.Index) + 1 {
		n.put("b", i)
	}
	d.open()
	pgtest.Within(t, nodetest.Patience, "it ends", func() {
		if err := <-other.ended; err == nil || !strings.Contains(err.Error(), "another log of that name") {
			t.Errorf("of another log, it ends with %v", err)
		}
	})
}

// events is an open stream of entries.
type events struct {
	t     testing.TB
	lines *bufio.Scanner
	close func()
	id    string
}

func (n *testNode) events(after string) *events {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.web.URL+"/v1/events?log.entry=flags", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	answer, err := n.web.Client().Do(r) //nolint:bodyclose // the stream closes it
	if err != nil {
		n.t.Fatal(err)
	}
	e := &events{t: n.t, lines: bufio.NewScanner(answer.Body), close: func() { cancel(); _ = answer.Body.Close() }}
	e.lines.Buffer(nil, 1<<20)
	n.t.Cleanup(e.close)
	if answer.StatusCode != http.StatusOK {
		n.t.Fatalf("the stream answers %d", answer.StatusCode)
	}
	return e
}

// next returns the next event, or comment.
func (e *events) next() (event, data string) {
	e.t.Helper()
	pgtest.Within(e.t, 2*nodetest.Patience, "an event comes", func() {
		for e.lines.Scan() {
			switch name, value, _ := strings.Cut(e.lines.Text(), ": "); name {
			case "id":
				e.id = value
			case "event":
				event = value
			case "data":
				data = value
				return
			case "":
				if value != "" {
					event = value
					return
				}
			}
		}
	})
	return event, data
}

// entry returns the next event, which is one.
func (e *events) entry() Entry {
	e.t.Helper()
	for {
		if event, data := e.next(); event != "alive" {
			return e.read(event, data)
		}
	}
}

func (e *events) read(event, data string) Entry {
	e.t.Helper()
	var out EntryEvent
	if event != kindEntry || json.Unmarshal([]byte(data), &out) != nil || out.Namespace != "flags" {
		e.t.Fatalf("the stream has %q %q", event, data)
	}
	return out.Entry
}

// Events of entries: a client that comes back gets what it has missed; after a restart of the node it is told that there is a gap, and
// the entries have what is in it. While nothing happens, the stream says that it is alive.
func TestEntriesAreStreamed(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2")
	s.start("n1", "n2")
	n, leader := s.nodes["n1"], s.nodes["n2"]
	leader.create("n2")
	pgtest.Eventually(t, nodetest.Patience, "n1 has the log", func() bool { return n.status().State == stateRunning })
	leader.put("a", 0)
	s.equal("n1", "n2")
	seen, stream := chain{t: t}, n.events("")
	upto := func(index uint64) {
		t.Helper()
		for seen.last.Index < index {
			seen.take(stream.entry())
		}
	}
	upto(leader.put("a", 1).Index)
	upto(leader.put("a", 2).Index)
	stream.close()
	var missed Outcome
	for i := range 5 {
		missed = leader.put("missed", i)
	}
	s.equal("n1", "n2")
	stream = n.events(stream.id)
	upto(missed.Index)
	for event, data := stream.next(); event != "alive"; event, data = stream.next() {
		seen.take(stream.read(event, data)) // a leader that missed its lease opens another term, which is an entry
	}
	upto(leader.put("a", 3).Index)

	stream.close()
	n.stop()
	for i := range 3 {
		missed = leader.put("away", i)
	}
	n.start()
	pgtest.Eventually(t, nodetest.Patience, "n1 has the log", func() bool { return n.status().State == stateRunning })
	stream = n.events(stream.id)
	if event, data := stream.next(); event != "gap" || !strings.Contains(data, `"of":"log.entry"`) {
		t.Fatalf("after a restart there is %q %q", event, data)
	}
	page := func() {
		for _, e := range gets[Page](n, http.MethodGet, fmt.Sprintf("/v1/logs/flags/entries?from=%d&wait_ms=5000", seen.last.Index+1), "").Entries {
			seen.take(e)
		}
	}
	for seen.last.Index < missed.Index {
		page()
	}
	o := leader.put("a", 4)
	for seen.last.Index < o.Index {
		if e := stream.entry(); e.Index > seen.last.Index { // what came meanwhile it may have from the page
			seen.take(e)
		}
	}
}

// A reader that takes nothing holds up nobody, and misses nothing: it comes back after what it has had, if it was cut off.
func TestASlowReader(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1")
	n := s.nodes["n1"].start()
	n.create("n1")
	n.put("a", 0)
	slow, quick := n.events(""), n.events("")
	body := bytes.Repeat([]byte("x"), 30_000)
	const all = 40
	heard, got := chain{t: t}, chain{t: t}
	for i := range all {
		if o := gets[Outcome](n, http.MethodPost, "/v1/logs/flags/goals", fmt.Sprintf(`{"goal":{"op":"put","key":"big","value":"%d%s"}}`, i, body)); o.Fault != "" {
			t.Fatal(o.Fault)
		}
		heard.take(quick.entry())
	}
	for after := ""; got.last.Index < heard.last.Index; {
		event, data := slow.next()
		var e EntryEvent
		switch {
		case event == "alive":
		case json.Unmarshal([]byte(data), &e) == nil:
			got.take(e.Entry)
			after = slow.id
		default:
			slow = n.events(after)
		}
	}
	if got.last.Hash != heard.last.Hash || heard.last.Index < all {
		t.Errorf("it has come to entry %d, and another one to %d", got.last.Index, heard.last.Index)
	}
}
