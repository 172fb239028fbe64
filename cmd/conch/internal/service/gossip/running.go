package gossip

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
)

// askPatience bounds the question to the running node.
const askPatience = 5 * time.Second

// examineRunning has the node of this configuration say what it knows, if it runs: that peers refuse it, or that a majority of the
// electors is away, shows nowhere else. The doctor does not show the node's certificate to anybody, which would end the node's own
// connections. Nothing is found where no node answers, or another one.
func examineRunning(ctx context.Context, c config.Config, self string) []doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	client, err := ownNode(ctx, c.Node)
	if client == nil && err == nil {
		return nil
	}
	var n Nodes
	if err == nil {
		_, n, err = cli.Fetch(ctx, client, http.MethodGet, pathNodes, func(n Nodes) bool { return n.Self != "" })
	}
	switch {
	case err == nil && n.Self != self:
		return nil
	case err != nil:
		return []doctor.Finding{doctor.Warning(fmt.Sprintf("what the running node knows could not be asked of it: %v", err),
			"if a node runs with this file, ask it yourself: conch status --gossip, with --node and --token-file")}
	}
	var found []doctor.Finding
	for _, t := range troublesOf(n, cli.Clock) {
		say := doctor.Warning
		if t.Grave {
			say = doctor.Failure
		}
		found = append(found, say("the running node says: "+t.Detail, t.Remedy))
	}
	return found
}

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

// ownNode returns a client for the API of the node of a configuration; nil if nobody listens there.
func ownNode(ctx context.Context, n config.Node) (*cli.Client, error) {
	at := reached(n)
	if n.Listen == config.Off || !listens(ctx, at) {
		return nil, nil
	}
	client := cli.NewClient(at, cmp.Or(n.ReadTokenFile, n.TokenFile))
	if err := client.Prepare(func(string) string { return "" }); err != nil {
		return nil, err
	}
	if strings.HasPrefix(at, "https:") {
		return client, client.Expect(n.TLSCert)
	}
	return client, nil
}
