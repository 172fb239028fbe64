package mtls

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/internal/pattern"
	"github.com/conchhq/conch/internal/stamp"
)

// Config describes a node's place in the network.
type Config struct {
	Self   string // the node's name, as its peers call it
	Listen string // host:port for the peers; port 0 takes a free one
	Key    string // file of the node's key (CreateIdentity)
	// Certificate is the file of the key's certificate and of those that lead to a CA. If it is empty the key signs its
	// own, and peers have to pin the fingerprint.
	Certificate string
	CA          string // file of the certificates of the CA for peers without Key and CA of their own; with Roam of guests too
	Peers       []Peer

	Roam   bool // nobody is connected until this node or the other one calls Connect: transport.Roamer
	Guests int  // nodes that are no Peers and may have called at the same time, with Roam; 512
	// Outward says that an address which Connect is given, and which is not that of a Peer's URL, must not lead to this host or
	// its link (transport.Inward), also when a name does so: somebody else has said it.
	Outward bool
	Source  string // IP address from which peers are called; the system chooses if it is empty

	Queue     int           // bytes that wait for one peer, and 256 for each message; 16 MiB, with Roam 1 MiB
	Rate      int           // bytes a second that each peer may send, and 256 for each message; 64 MiB, with Roam 4 MiB
	Keepalive time.Duration // of silence before a peer is asked whether it lives, and the time for its answer; 2 s
	Log       *slog.Logger  // nothing is logged if nil
}

// Peer is another node, known by a fingerprint or by a CA.
type Peer struct {
	Name string // in a certificate of a CA one of the DNS names
	URL  string // https://host:port; with Roam it may be empty, if others say where the peer is
	Key  string // fingerprint of its key; then no CA counts
	CA   string // file of the certificates of its CA, instead of Config.CA
}

var validName = pattern.Of(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

const nameRule = "a name has 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or a digit"

func (c Config) withDefaults() Config {
	if c.Roam { // many peers, each with little to say
		c.Queue, c.Rate = cmp.Or(c.Queue, 1<<20), cmp.Or(c.Rate, 4<<20)
	}
	c.Guests = cmp.Or(c.Guests, 512)
	c.Queue = cmp.Or(c.Queue, 16<<20)
	c.Rate = cmp.Or(c.Rate, 64<<20)
	c.Keepalive = cmp.Or(c.Keepalive, 2*time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns every fault that shows without reading a file.
func (c Config) Validate() error {
	f := faults.List{Of: "mtls: "}
	f.Add(!validName().MatchString(c.Self), "Self %.80q is no name: %s", c.Self, nameRule)
	_, _, err := net.SplitHostPort(c.Listen)
	f.Add(err != nil, "Listen %.80q is not host:port", c.Listen)
	f.Add(c.Key == "", "Key is empty: \"conch identity new\" makes a key")
	f.Add(c.Queue < 0 || c.Rate < 0 || c.Keepalive < 0 || c.Guests < 0, "Queue, Rate, Keepalive and Guests must not be negative")
	f.Add(c.Source != "" && net.ParseIP(c.Source) == nil, "Source %.80q is no IP address", c.Source)
	names, keys := map[string]bool{}, map[string]string{}
	for i, p := range c.Peers {
		who := fmt.Sprintf("peer %d", i+1)
		if !validName().MatchString(p.Name) {
			f.Add(true, "%s: %.80q is no name: %s", who, p.Name, nameRule)
		} else {
			who = fmt.Sprintf("peer %q", p.Name)
			f.Add(names[p.Name], "%s is there twice", who)
		}
		names[p.Name] = true
		f.Add(p.Name == c.Self, "%s has the name of the node itself", who)
		_, err := p.address()
		f.Add(err != nil && (p.URL != "" || !c.Roam), "%s: %w", who, err)
		switch key, err := ParseFingerprint(p.Key); {
		case p.Key == "" && p.CA == "" && c.CA == "":
			f.Add(true, "%s has neither Key nor CA, so that nobody could prove to be it", who)
		case p.Key != "" && p.CA != "":
			f.Add(true, "%s has both Key and CA: one of them says who it is", who)
		case p.Key == "":
		case err != nil:
			f.Add(true, "%s: %w", who, err)
		case keys[key.String()] != "":
			f.Add(true, "%s has the key of peer %q", who, keys[key.String()])
		default:
			keys[key.String()] = p.Name
		}
	}
	return f.All()
}

// address returns host:port of the peer's URL.
func (p Peer) address() (string, error) {
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Port() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return "", fmt.Errorf("the URL is not https://host:port") // it is left out: somebody may have written a password
	}
	return u.Host, nil
}

// stamp is another one once a file that load reads is.
func (c Config) stamp() string {
	files := []string{c.Key, c.Certificate, c.CA}
	for _, p := range c.Peers {
		files = append(files, p.CA)
	}
	return stamp.Of(files...)
}

// load reads the files that the configuration names.
func (c Config) load() (Identity, *roster, error) {
	self, fault := LoadIdentity(c.Key, c.Certificate)
	r, err := c.roster()
	if name, is := r.pinned[self.fingerprint]; is {
		err = errors.Join(err, fmt.Errorf("peer %q has the key of this node itself", name))
	}
	return self, r, errors.Join(fault, err)
}

func (c Config) roster() (r *roster, err error) {
	var wrong faults.List
	r = &roster{self: c.Self, pinned: map[Fingerprint]string{}, keys: map[string]Fingerprint{}, roots: map[string]*x509.CertPool{}}
	if c.Roam && c.CA != "" {
		r.guests, err = Roots(c.CA)
		wrong.Add(err != nil, "CA: %w", err)
	}
	for _, p := range c.Peers {
		if p.Key != "" {
			f, _ := ParseFingerprint(p.Key) // Validate has read it
			r.pinned[f], r.keys[p.Name] = p.Name, f
			continue
		}
		r.roots[p.Name], err = Roots(cmp.Or(p.CA, c.CA))
		wrong.Add(err != nil, "CA of peer %q: %w", p.Name, err)
	}
	return r, wrong.All()
}

// Proves reports until when certificates prove a peer to a node of this configuration, by the judgement of the handshake: for ever if
// that time is zero. An error of a proof is a *RefusalError.
func (c Config) Proves(p Peer, shown []*x509.Certificate, now time.Time) (until time.Time, err error) {
	c.Peers = []Peer{p}
	r, err := c.roster()
	if err != nil {
		return until, err
	}
	return r.is(p.Name, shown, now)
}

// Roots reads the certificates of a CA's file, each of which has to be one.
func Roots(file string) (*x509.CertPool, error) {
	all, err := readCertificates(file)
	pool := x509.NewCertPool()
	for _, ca := range all {
		pool.AddCert(ca)
	}
	return pool, err
}
