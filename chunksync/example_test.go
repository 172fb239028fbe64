package chunksync_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/conchhq/conch/chunksync"
	"github.com/conchhq/conch/fence"
)

// The node n1 leads and stores a file. The node n2 follows and serves it from its own disk.
func Example() {
	dir, err := os.MkdirTemp("", "chunksync")
	check(err)
	defer func() { _ = os.RemoveAll(dir) }()
	s1, s2 := httptest.NewUnstartedServer(nil), httptest.NewUnstartedServer(nil)
	defer s1.Close()
	defer s2.Close()
	leads := make(chan struct{})
	node := func(id, peer string, server, peerServer *httptest.Server) (*chunksync.Manager, *chunksync.Store) {
		store, err := chunksync.Open(filepath.Join(dir, id))
		check(err)
		m, err := chunksync.New(chunksync.Config{
			ID: id, Scope: "files", Store: store, Token: "secret",
			Peers:  map[string]string{peer: "http://" + peerServer.Listener.Addr().String()},
			Events: chunksync.Events{Adopted: func(string, chunksync.Version) { close(leads) }},
		})
		check(err)
		server.Config.Handler = m.Handler()
		server.Start()
		return m, store
	}
	n1, store1 := node("n1", "n2", s1, s2)
	n2, store2 := node("n2", "n1", s2, s1)
	defer func() { _, _ = store1.Close(), store2.Close() }()

	// An elector provides the gate and the token of a term. Here n1 always leads.
	gate, latch := fence.New("files", nil)
	token := fence.Token{Scope: "files", Holder: "n1", Epoch: 1}
	latch.Open(token, 0, fence.Boottime().Add(time.Minute))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- n1.Lead(ctx, gate, token) }()
	<-leads

	receipt, err := n1.Put(ctx, "notes/today.txt", strings.NewReader("hello"), chunksync.AsConfigured)
	fmt.Println("stored as", receipt.Version, "on", receipt.Copies, "follower:", err)

	content, err := n2.Open("notes/today.txt")
	check(err)
	text, err := io.ReadAll(content)
	fmt.Println("read on n2:", string(text), err)
	check(content.Close())

	stop()
	fmt.Println("n1 leads no more:", <-ended)
	// Output:
	// stored as 1.1 on 1 follower: <nil>
	// read on n2: hello <nil>
	// n1 leads no more: context canceled
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
