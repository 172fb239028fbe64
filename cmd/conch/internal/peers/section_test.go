package peers

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/transport/mtls"
)

const (
	role     = "database.url = \"postgres://app_node@db/app\"\n[[roles]]\nname = \"a\"\n"
	identity = "[identity]\nname = \"bank\"\nlisten = \"0.0.0.0:7443\"\nkey = \"identity.pem\"\n"
	// north begins at line 8 of a file after the others.
	north = "[[peers]]\nname = \"north\"\nurl = \"https://north.example:7443\"\nkey = \"sha256:00\"\n"
	east  = "[[peers]]\nname = \"east\"\nurl = \"https://east.example:7443\"\nca = \"ca.pem\"\n"
	whole = role + identity + north + east
)

// user is a section that has peers.
type user struct {
	config.Section
	uses bool
}

func (u user) UsesPeers() bool { return u.uses }

func load(t *testing.T, text string, uses bool) (config.Config, error) {
	t.Helper()
	other := func() config.Section { return user{configtest.Plain("others"), uses} }
	return configtest.Load(t, text, config.Source{Sections: configtest.Beside(Kind().Section, other)}, nil)
}

func TestEveryKey(t *testing.T) {
	t.Parallel()
	c, err := load(t, strings.Replace(whole, "[[peers]]", "certificate = \"cert.pem\"\nca = \"site.pem\"\n[[peers]]", 1), true)
	if err != nil {
		t.Fatal(err)
	}
	d := Of(c)
	if i := d.Identity; i.Name != "bank" || i.Listen != "0.0.0.0:7443" || !filepath.IsAbs(i.Key) || !filepath.IsAbs(i.Certificate) || !filepath.IsAbs(i.CA) {
		t.Errorf("%+v", i)
	}
	if p := d.Peers; len(p) != 2 || p[0] != (Peer{Name: "north", URL: "https://north.example:7443", Key: "sha256:00"}) || p[1].Key != "" || !filepath.IsAbs(p[1].CA) {
		t.Errorf("%+v", p)
	}
	if p, known := d.Peer("east"); !known || p.Name != "east" {
		t.Errorf("east is %+v, %t", p, known)
	}
	if _, known := d.Peer("west"); known {
		t.Error("west is known, and is in no file")
	}
	e := d.Endpoint(nil)
	if e.Self != "bank" || e.Listen != "0.0.0.0:7443" || e.Key != d.Identity.Key || e.Certificate != d.Identity.Certificate || e.CA != d.Identity.CA || len(e.Peers) != 2 || e.Peers[1].CA != d.Peers[1].CA {
		t.Errorf("%+v", e)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	but := func(old, text string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("%q is not in the file", old)
		}
		return strings.Replace(whole, old, text, 1)
	}
	for _, c := range []struct {
		name, text string
		says       []string
	}{
		{"an unknown key of the identity", but("listen =", "lissten ="), []string{"line 6, identity.lissten", "listen"}},
		{"an unknown key of a peer", but("ca =", "cca ="), []string{"line 15, peers[1].cca"}},
		{"no name", but("name = \"bank\"\n", ""), []string{"identity.name: is missing"}},
		{"no listen", but("listen = \"0.0.0.0:7443\"\n", ""), []string{"identity.listen: is missing", "0.0.0.0:7443"}},
		{"the port of the API", "node.listen = \"0.0.0.0:7443\"\n" + whole, []string{`identity.listen: "0.0.0.0:7443" is node.listen already`}},
		{"the port of the metrics", "node.ops_listen = \"0.0.0.0:7443\"\n" + whole, []string{`identity.listen: "0.0.0.0:7443" is node.ops_listen already`}},
		{"no key", but("key = \"identity.pem\"\n", ""), []string{"identity.key: is missing", "conch identity new"}},
		{"a peer without a name", but("name = \"north\"\n", ""), []string{"peers[0].name: is missing"}},
		{"this node as a peer", but("name = \"north\"", "name = \"bank\""), []string{`line 9, peers[0].name: "bank" is this node itself`}},
		{"a peer with a space that nobody sees", but("name = \"north\"", "name = \"north \""), []string{`peers[0].name: "north " begins or ends with a space`}},
		{"a node with a character that nobody sees", but("name = \"bank\"", "name = \"ba\u200bnk\""), []string{"identity.name", "U+200B"}},
		{"a peer twice", but("name = \"east\"", "name = \"north\""), []string{`line 13, peers[1].name: "north" is the name of another peer`}},
		{"no URL", but("https://north", "http://SECRET@north"), []string{"line 10, peers[0].url: is not a URL such as"}},
		{"neither key nor ca", but("key = \"sha256:00\"\n", ""), []string{"line 8, peers[0]: needs one of key"}},
		{"key and ca", but("ca = ", "key = \"sha256:00\"\nca = "), []string{"line 12, peers[1]: has both key and ca"}},
		{"one table", role + identity + "[peers]\nname = \"north\"\n", []string{"peers", "[[peers]]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, c.text, true)
			configtest.Faults(t, err, c.says, "SECRET")
		})
	}
}

