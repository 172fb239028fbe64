//go:build unix

package swarm

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/internal/fleet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// prepared returns a site of nodes that do not run.
func prepared(t *testing.T, nodes int) (s *site, said string) {
	t.Helper()
	return preparedWith(t, nodes, listen)
}

func preparedWith(t *testing.T, nodes int, listen func(netip.Addr) (net.Listener, error)) (s *site, said string) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	s = &site{cfg: Config{Nodes: nodes, Program: "/bin/sh"}, listen: listen}
	if err := s.prepare(func(text string, args ...any) { said += fmt.Sprintf(text, args...) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.clear(); err != nil {
			t.Error(err)
		}
		if left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); err != nil || len(left) > 0 {
			t.Errorf("%v are left, %v; want nothing", left, err)
		}
	})
	return s, said
}

// Where there is one loopback address the demo says that it does not cut; nodes listen there, and nobody stands before them.
func TestOneAddress(t *testing.T) {
	s, said := preparedWith(t, 10, func(at netip.Addr) (net.Listener, error) {
		if at.As4()[1] != 0 {
			return nil, errors.New("no such address")
		}
		return listen(at)
	})
	if s.links != nil || !strings.Contains(said, "THE NETWORK IS NOT CUT") || !strings.Contains(said, "no such address") {
		t.Errorf("it was said %q, want that it is not cut, and why", said)
	}
	text, err := os.ReadFile(filepath.Join(s.All[0].dir, configFile))
	if err != nil || strings.Contains(string(text), "source") || strings.Contains(string(text), "advertise") || !strings.HasPrefix(s.All[0].public, "127.0.0.1:") {
		t.Errorf("%v: %s; want no source, and 127.0.0.1", err, text)
	}
}

// A node knows its contacts and the electors by their keys, and no other; not itself. All others join by the CA.
func TestTheConfigurationOfANode(t *testing.T) {
	s, said := prepared(t, 12)
	for _, c := range []struct {
		of    *node
		peers string
	}{
		{s.All[0], "n002 n003 n004 n005 n006 n007 n008 n009 n010"},
		{s.All[8], "n001 n002 n003 n004 n005 n006 n007 n008 n010"},
		{s.All[11], "n001 n002 n003 n004 n005 n006 n007 n008 n009 n010"},
	} {
		text, err := os.ReadFile(filepath.Join(c.of.dir, configFile))
		if err != nil {
			t.Fatal(err)
		}
		var peers []string
		for _, table := range strings.Split(string(text), "[[peers]]\n")[1:] {
			var name, url, key string
			if _, err := fmt.Sscanf(table, "name = %q\nurl = %q\nkey = %q", &name, &url, &key); err != nil {
				t.Fatalf("%v in %s", err, table)
			}
			p := s.All[0]
			for _, n := range s.All {
				if n.Name == name {
					p = n
				}
			}
			if peers = append(peers, name); url != "https://"+p.public || key != p.fingerprint {
				t.Errorf("%s knows %s at %s with the key %s, want %s and %s", c.of.Name, name, url, key, p.public, p.fingerprint)
			}
		}
		if got := strings.Join(peers, " "); got != c.peers {
			t.Errorf("%s knows %s, want %s", c.of.Name, got, c.peers)
		}
		if !strings.Contains(string(text), `electors = ["n001", "n002", "n003", "n004", "n005", "n006", "n007"]`) {
			t.Errorf("the electors are not named in %s", text)
		}
		cuts := c.of.home.IsValid()
		if cuts == (said != "") || strings.Contains(string(text), fmt.Sprintf("source = %q\nadvertise = %q", c.of.home, c.of.public)) != cuts || (c.of.public != c.of.listen) != cuts {
			t.Errorf("it was said %q, and %s listens at %s and is found at %s: %s", said, c.of.Name, c.of.listen, c.of.public, text)
		}
	}
}

// Each certificate is of its node's key, has its name alone, and was signed by the CA.
func TestTheCertificates(t *testing.T) {
	s, _ := prepared(t, 10)
	text, err := os.ReadFile(filepath.Join(s.dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	for _, n := range s.All {
		pair, err := tls.LoadX509KeyPair(filepath.Join(n.dir, certificateFile), filepath.Join(n.dir, keyFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: n.Name, KeyUsages: []x509.ExtKeyUsage{use}}); err != nil || len(pair.Leaf.DNSNames) != 1 {
				t.Errorf("%s: %v, names %v", n.Name, err, pair.Leaf.DNSNames)
			}
		}
		if info, err := os.Stat(filepath.Join(n.dir, keyFile)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key of %s has the mode %v, %v", n.Name, info.Mode(), err)
		}
	}
}

func TestAddressesAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[netip.Addr]bool{}
	for i := range mostNodes {
		a := homeOf(126, i)
		if seen[a] || !a.IsLoopback() || a.As4()[3] == 0 || a.As4()[3] == 255 {
			t.Fatalf("node %d has the address %v", i, a)
		}
		seen[a] = true
	}
}

func TestTooFewFiles(t *testing.T) {
	t.Parallel()
	if err := enoughFiles(10, 10_000); err != nil {
		t.Error(err)
	}
	if err := enoughFiles(500, 10_000); err == nil || !strings.Contains(err.Error(), "ulimit -n") || !strings.Contains(err.Error(), "--nodes 204") {
		t.Errorf("got %v, want both remedies", err)
	}
}

// All processes end, also one that does not listen to SIGTERM.
func TestAllProcessesEnd(t *testing.T) {
	s, _ := prepared(t, 10)
	for i, script := range []string{"exec sleep 60", "trap '' TERM; while :; do :; done"} {
		if err := s.Start(s.All[i], fleet.Command{Program: s.cfg.Program, Args: []string{"-c", script}}); err != nil {
			t.Fatal(err)
		}
	}
	s.End(0)
	for i := range 2 {
		if s.All[i].Process != nil {
			t.Errorf("%s is said to live", s.All[i].Name)
		}
	}
}
