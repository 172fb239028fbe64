package gossip_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"sync"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/transport/memory"
)

// Two nodes, of which n1 may lead. n2 hears of it, and of what it says.
func Example() {
	network := memory.New(1) // between processes: package mtls, with Roam
	_, key1, _ := ed25519.GenerateKey(nil)
	_, key2, _ := ed25519.GenerateKey(nil)
	n1, _ := gossip.SubjectOf(key1)
	n2, _ := gossip.SubjectOf(key2)
	site := []gossip.Namespace{{Name: "site", Electors: []gossip.Subject{n1}}}

	one, err := gossip.New(gossip.Config{Transport: network.Roam("n1", n1), Address: "n1", Key: key1, Namespaces: site})
	if err != nil {
		fmt.Println(err)
		return
	}
	led, heard := make(chan gossip.Leader, 10), make(chan gossip.News, 10)
	two, err := gossip.New(gossip.Config{
		Transport: network.Roam("n2", n2), Address: "n2", Key: key2, Namespaces: site,
		Peers: []gossip.Peer{{Name: "n1", Address: "n1", Subject: n1}},
		Tell: func(e gossip.Event) {
			switch e := e.(type) {
			case gossip.Leader:
				led <- e
			case gossip.News:
				heard <- e
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = one.Run(ctx) })
	running.Go(func() { _ = two.Run(ctx) })

	l := <-led
	fmt.Println(l.Leader, "leads, as a hint")
	_ = one.Publish("site", "release", []byte("2.5"))
	n := <-heard
	fmt.Printf("%v says of %s: %s\n", n.Subject, n.Topic, n.Body)
	stop()
	running.Wait()
	// Output:
	// n1 leads, as a hint
	// n1 says of release: 2.5
}
