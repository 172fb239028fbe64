package standin

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Users hand payments in at a node, each the next one when the last is confirmed.
type Users struct {
	Node   *Node
	Name   string   // of their intents: each group of users has another
	Purses []string // from which each user pays; it may be everybody's
}

// Run has the users pay for a time, and returns how many payments were confirmed, and how long that took: none is left
// under way.
func (u *Users) Run(ctx context.Context, long time.Duration) (confirmedOnes int, took time.Duration, err error) {
	var done atomic.Int64
	began := time.Now()
	err = each(ctx, len(u.Purses), func(ctx context.Context, i int) error {
		for n := 0; time.Since(began) < long; n++ {
			err := confirmed(ctx, u.Node, fmt.Sprintf("%s %d %d", u.Name, i, n), payment(u.Purses[i]))
			if err != nil {
				return err
			}
			done.Add(1)
		}
		return nil
	})
	return int(done.Load()), time.Since(began), err
}

func payment(purse string) string {
	return fmt.Sprintf(`{"pay":{"from":%q,"to":"shop","amount":1}}`, purse)
}

// Purses returns names of purses, all the same one if it is shared.
func Purses(many int, shared bool) (all []string) {
	for i := range many {
		if shared {
			i = 0
		}
		all = append(all, fmt.Sprint("purse-", i))
	}
	return all
}
