package agent_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"sync"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/agent"
	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/transport/memory"
)

// Two nodes, of which n1 may lead. n2 hears of it, and of what it says.
func Example() {
	network := memory.New(1) // between processes: package mtls, with Roam
	keys := map[string]gossip.Pinned{}
	for _, name := range []string{"n1", "n2"} {
		_, private, _ := ed25519.GenerateKey(nil)
		keys[name], _ = gossip.NewPinned(private)
	}
	var electors []wire.Subject
	electors = append(electors, keys["n1"].Subject())
	start := func(name string, peers []agent.Peer, tell func(agent.Event)) *agent.Agent {
		key := keys[name]
		a, err := agent.New(agent.Config{
			Transport: network.Roam(name, key.Subject()), Address: name, Self: key.Subject(), Scheme: key, Peers: peers,
			Namespaces: []gossip.Namespace{{Name: "site", Electors: electors}}, Tell: tell,
		})
		if err != nil {
			fmt.Println(err)
		}
		return a
	}
	led, heard := make(chan agent.Leader, 10), make(chan agent.News, 10)
	one := start("n1", nil, nil)
	two := start("n2", []agent.Peer{{Name: "n1", Address: "n1", Subject: keys["n1"].Subject()}}, func(e agent.Event) {
		switch e := e.(type) {
		case agent.Leader:
			led <- e
		case agent.News:
			heard <- e
		}
	})
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
