//go:build !one || etcd

package candidate

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/conchhq/conch/internal/pause"
)

var _ = enter("etcd", etcd)

// etcd uses concurrency.Election over a session, of 60 s by default.
func etcd(ctx context.Context, cfg Config, o *outside) error {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{cfg.URL}, DialTimeout: 2 * time.Second, Logger: zap.NewNop(),
	})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for ctx.Err() == nil {
		_ = campaign(ctx, client, cfg, o) // after any failure: a new session
		_ = pause.For(ctx, 100*time.Millisecond)
	}
	return nil
}

func campaign(ctx context.Context, client *clientv3.Client, cfg Config, o *outside) error {
	var options []concurrency.SessionOption
	if cfg.Lease > 0 {
		options = append(options, concurrency.WithTTL(int(cfg.Lease/time.Second)))
	}
	session, err := concurrency.NewSession(client, options...)
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	leading, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // the end of the session ends the leadership
		select {
		case <-session.Done():
			cancel()
		case <-leading.Done():
		}
	}()
	election := concurrency.NewElection(session, "/bench")
	if err := election.Campaign(leading, cfg.ID); err != nil {
		return err
	}
	err = o.work(leading)
	if ctx.Err() != nil { // asked to stop: hand over at once
		resigning, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer done()
		return election.Resign(resigning)
	}
	return err
}
