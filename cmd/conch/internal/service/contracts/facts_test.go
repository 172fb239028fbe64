package contracts

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/transport/mtls"
)

// The doctor meets a peer as far as it shows its key, and tells a stranger from one that is away.
func TestPeersAreMet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := filepath.Join(dir, "identity.pem")
	id, err := mtls.CreateIdentity(key)
	if err != nil {
		t.Fatal(err)
	}
	peer, err := mtls.New(mtls.Config{Self: "north", Listen: "127.0.0.1:0", Key: key, Peers: []mtls.Peer{{Name: "bank", URL: "https://127.0.0.1:1", Key: "sha256:" + strings.Repeat("0", 64)}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- peer.Run(ctx) }()
	defer func() { stop(); <-ended }()
	url := "https://" + peer.Addr().String()
	other := "sha256:" + strings.Repeat("0", 64)
	for _, c := range []struct {
		name          string
		peer          Peer
		away, foreign string
	}{
		{"the right key", Peer{Name: "north", URL: url, Key: id.Fingerprint().String()}, "", ""},
		{"another key", Peer{Name: "north", URL: url, Key: other}, "written down", id.Fingerprint().String()},
		{"no certificate of a CA", Peer{Name: "north", URL: url, CA: key}, "certificate", "certificate"},
		{"a CA without a file", Peer{Name: "north", URL: url, CA: filepath.Join(dir, "none.pem")}, "none.pem", "none.pem"},
		{"nobody there", Peer{Name: "north", URL: "https://127.0.0.1:1", Key: other}, "refused", ""},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		got := meet(ctx, c.peer)
		cancel()
		for _, part := range []struct{ got, want string }{{got.away, c.away}, {got.foreign, c.foreign}} {
			if (part.got == "") != (part.want == "") || !strings.Contains(part.got, part.want) {
				t.Errorf("%s: got %+v, want %q and %q", c.name, got, c.away, c.foreign)
			}
		}
	}
}

// Without an account nobody knows on which chain a contract is, and the doctor says which name is wrong.
func TestContractsWithoutAccounts(t *testing.T) {
	t.Parallel()
	c, err := load(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	a := config.Of[*Section](c).contracts[0]
	if got := consult(t.Context(), c, "bank", a); !strings.Contains(got.account, `no [[accounts]] has that name: "ops"`) || got.here.Address != "" || got.away != "" {
		t.Errorf("%+v", got)
	}
	var faults []string
	check(c, func(key string, err error) {
		if err != nil {
			faults = append(faults, key+": "+err.Error())
		}
	})
	text := strings.Join(faults, "\n")
	for _, part := range []string{"identity.key: there is no key", "peers[0].key: ", `contracts[0].account: no [[accounts]] has that name: "ops"`} {
		if !strings.Contains(text, part) {
			t.Errorf("got the faults %s\nwant %q", text, part)
		}
	}
}