// A CA of [identity] is that of every peer without key and ca of its own.
func TestOneCAForAll(t *testing.T) {
	t.Parallel()
	text := strings.Replace(strings.Replace(whole, "key = \"sha256:00\"\n", "", 1), "[[peers]]", "ca = \"site.pem\"\n[[peers]]", 1)
	if _, err := load(t, text, true); err != nil {
		t.Error(err)
	}
}

// The tables of a file in which nothing uses them have no faults, and are not looked at.
func TestPeersOfNobody(t *testing.T) {
	t.Parallel()
	c, err := load(t, role+"[identity]\nname = \"bank\"\n[[peers]]\n", false)
	if err != nil {
		t.Fatal(err)
	}
	check(c, func(key string, err error) { t.Errorf("%s: %v", key, err) })
	if found := examine(t.Context(), c); found != nil {
		t.Errorf("%+v", found)
	}
	if d := Of(config.Config{}); d.Identity.Name != "" || len(d.Peers) > 0 {
		t.Errorf("%+v", d)
	}
}

// Files that cannot be read, and keys that are none, are named with their key before anything starts.
func TestCheck(t *testing.T) {
	t.Parallel()
	c, err := load(t, strings.Replace(whole, "[[peers]]", "ca = \"site.pem\"\n[[peers]]", 1), true)
	if err != nil {
		t.Fatal(err)
	}
	var faults []string
	check(c, func(key string, err error) {
		if err != nil {
			faults = append(faults, key+": "+err.Error())
		}
	})
	text := strings.Join(faults, "\n")
	for _, part := range []string{"identity.key: there is no key", "identity.ca: ", "site.pem", "peers[0].key: ", "peers[1].ca: "} {
		if !strings.Contains(text, part) {
			t.Errorf("got the faults %s\nwant %q", text, part)
		}
	}
}

// A file of CAs of which one certificate is damaged does not pass: a node would not start with it.
func TestADamagedCA(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca.pem")
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, NotAfter: time.Now().Add(time.Hour)}
	good, err := x509.CreateCertificate(nil, ca, ca, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: good})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: good[:len(good)/2]})...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var got error
	caFile(file, "identity.ca", func(_ string, err error) { got = err })
	if got == nil {
		t.Error("it passes")
	}
}

