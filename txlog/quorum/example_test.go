package quorum_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/conchhq/conch/transport/memory"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
)

// A state machine of one's own, here kv with a goal that asks for a mail, in a log with one member. A mail is an effect: it is
// performed once the goal is committed.
func Example() {
	public, key, _ := ed25519.GenerateKey(rand.Reader)
	genesis := txlog.Genesis{Namespace: "house", Machine: "mailing/1", Members: []txlog.Member{{Name: "n1", Key: txlog.Fingerprint(public), Store: 1}}}.With()
	endpoint := memory.New(1).Join("n1") // of package mtls, between processes
	line, err := endpoint.Open("log/house")
	if err != nil {
		panic(err)
	}
	sent := make(chan struct{})
	h, err := quorum.New(quorum.Config{
		Self: "n1", Key: key, New: newMailing, Seed: 1,
		Store: store.NewMemory(1, genesis), // of package disk, if it is to last
		Line:  line, Peers: endpoint.Peers,
		Perform: func(_ context.Context, d quorum.Due) error {
			fmt.Printf("%s %s\n", d.Kind, d.Body) // d.Name() is the same each time that it is performed
			close(sent)
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	if _, err := h.Goal(ctx, "ann-1", []byte("mail ann@example.org"), 0); err != nil {
		panic(err)
	}
	select {
	case <-sent:
	case <-ctx.Done():
	}
	cancel()
	fmt.Println(<-ended)
	// Output:
	// mail ann@example.org
	// <nil>
}
