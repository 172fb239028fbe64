package standin

import (
	"context"
	"fmt"
	"time"
)

// Live has users pay at a node that coordinates, while another member dies with as many intents as it has purses. Two of
// three members endorse: the node, and a stand-in. Nobody dies if the member has no purses.
func Live(ctx context.Context, s Scheme, users, dead []string, d Death, long time.Duration) (payments int, took time.Duration, err error) {
	site := Open(ctx, Config{
		Scheme: s, Members: []string{"node", "peer", "other"}, Committee: []string{"node"}, Needed: 2, Block: blockTime,
	})
	defer site.Close()
	node, err := site.Node("node", Options{})
	if err == nil {
		err = site.Peer("peer", delayOfPeers)
	}
	if err == nil {
		err = site.Issue(ctx, node, append(dead, users...))
	}
	if err != nil {
		return 0, 0, err
	}
	died := make(chan error, 1)
	if len(dead) > 0 {
		go func() { died <- site.Bury(ctx, "other", d, dead) }()
	} else {
		died <- nil
	}
	for over, round := false, 0; !over; round++ { // on a slow machine the end may be late
		done, t, err := (&Users{Node: node, Name: fmt.Sprint("live ", round), Purses: users}).Run(ctx, long)
		if err != nil {
			return 0, 0, err
		}
		payments, took = payments+done, took+t
		select {
		case err := <-died:
			if over = true; err != nil {
				return 0, 0, err
			}
		default:
		}
	}
	return payments, took, nil
}

const delayOfPeers = 5 * time.Millisecond
