//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net/url"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/conchhq/conch/internal/fleet"
)

// member is one member of the cluster: a process.
type member struct {
	name, dir, client, peer string

	process *fleet.Process   // nil: it was never started
	asked   *clientv3.Client // whose only endpoint it is
}

func newMember(ctx context.Context, name, dir string) (m *member, err error) {
	m = &member{name: name, dir: dir}
	for _, address := range []*string{&m.client, &m.peer} {
		if *address, err = fleet.LowPort(ctx); err != nil {
			return nil, err
		}
	}
	m.asked, err = clientv3.New(clientv3.Config{Endpoints: []string{m.client}, Logger: zap.NewNop()})
	return m, err
}

// start starts the member's process.
func (m *member) start(launcher *fleet.Launcher, program, all string) (err error) {
	m.process, err = launcher.Launch(fleet.Command{Program: program, Args: []string{
		"member", "--name", m.name, "--dir", m.dir, "--client", m.client, "--peer", m.peer, "--all", all,
	}})
	return err
}

// ended returns an error with the last words of a process that has ended; nil: it runs.
func (m *member) ended() error {
	if m.process.Alive() {
		return nil
	}
	return fmt.Errorf("%s has ended: %.500s", m.name, m.process.LastWords())
}

func (m *member) peerURL() string { return "https://" + m.peer }

// serve is a member's process, which ends with ctx or with its stdin. The members speak TLS with each other, as those of conch do.
// All else is the library's default: a heartbeat each 100 ms, an election after a second.
func (m *member) serve(ctx context.Context, all string, stdin io.Reader) error {
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.LogLevel, cfg.InitialCluster, cfg.PeerAutoTLS = m.name, m.dir, "error", all, true
	client, peer := url.URL{Scheme: "http", Host: m.client}, url.URL{Scheme: "https", Host: m.peer}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer server.Close()
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return nil
	case err := <-server.Err():
		return err
	}
}
