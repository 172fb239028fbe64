package peers

import (
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/transport/mtls"
)

// Section is the configuration of [identity] and [[peers]].
type Section struct{ Directory }

// Directory is what the tables say.
type Directory struct {
	Identity Identity
	Peers    []Peer
}

// Identity is [identity]: who this node is among the others.
type Identity struct {
	Name        string // as the others' [[peers]] call it
	Listen      string // host:port for the peers
	Key         string // file of conch identity new
	Certificate string // file; empty: peers pin the key's fingerprint
	CA          string // file of the certificates of the CA for peers without key and ca of their own
}

// Peer is one [[peers]]: another node.
type Peer struct {
	Name string
	URL  string // https://host:port
	Key  string // fingerprint of its key; or else
	CA   string // a file of the certificates of its CA
}

// User is a section of a service whose nodes talk with each other.
type User interface {
	// UsesPeers reports whether this configuration has such a service. Then [identity] has to be whole.
	UsesPeers() bool
}

// Of returns what a configuration says, the zero value if it has neither table.
func Of(c config.Config) Directory {
	if s := config.Of[*Section](c); s != nil {
		return s.Directory
	}
	return Directory{}
}

// used reports whether a configuration has a service that talks with peers.
func used(c config.Config) bool {
	return slices.ContainsFunc(c.Sections, func(s config.Section) bool {
		user, is := s.(User)
		return is && user.UsesPeers()
	})
}

// Peer returns the peer of that name.
func (d Directory) Peer(name string) (p Peer, known bool) {
	if i := slices.IndexFunc(d.Peers, func(p Peer) bool { return p.Name == name }); i >= 0 {
		return d.Peers[i], true
	}
	return p, false
}

// Endpoint returns the configuration of this node's place among its peers.
func (d Directory) Endpoint(log *slog.Logger) mtls.Config {
	i := d.Identity
	c := mtls.Config{Self: i.Name, Listen: i.Listen, Key: i.Key, Certificate: i.Certificate, CA: i.CA, Log: log}
	for _, p := range d.Peers {
		c.Peers = append(c.Peers, mtls.Peer{Name: p.Name, URL: p.URL, Key: p.Key, CA: p.CA})
	}
	return c
}

// Table implements config.Section.
func (*Section) Table() string { return "peers" }

// Keys implements config.Section.
func (s *Section) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{
		"identity": func(place string, value any) {
			i := &s.Identity
			d.Table(place, value, map[string]config.Setter{
				"name": d.Name(&i.Name), "listen": d.Word(&i.Listen), "key": d.Path(&i.Key), "certificate": d.Path(&i.Certificate), "ca": d.Path(&i.CA),
			})
		},
		"peers": func(place string, value any) {
			for i, v := range d.Tables(place, value) {
				var one Peer
				d.Table(fmt.Sprintf("%s[%d]", place, i), v, map[string]config.Setter{
					"name": d.Name(&one.Name), "url": d.Word(&one.URL), "key": d.Word(&one.Key), "ca": d.Path(&one.CA),
				})
				s.Peers = append(s.Peers, one)
			}
		},
	}
}

// Settle implements config.Section.
func (*Section) Settle(*config.Decoder, config.Config) {}

// Roles implements config.Section: peers are no role.
func (*Section) Roles() []config.Role { return nil }

// Validate implements config.Section.
func (s *Section) Validate(d *config.Decoder, c config.Config) {
	if !used(c) {
		return
	}
	s.validateIdentity(d)
	for _, taken := range [][2]string{{"node.listen", c.Node.Listen}, {"node.ops_listen", c.Node.OpsListen}} {
		if l := s.Identity.Listen; l == taken[1] && l != "" && !strings.HasSuffix(l, ":0") {
			d.Fault("identity.listen", "%q is %s already: take another port", l, taken[0])
		}
	}
	for i, p := range s.Peers {
		place := fmt.Sprintf("peers[%d]", i)
		switch {
		case p.Name == "":
			d.Fault(place+".name", "is missing: it is what the peer's own [identity] calls it")
		case p.Name == s.Identity.Name:
			d.Fault(place+".name", "%q is this node itself: take the peer out", p.Name)
		case slices.IndexFunc(s.Peers, func(o Peer) bool { return o.Name == p.Name }) < i:
			d.Fault(place+".name", "%q is the name of another peer already", p.Name)
		}
		if u, err := url.Parse(p.URL); err != nil || u.Scheme != "https" || u.Host == "" {
			d.Fault(place+".url", `is not a URL such as "https://north.example:7443"`)
		}
		switch {
		case p.Key != "" && p.CA != "":
			d.Fault(place, "has both key and ca: take one out, since one of them says who it is")
		case p.Key == "" && p.CA == "" && s.Identity.CA == "":
			d.Fault(place, "needs one of key, which is what conch identity show prints there, and ca")
		}
	}
}

func (s *Section) validateIdentity(d *config.Decoder) {
	if s.Identity.Name == "" {
		d.Fault("identity.name", "is missing: it is what the [[peers]] of the others call this node")
	}
	if s.Identity.Key == "" {
		d.Fault("identity.key", "is missing: conch identity new makes a key; name its file")
	}
	if s.Identity.Listen == "" {
		d.Fault("identity.listen", `is missing: it is where the peers connect, such as "0.0.0.0:7443"`)
	}
}
