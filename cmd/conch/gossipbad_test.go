//go:build unix

package main_test

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Bad input: a stranger is refused and counted, and the others notice nothing. A key in [[peers]] that is not the peer's is
// named by both sides' logs and by the doctor; the rest of the site agrees.
func TestStrangersAndWrongKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0, "n1", "n2", "n3")
	n1, n2 := s.all[0], s.all[1]
	s.agree(s.all, anybody)
	line, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}).DialContext(t.Context(), "tcp", n1.front.Addr())
	if err == nil { // the server judges after the client has finished
		_, err = line.Read(make([]byte, 1))
		_ = line.Close()
	}
	if err == nil {
		t.Error("a peer without a certificate is let in")
	}
	counts := func(m *machine, line string) func() bool {
		return func() bool {
			_, metrics := page(t, m.api()+"/metrics")
			return strings.Contains(metrics, "\n"+line+"\n")
		}
	}
	pgtest.Eventually(t, patience, "n1 counts the stranger", counts(n1, `conch_gossip_strangers_refused_total{reason="no certificate"} 1`))

	n2.stop(syscall.SIGTERM)
	right := s.file(n2)
	n2.write(strings.Replace(right, n1.fingerprint, "sha256:"+strings.Repeat("0", 64), 1))
	found := decode[[]finding](t, conch(t, "doctor", "--config", n2.file, "--json").out)
	if f := judged(found, "peers"); f.Status != "fail" || !strings.Contains(f.Detail, `peer "n1"`) || !strings.Contains(f.Detail, n1.fingerprint) || !strings.Contains(f.Remedy, "conch identity show") {
		t.Errorf("with another key the doctor finds %+v", f)
	}
	if f := judged(found, "reachable"); f.Status != "ok" || !strings.Contains(f.Detail, "needs no database") {
		t.Errorf("of the database the doctor finds %+v", f)
	}
	s.start(n2)
	s.agree(s.all, anybody) // n3 passes on what n1 and n2 say
	n2.write(right)
	// Whether news is proven is judged by the keys that the agent began with.
	if out := conch(t, "reload", "--config", n2.file).done(t); out != "needs a restart: peers\nread again\n" {
		t.Errorf("reload printed %q, want that news needs a restart", out)
	}
	pgtest.Eventually(t, patience, "n1 and n2 are connected without one", func() bool { return n1.meets("n2") && n2.meets("n1") })
	found = decode[[]finding](t, conch(t, "doctor", "--config", n2.file, "--json").out)
	if peers, gossip := judged(found, "peers"), judged(found, "gossip"); peers.Status != "ok" || gossip.Status != "ok" {
		t.Errorf("when all is well the doctor finds %+v and %+v", peers, gossip)
	}
}

// meets reports whether a machine has a neighbour of that name.
func (m *machine) meets(name string) bool {
	_, answer := get(m.t, m.api()+"/v1/nodes")
	all, _ := answer["neighbours"].([]any)
	for _, one := range all {
		if one.(map[string]any)["name"] == name {
			return true
		}
	}
	return false
}

// A file that cannot work is refused with the key and what to write instead, before anything starts.
func TestGossipThatDoesNotStart(t *testing.T) {
	t.Parallel()
	d := prepareDaemon(t, "n1", "", "")
	conch(t, "identity", "new", "--file", filepath.Join(d.dir, "identity.pem")).done(t)
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	whole := fmt.Sprintf("[node]\nlisten = \"off\"\n[identity]\nname = \"n1\"\nlisten = %q\nkey = \"identity.pem\"\n[gossip]\n"+
		"[[peers]]\nname = \"n2\"\nurl = \"https://127.0.0.1:1\"\nkey = \"sha256:%064d\"\n", taken.Addr(), 2)
	for _, c := range []struct {
		old, text string
		code      int
		says      []string
	}{
		{"", "", 1, []string{taken.Addr().String(), "is in use", "another address with listen in [identity]"}},
		{"identity.pem", "none.pem", 2, []string{"identity.key", "conch identity new"}},
		{"[gossip]\n", "[gossip]\nelectors = [\"n3\"]\n", 2, []string{"gossip.electors[0]", `"n3" is neither this node nor one of the [[peers]]`}},
		{"[gossip]\n", "[gossip]\n[[roles]]\nname = \"a\"\n", 2, []string{"no database"}},
		{"[gossip]\n", "", 2, []string{"nothing to lead"}},
	} {
		d.write(strings.Replace(whole, c.old, c.text, 1))
		conch(t, "node", "--config", d.file, "--log-level", "error").refused(t, c.code, c.says...)
	}
	conch(t, "status", "--gossip", "--node", "http://127.0.0.1:1").refused(t, 1, "no node answers")
	conch(t, "status", "--node", "http://127.0.0.1:1").refused(t, 2, "--node is for a node", "--gossip")
	conch(t, "status", "--gossip", "--scope", "a").refused(t, 2, "--scope is for the database")
}