// A key says who a node is, so two nodes cannot have one: neither two peers, which two electors would be too, nor a peer and this node.
func TestEachNodeHasItsOwnKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, err := mtls.CreateIdentity(filepath.Join(dir, "identity.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ north, east, says string }{
		{strings.Repeat("1", 64), strings.Repeat("2", 64), ""},
		{strings.Repeat("1", 64), strings.Repeat("1", 64), "peers[1].key: is the key of peer north already"},
		{strings.Repeat("1", 64), strings.TrimPrefix(own.Fingerprint().String(), "sha256:"), "peers[1].key: is the key of this node itself already"},
	} {
		text := strings.Replace(strings.Replace(whole, "ca = \"ca.pem\"", "key = \"sha256:"+c.east+"\"", 1), "sha256:00", "sha256:"+c.north, 1)
		cfg, err := load(t, strings.Replace(text, "identity.pem", filepath.Join(dir, "identity.pem"), 1), true)
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		check(cfg, func(key string, err error) {
			if err != nil {
				said += key + ": " + err.Error()
			}
		})
		if (said == "") != (c.says == "") || !strings.HasPrefix(said, c.says) {
			t.Errorf("north %.4s, east %.4s: got %q, want %q", c.north, c.east, said, c.says)
		}
	}
}

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
		{"another key", Peer{Name: "north", URL: url, Key: other}, "", id.Fingerprint().String()},
		{"no certificate of a CA", Peer{Name: "north", URL: url, CA: key}, "", "certificate"},
		{"a CA without a file", Peer{Name: "north", URL: url, CA: filepath.Join(dir, "none.pem")}, "", "none.pem"},
		{"nobody there", Peer{Name: "north", URL: "https://127.0.0.1:1", Key: other}, "refused", ""},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		got := Directory{}.meet(ctx, c.peer)
		cancel()
		for _, part := range []struct{ got, want string }{{got.away, c.away}, {got.foreign, c.foreign}} {
			if (part.got == "") != (part.want == "") || !strings.Contains(part.got, part.want) {
				t.Errorf("%s: got %+v, want %q and %q", c.name, got, c.away, c.foreign)
			}
		}
	}
}

// A CA speaks for the names in its certificates, and for no other peer.
func TestACAProvesNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, ca, key := authority(t, filepath.Join(dir, "ca.pem"))
	other, _, _ := authority(t, filepath.Join(dir, "other.pem"))
	raw := leafOf(t, ca, key, time.Hour)
	shown, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		peer Peer
		ca   string // of [identity]
		good bool
	}{
		{Peer{Name: "north", CA: file}, "", true},
		{Peer{Name: "east", CA: file}, "", false},
		{Peer{Name: "north", CA: other}, "", false},
		{Peer{Name: "north"}, file, true},
		{Peer{Name: "north"}, other, false},
		{Peer{Name: "north", CA: other}, file, false},
	} {
		if _, _, err := (Directory{Identity: Identity{CA: c.ca}}).proves(c.peer, []*x509.Certificate{shown}); (err == nil) != c.good {
			t.Errorf("%+v, with the CA %q: %v", c.peer, c.ca, err)
		}
	}
	own := Identity{Key: filepath.Join(dir, "key.pem"), Certificate: filepath.Join(dir, "certificate.pem")}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, own.Key, "PRIVATE KEY", private)
	write(t, own.Certificate, "CERTIFICATE", raw)
	loaded, _, err := own.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, ca string // of this node
		good     bool
	}{
		{"north", file, true},
		{"east", file, false},
		{"north", other, false},
		{"east", "", true},
	} {
		own.Name, own.CA = c.name, c.ca
		if err := (Directory{Identity: own}).unproven(loaded); (err == nil) != c.good {
			t.Errorf("the doctor of %q with the CA %q says: %v", c.name, c.ca, err)
		}
	}
	if _, at, err := (Identity{Key: own.Key, Certificate: other}).load(); err == nil || at != keyOfCertificate {
		t.Errorf("the certificate is another key's, and %s is blamed: %v", at, err)
	}
	if _, at, err := (Identity{Key: own.Key, Certificate: own.Key}).load(); err == nil || at != keyOfCertificate {
		t.Errorf("the certificate is none, and %s is blamed: %v", at, err)
	}
	if _, _, err := (Directory{}).proves(Peer{Name: "north", CA: file}, nil); err == nil {
		t.Error("nothing was shown, and it was taken for a proof")
	}
	ended, err := x509.ParseCertificate(leafOf(t, ca, key, -time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if _, over, err := (Directory{}).proves(Peer{Name: "north", CA: file}, []*x509.Certificate{ended}); !over || err == nil || !strings.Contains(err.Error(), "the certificate of north ended") {
		t.Errorf("the time of a certificate is over: %t, %v", over, err)
	}
}

// leafOf makes a certificate of north.
func leafOf(t *testing.T, ca *x509.Certificate, key ed25519.PrivateKey, lasts time.Duration) []byte {
	t.Helper()
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{"north"}, NotAfter: time.Now().Add(lasts),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, // as some CAs write it, and nodes take it
	}
	raw, err := x509.CreateCertificate(nil, leaf, ca, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// authority makes a CA, and the file of its certificate.
func authority(t *testing.T, file string) (string, *x509.Certificate, ed25519.PrivateKey) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: file}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(nil, ca, ca, public, key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, "CERTIFICATE", raw)
	return file, ca, key
}

