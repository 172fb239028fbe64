package cli

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// reached returns how this machine reaches the API of the node of this configuration: as a URL, or unix:/path.
func reached(n config.Node) string {
	host, port, err := net.SplitHostPort(n.Listen)
	if err != nil || strings.HasPrefix(n.Listen, "unix:") {
		return "unix:" + strings.TrimPrefix(n.Listen, "unix:")
	}
	if ip, _ := netip.ParseAddr(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if n.TLSCert != "" {
		return "https://" + net.JoinHostPort(host, port)
	}
	return "http://" + net.JoinHostPort(host, port)
}

// listens reports whether somebody listens there.
func listens(ctx context.Context, at string) bool {
	network := "unix"
	address, is := strings.CutPrefix(at, "unix:")
	if !is {
		network = "tcp"
		_, address, _ = strings.Cut(at, "://")
	}
	link, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		_ = link.Close()
	}
	return err == nil
}

// OwnNode returns a client for the API of the node of a configuration; nil if nobody listens there.
func OwnNode(ctx context.Context, n config.Node) (*Client, error) {
	at := reached(n)
	if n.Listen == config.Off || !listens(ctx, at) {
		return nil, nil
	}
	client := NewClient(at, cmp.Or(n.ReadTokenFile, n.TokenFile))
	if err := client.Prepare(func(string) string { return "" }); err != nil {
		return nil, err
	}
	if strings.HasPrefix(at, "https:") {
		return client, client.Expect(n.TLSCert)
	}
	return client, nil
}