// A machine that has a certificate of the site's CA joins without being listed anywhere, and one that has another CA's does
// not. Electors are known by their keys all the same.
func TestACAOfASite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours, theirs := newAuthority(t, filepath.Join(dir, "ca.pem")), newAuthority(t, filepath.Join(dir, "other.pem"))
	hub := prepareMachine(t, "hub")
	joins := func(m *machine, ca *authority, more string) {
		ca.certify(t, m)
		m.write(fmt.Sprintf("[node]\nlisten = \"127.0.0.1:0\"\n[identity]\nname = %q\nlisten = \"127.0.0.1:0\"\nkey = \"identity.pem\"\ncertificate = \"cert.pem\"\nca = %q\n"+
			"[gossip]\nadvertise = %q\nelectors = [\"hub\"]\n%s", m.name, ours.file, m.front.Addr(), more))
		(&machines{t: t}).start(m)
	}
	joins(hub, ours, "")
	toHub := fmt.Sprintf("[[peers]]\nname = \"hub\"\nurl = \"https://%s\"\nkey = %q\n", hub.front.Addr(), hub.fingerprint)
	guests := []*machine{prepareMachine(t, "shop-1"), prepareMachine(t, "shop-2")}
	for _, m := range guests {
		joins(m, ours, toHub)
	}
	s := &machines{t: t, all: append([]*machine{hub}, guests...)}
	s.agree(s.all, func(m *machine) bool { return m == hub })
	pgtest.Eventually(t, patience, "the shops meet by the hub", func() bool { return guests[0].meets("shop-2") && guests[1].meets("shop-1") })

	stranger := prepareMachine(t, "shop-3")
	joins(stranger, theirs, toHub)
	pgtest.Eventually(t, patience, "the hub refuses the certificate of another CA", func() bool {
		_, metrics := page(t, hub.api()+"/metrics")
		return strings.Contains(metrics, `conch_gossip_strangers_refused_total{reason="unknown key"} `) && !strings.Contains(metrics, `conch_gossip_strangers_refused_total{reason="unknown key"} 0`+"\n") ||
			strings.Contains(metrics, `conch_gossip_strangers_refused_total{reason="other CA"} `) && !strings.Contains(metrics, `conch_gossip_strangers_refused_total{reason="other CA"} 0`+"\n")
	})
	if hub.meets("shop-3") || stranger.sees()["leader"] != nil {
		t.Errorf("a machine with a certificate of another CA has joined: %v", stranger.sees())
	}
}

// A certificate that is about to end is a warning before anything starts, and one that has ended is a fault, each with the key and with
// what to do; the doctor says the same. A node starts with it all the same. Two nodes with one key are refused.
func TestCertificatesNearTheirEnd(t *testing.T) {
	t.Parallel()
	m := prepareMachine(t, "n1")
	ca := newAuthority(t, filepath.Join(m.dir, "ca.pem"))
	file := func(more string) {
		m.write("[node]\nlisten = \"off\"\n[identity]\nname = \"n1\"\nlisten = \"127.0.0.1:0\"\nkey = \"identity.pem\"\ncertificate = \"cert.pem\"\nca = \"ca.pem\"\n[gossip]\nadvertise = \"127.0.0.1:1\"\n" + more)
	}
	file("")
	ca.certify(t, m)
	if out := conch(t, "config", "check", "--config", m.file).done(t); !strings.Contains(out, "warning: line 7, identity.certificate: the certificate of this node, n1, in ") ||
		!strings.Contains(out, "ends in 59m") || !strings.Contains(out, "have the CA sign the key again") || !strings.HasSuffix(out, ": ok\n") {
		t.Errorf("of a certificate that ends within the hour the check says %s", out)
	}
	ca.lasts = -2 * time.Hour
	ca.certify(t, m)
	if r := conch(t, "config", "check", "--config", m.file); r.code != 2 || !strings.Contains(r.out, ": line 7, identity.certificate: the certificate of this node, n1, in ") || !strings.Contains(r.out, "ended 2h") || !strings.Contains(r.err, "1 fault") {
		t.Errorf("of a certificate that has ended the check says %+v", r)
	}
	found := decode[[]finding](t, conch(t, "doctor", "--config", m.file, "--json").out)
	if f := judged(found, "certificates"); f.Status != "fail" || !strings.Contains(f.Detail, "n1, in ") || !strings.Contains(f.Detail, "ended 2h") || !strings.Contains(f.Remedy, "have the CA sign the key again") {
		t.Errorf("of a certificate that has ended the doctor says %+v", f)
	}
	if f := judged(found, "identity"); f.Status != "ok" {
		t.Errorf("its time is said once, and the identity is %+v", f)
	}
	for _, key := range []string{m.fingerprint, "sha256:" + fmt.Sprintf("%064d", 2)} {
		file(fmt.Sprintf("[[peers]]\nname = \"n2\"\nurl = \"https://127.0.0.1:1\"\nkey = \"sha256:%064d\"\n[[peers]]\nname = \"n3\"\nurl = \"https://127.0.0.1:1\"\nkey = %q\n", 2, key))
		conch(t, "node", "--config", m.file).refused(t, 2, "peers[1].key: is the key of ", "already")
	}
}

// authority is a CA.
type authority struct {
	file        string
	certificate *x509.Certificate
	key         ed25519.PrivateKey
	lasts       time.Duration // of what it signs; an hour if it is 0
}

func newAuthority(t *testing.T, file string) *authority {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{file: file, key: key, certificate: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: filepath.Base(file)}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	raw, err := x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, public, key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, file, "CERTIFICATE", raw)
	return a
}

// certify makes a certificate of a machine's key, with its name in it.
func (a *authority) certify(t *testing.T, m *machine) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, "identity.pem"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{m.name}, NotAfter: time.Now().Add(cmp.Or(a.lasts, time.Hour)),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, leaf, a.certificate, key.(ed25519.PrivateKey).Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(m.dir, "cert.pem"), "CERTIFICATE", raw)
}

func writePEM(t *testing.T, file, kind string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
}
