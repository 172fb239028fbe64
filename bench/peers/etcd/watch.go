//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// watch measures how long each of many clients, with a connection of its own, takes to see a put, from when the put was asked for.
func (c *cluster) watch(ctx context.Context) error {
	if c.cfg.watchers == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	seen := make(chan time.Time, c.cfg.watchers)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for i := range c.cfg.watchers {
		client, events, err := c.members[i%len(c.members)].watch(ctx)
		if err != nil {
			return err
		}
		group.Go(func() {
			defer func() { _ = client.Close() }()
			for e := range events {
				at := time.Now()
				for range e.Events {
					seen <- at
				}
			}
		})
	}
	for i := range c.cfg.watched {
		leader, err := c.agree(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		if _, err := leader.asked.Put(ctx, watchedKey, c.value(i)); err != nil {
			return err
		}
		took, err := c.collect(ctx, began, seen)
		if err != nil {
			return err
		}
		c.cfg.say(line{Kind: watches, Took: took})
	}
	return nil
}

const watchedKey = "watched"

// collect waits until all watchers have seen a put.
func (c *cluster) collect(ctx context.Context, began time.Time, seen <-chan time.Time) (took []float64, err error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	for range c.cfg.watchers {
		select {
		case at := <-seen:
			took = append(took, ms(at.Sub(began)))
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-late.C:
			return nil, fmt.Errorf("%d of %d watchers have seen a put after %s", len(took), c.cfg.watchers, patience)
		}
	}
	return took, nil
}

// watch has a client watch, and returns when the member says that it does.
func (m *member) watch(ctx context.Context) (*clientv3.Client, clientv3.WatchChan, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{m.client}, Logger: zap.NewNop()})
	if err != nil {
		return nil, nil, err
	}
	events := client.Watch(ctx, watchedKey, clientv3.WithCreatedNotify())
	select {
	case e := <-events:
		if e.Created {
			return client, events, nil
		}
		return nil, nil, errors.Join(fmt.Errorf("%s does not let a client watch", m.name), e.Err(), client.Close())
	case <-ctx.Done():
		return nil, nil, errors.Join(context.Cause(ctx), client.Close())
	}
}
