package peers

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
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
