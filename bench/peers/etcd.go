//go:build linux

package main

import (
	"context"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/conchhq/conch/internal/fleet"
)

// serveEtcd runs a server of one member until ctx ends.
func serveEtcd(ctx context.Context, dir, client string) error {
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel = dir, "error"
	peer, err := fleet.LowPort(ctx)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		addr           string
		listen, advert *[]url.URL
	}{{client, &cfg.ListenClientUrls, &cfg.AdvertiseClientUrls}, {peer, &cfg.ListenPeerUrls, &cfg.AdvertisePeerUrls}} {
		u := url.URL{Scheme: "http", Host: one.addr}
		*one.listen, *one.advert = []url.URL{u}, []url.URL{u}
	}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-server.Err():
		return err
	}
}
