//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"syscall"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// member is one member of the cluster: a process.
type member struct {
	name, dir, client, peer string

	cmd   *exec.Cmd
	stdin io.Closer     // its end tells the process that we are gone
	words *bytes.Buffer // read after its end
	gone  chan struct{}
	asked *clientv3.Client // whose only endpoint it is
}

func newMember(ctx context.Context, name, dir string) (m *member, err error) {
	m = &member{name: name, dir: dir}
	for _, address := range []*string{&m.client, &m.peer} {
		if *address, err = lowPort(ctx); err != nil {
			return nil, err
		}
	}
	m.asked, err = clientv3.New(clientv3.Config{Endpoints: []string{m.client}, Logger: zap.NewNop()})
	return m, err
}

// start starts the member's process.
func (m *member) start(program, all string) error {
	m.words, m.gone = &bytes.Buffer{}, make(chan struct{})
	m.cmd = exec.CommandContext(context.Background(), program, "member", "--name", m.name, "--dir", m.dir, "--client", m.client, "--peer", m.peer, "--all", all)
	m.cmd.Stderr = m.words
	stdin, err := m.cmd.StdinPipe()
	if err != nil {
		return err
	}
	m.stdin = stdin
	if err := m.cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(m.gone)
		_ = m.cmd.Wait() // we have killed it, or its words say why
	}()
	return nil
}

// kill ends the process without a word. What it has stored stays.
func (m *member) kill() { _ = m.cmd.Process.Signal(syscall.SIGKILL) }

// wait waits for the end of a process that was killed.
func (m *member) wait() {
	<-m.gone
	_ = m.stdin.Close()
}

// ended returns an error with the last words of a process that has ended; nil: it runs.
func (m *member) ended() error {
	select {
	case <-m.gone:
		return fmt.Errorf("%s has ended: %.500s", m.name, strings.TrimSpace(m.words.String()))
	default:
		return nil
	}
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

// lowPort returns an address on which a member can listen again after its death: its port is below those that the system gives to
// any program that dials meanwhile.
func lowPort(ctx context.Context) (address string, err error) {
	const lowest, above, tries = 20_000, 32_768, 50
	for range tries {
		address = fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(above-lowest)) //nolint:gosec // to keep out of each other's way, not to hide anything
		probe, fault := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if fault == nil {
			return address, probe.Close()
		}
		err = errors.Join(err, fault)
	}
	return "", err
}
