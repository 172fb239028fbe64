// Mailer sends e-mails (here it only prints) from exactly one of several processes.
// Nothing can refuse the e-mail of a former leader, so it belongs behind the act door,
// which opens only when every predecessor's gate is known to be shut. Each act asks
// the gate again.
//
//	conch --db "$CONCH_DB_URL" migrate up
//	go run ./examples/mailer     # in three terminals; then stop the one that mails
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Getenv("CONCH_DB_URL")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string) error {
	mint, err := pgmint.New(pgmint.Config{URL: url})
	if err != nil {
		return err
	}
	defer mint.Close()
	elector, err := election.New(election.Config{
		Mint: mint,
		ID:   election.Identity("mailer"),
		Roles: []election.Role{{
			Scope:      "example-mailer",
			Lead:       mail,
			StallAfter: 10 * time.Second, // a mailer that hangs gives the scope up
		}},
	})
	if err != nil {
		return err
	}
	return elector.Run(ctx)
}

// mail is the role behind the act door. Its context ends with the leadership.
func mail(ctx context.Context, l election.Leadership) error {
	for n := 1; ctx.Err() == nil; n++ {
		// A mail takes at most 300 ms. Do does not begin one if the gate may shut before.
		err := l.Gate.Do(ctx, fence.Act, 300*time.Millisecond, func(_ context.Context, token fence.Token) error {
			fmt.Printf("mailed %d under epoch %d\n", n, token.Epoch)
			return nil
		})
		if err != nil && !errors.Is(err, fence.ErrShut) {
			return err
		}
		l.Progress()
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	fmt.Println("handing over:", context.Cause(ctx))
	return nil
}
