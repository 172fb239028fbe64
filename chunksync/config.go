package chunksync

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

// Config is one scope's files on one node. The zero value of what is optional means
// its default.
type Config struct {
	ID    string // of this node; by it the others know it
	Scope string
	Store *Store
	// Peers are the other nodes: by ID, the URL at which the peer's [Manager.Handler] is
	// served. Every node has to have the same set of nodes, itself included: see Copies.
	Peers map[string]string
	// Copies is on how many peers a write is before it is acknowledged; nil: on half of
	// all nodes, rounded down, which with the leader makes a majority. A new leader hears
	// len(Peers) − Copies of the others before it writes, and so finds whatever was
	// acknowledged; all nodes have to have one value. With 0 it waits for nobody, and
	// what only a dead leader held is lost.
	Copies *int
	// Token is presented to peers, and has to be presented by them unless Accept is set;
	// empty: none.
	Token string
	// Accept decides instead who may ask the handler, for who knows several tokens.
	Accept func(r *http.Request) bool
	Client *http.Client   // to reach peers; default one with sane limits
	Roots  *x509.CertPool // who may vouch for peers that are reached over TLS; default whom the system trusts. Not with a Client

	MaxFile  int64         // bytes of one file; default 16 GiB
	Longest  time.Duration // of one exchange with a peer, a chunk both ways; default 15 s
	Grace    time.Duration // for peers that a takeover could do without; default 1 s
	Repair   time.Duration // between offers to a peer that has everything; default 5 s
	RetryMin time.Duration // after the first failure; default 100 ms
	RetryMax time.Duration // default 5 s
	Parallel int           // chunks under way to one peer; default 4

	Events Events
	Clock  fence.Clock // default fence.Boottime
}

// copies after the default, which with the leader's makes a majority of all nodes.
func (c Config) copies() int {
	if c.Copies == nil {
		return (len(c.Peers) + 1) / 2
	}
	return *c.Copies
}

func (c Config) withDefaults() Config {
	fill(&c.MaxFile, 16<<30)
	fill(&c.Longest, 15*time.Second)
	fill(&c.Grace, time.Second)
	fill(&c.Repair, 5*time.Second)
	fill(&c.RetryMin, 100*time.Millisecond)
	fill(&c.RetryMax, 5*time.Second)
	fill(&c.Parallel, 4)
	if c.Client == nil {
		c.Client = &http.Client{CheckRedirect: stay, Transport: &http.Transport{
			MaxIdleConnsPerHost: c.Parallel, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: c.Longest,
			TLSHandshakeTimeout: c.Longest, TLSClientConfig: &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
			// Else a connection that went silent would be used for ever: requests share it, and none that fails ends it.
			HTTP2: &http.HTTP2Config{SendPingTimeout: c.Longest, PingTimeout: c.Longest},
		}}
	}
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	return c
}

// stay follows no redirection: the token is for who was named.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func fill[T comparable](v *T, standard T) {
	var zero T
	if *v == zero {
		*v = standard
	}
}

// Validate names every fault.
func (c Config) Validate() error {
	var faults []error
	fault := func(is bool, format string, args ...any) {
		if is {
			faults = append(faults, fmt.Errorf("chunksync: "+format, args...))
		}
	}
	fault(c.ID == "", "no ID is given: peers would not know who asks")
	fault(c.Scope == "", "no scope is named")
	fault(c.Store == nil, "no store is given")
	for _, id := range slices.Sorted(maps.Keys(c.Peers)) {
		fault(id == "", "a peer has no ID")
		fault(id == c.ID, "%q is this node itself, and not a peer", id)
		u, err := url.Parse(c.Peers[id]) // not repeated: a password may be in it
		fault(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https", "peer %q: its URL is none such as http://127.0.0.1:7070", id)
	}
	fault(c.copies() < 0 || c.copies() > len(c.Peers), "%d copies are not between 0 and the %d peers", c.copies(), len(c.Peers))
	fault(c.MaxFile < 0 || c.Parallel < 0, "MaxFile and Parallel cannot be negative")
	fault(c.Longest < 0 || c.Grace < 0 || c.Repair < 0 || c.RetryMin < 0 || c.RetryMax < 0, "durations cannot be negative")
	return errors.Join(faults...)
}

func (c Config) settings() settings {
	return settings{
		Peers: slices.Sorted(maps.Keys(c.Peers)), Copies: c.copies(), Grace: c.Grace, Repair: c.Repair,
		RetryMin: c.RetryMin, RetryMax: c.RetryMax, Parallel: c.Parallel,
	}
}
