//go:build unix

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pause"
)

// settles is after how long a node's accounts have nothing left to do: each follows the chain for ten seconds after
// the last thing.
const settles = 15 * time.Second

// crowd counts what one node with many accounts on one chain asks of the chain's node and of the database while
// nothing is open.
func (a *account) crowd(ctx context.Context, r *Report) error {
	many := a.cfg.amounts().accounts
	a.cfg.Say("pending: %d accounts at rest …", many)
	proxy, err := countCalls(a.payer.Node.HTTP)
	if err != nil {
		return err
	}
	defer proxy.close()
	led, _, err := a.site.admin.Led(ctx)
	if err != nil {
		return err
	}
	var accounts strings.Builder
	for i := range many { // a signer is asked only for a signature; the long history has low addresses
		fmt.Fprintf(&accounts, "[[accounts]]\nname = \"idle-%d\"\nchain = \"dev\"\naddress = \"0xc0%038x\"\nsigner = \"http://127.0.0.1:9\"\n", i, i+1)
	}
	s := &senders{account: a, launcher: fleet.NewLauncher(), nodes: map[string]*fleet.Process{}}
	defer s.endAll()
	if err := s.launch("crowd", proxy.url, accounts.String()); err != nil {
		return err
	}
	err = until(ctx, "all accounts are led", func() (bool, error) {
		now, _, err := a.site.admin.Led(ctx)
		return now >= led+many, err
	})
	if err != nil {
		return err
	}
	if err := pause.For(ctx, settles); err != nil {
		return err
	}
	long := a.cfg.amounts().rest
	before := proxy.calls.Load()
	statements, by, err := a.site.admin.PerSecond(ctx, long)
	if err != nil {
		return err
	}
	calls := proxy.calls.Load() - before
	name := fmt.Sprintf("rest_%d_accounts", many)
	r.add(name+"_calls", float64(calls)/long.Seconds(), "calls/s")
	r.add(name+"_statements", statements, "statements/s by "+by)
	if sockets := socketsOf(s.nodes["crowd"].PID()); sockets > 0 {
		r.add(name+"_sockets", float64(sockets), "sockets")
	}
	return nil
}

// socketsOf counts the sockets of a process, 0 where the system does not tell.
func socketsOf(pid int) (n int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// counted passes JSON-RPC on to a node, and counts the calls.
type counted struct {
	url    string
	calls  atomic.Int64
	server *http.Server
}

func countCalls(to string) (*counted, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &counted{url: "http://" + listener.Addr().String()}
	c.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = c.pass(w, r, to, body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})}
	go func() { _ = c.server.Serve(listener) }() // ends with close
	return c, nil
}

func (c *counted) pass(w http.ResponseWriter, r *http.Request, to string, body []byte) error {
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) != nil {
		batch = make([]json.RawMessage, 1)
	}
	c.calls.Add(int64(len(batch)))
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	w.WriteHeader(answer.StatusCode)
	_, err = io.Copy(w, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

func (c *counted) close() {
	_ = c.server.Close()
	http.DefaultClient.CloseIdleConnections()
}