func write(t *testing.T, file, kind string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Bad input: an identity that cannot be used and a peer with another key are named, each with a remedy.
func TestFindings(t *testing.T) {
	t.Parallel()
	own, err := mtls.CreateIdentity(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	none := errors.New("there is no key")
	for _, c := range []struct {
		name   string
		got    []doctor.Finding
		status doctor.Status
		says   []string // of detail and remedy
	}{
		{"an identity", self(judgeSelf(own, keyOfKey, nil, nil)), doctor.OK, []string{"prove", own.Fingerprint().String()}},
		{"no identity", self(judgeSelf(own, keyOfKey, none, errors.New("no name"))), doctor.Fail, []string{"there is no key", "identity.key"}},
		{"another certificate", self(judgeSelf(own, keyOfCertificate, none, nil)), doctor.Fail, []string{"there is no key", "identity.certificate"}},
		{"a certificate of another name", self(judgeSelf(own, keyOfCertificate, nil, errors.New("for n2"))), doctor.Warn, []string{"for n2", "identity.name"}},
		{"peers", judgePeers([]partner{{name: "north"}, {name: "east"}}), doctor.OK, []string{"2 peers answer"}},
		{"a peer that is away", judgePeers([]partner{{name: "north", away: "refused"}}), doctor.Warn, []string{`"north" does not answer: refused`, "url"}},
		{"a peer with another key", judgePeers([]partner{{name: "north", away: "x", foreign: "the key is sha256:1"}}), doctor.Fail, []string{`"north": the key is sha256:1`, "conch identity show"}},
		{"a peer whose certificate has ended", judgePeers([]partner{{name: "north", away: "x", foreign: "the certificate of north ended 2h0m0s ago", ended: true}}), doctor.Fail, []string{`"north": the certificate of north ended`, "renewed there", "nothing here"}},
		{"a peer whose certificate ends", judgePeers([]partner{{name: "north", until: time.Now().Add(3 * 24 * time.Hour)}}), doctor.Warn, []string{"of peer north ends in 2 days", "renewed there"}},
		{"a peer whose certificate lasts", judgePeers([]partner{{name: "north", until: time.Now().Add(9 * 24 * time.Hour)}}), doctor.OK, []string{"1 peer answers"}},
	} {
		if len(c.got) != 1 || c.got[0].Status != c.status || (c.got[0].Remedy == "") != (c.status == doctor.OK) {
			t.Errorf("%s: got %+v, want %v", c.name, c.got, c.status)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(c.got[0].Detail+" "+c.got[0].Remedy, part) {
				t.Errorf("%s: got %+v, want %q in it", c.name, c.got, part)
			}
		}
	}
}

func self(f doctor.Finding) []doctor.Finding { return []doctor.Finding{f} }
