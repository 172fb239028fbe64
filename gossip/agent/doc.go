// Package agent runs one node of an overlay: it suggests a leader, and tells and hears news.
//
//	key, err := gossip.NewPinned(signer)
//	a, err := agent.New(agent.Config{
//		Transport: endpoint, Address: "10.0.0.1:7070", Self: key.Subject(), Scheme: key,
//		Peers: []agent.Peer{{Name: "n2", Address: "10.0.0.2:7070"}}, Namespaces: []gossip.Namespace{{Name: "site"}},
//	})
//	err = a.Run(ctx)
package agent
