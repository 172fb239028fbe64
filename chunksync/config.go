package chunksync

import (
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/expiry"
	"github.com/conchhq/conch/internal/faults"
)

// Config configures the files of one scope on one node. ID, Scope and Store are required.
// Elsewhere the zero value selects the default.
type Config struct {
	ID    string // of this node; the peers know it by this ID
	Scope string
	Store *Store
	// Peers maps the ID of each other node to the URL of its [Manager.Handler]. Together
	// with ID, it must name the same set of nodes on every node.
	Peers map[string]string
	// Copies is the number of peers that store a write before it is acknowledged. All
	// nodes need the same value, since a new leader waits for len(Peers) − Copies answers
	// to find each acknowledged write. The default, for nil, is half of all nodes, rounded
	// down: a majority with the leader. With 0 a new leader needs no answer, and writes
	// that only a dead leader held are lost.
	Copies *int
	// Token is the bearer token of requests to peers and, unless Accept is set, the one
	// that their requests need. If it is empty, no token is sent or needed.
	Token string
	// Accept, if set, authorizes requests instead of Token, for example by several tokens.
	Accept func(r *http.Request) bool
	// Client sends the requests to peers. The default has timeouts and trusts Roots.
	Client *http.Client
	Roots  *x509.CertPool // certificate authorities of the default Client; default the system's

	MaxFile  int64         // maximum size of a file, in bytes; default 16 GiB
	Longest  time.Duration // maximum time of one exchange with a peer; default 15 s
	Grace    time.Duration // how long a takeover waits for peers that it does not need; default 1 s
	Repair   time.Duration // interval of offers to a peer that lacks nothing; default 5 s
	RetryMin time.Duration // pause after a peer's first failure, then doubled; default 100 ms
	RetryMax time.Duration // longest pause; default 5 s
	Parallel int           // chunks in transit to one peer; default 4

	Events Events
	Clock  fence.Clock // default fence.Boottime
}

// copies returns Copies or its default, which is a majority together with the leader.
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
		c.Client = &http.Client{CheckRedirect: noRedirect, Transport: &expiry.Transport{Transport: &http.Transport{
			MaxIdleConnsPerHost: c.Parallel, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: c.Longest,
			TLSHandshakeTimeout: c.Longest, TLSClientConfig: &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
			// Failed requests leave the shared connection open: without pings a silent one would be used for ever.
			HTTP2: &http.HTTP2Config{SendPingTimeout: c.Longest, PingTimeout: c.Longest},
		}}}
	}
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	return c
}

// noRedirect keeps the token from hosts that the configuration does not name.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func fill[T comparable](v *T, standard T) {
	var zero T
	if *v == zero {
		*v = standard
	}
}

// Validate returns all faults, joined.
func (c Config) Validate() error {
	f := faults.List{Of: "chunksync: "}
	f.Add(c.ID == "", "no ID is given: peers identify this node by it")
	f.Add(c.Scope == "", "no scope is given")
	f.Add(c.Store == nil, "no store is given")
	for _, id := range slices.Sorted(maps.Keys(c.Peers)) {
		f.Add(id == "", "a peer has no ID")
		f.Add(id == c.ID, "peer %q is this node itself", id)
		u, err := url.Parse(c.Peers[id]) // never printed: it may contain a password
		f.Add(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https", "peer %q: its URL must have a form like http://127.0.0.1:7070", id)
	}
	f.Add(c.copies() < 0 || c.copies() > len(c.Peers), "%d copies are not between 0 and the number of peers, %d", c.copies(), len(c.Peers))
	f.Add(c.MaxFile < 0 || c.Parallel < 0, "MaxFile and Parallel cannot be negative")
	f.Add(c.Longest < 0 || c.Grace < 0 || c.Repair < 0 || c.RetryMin < 0 || c.RetryMax < 0, "durations cannot be negative")
	return f.All()
}

func (c Config) settings() settings {
	return settings{
		Peers: slices.Sorted(maps.Keys(c.Peers)), Copies: c.copies(), Grace: c.Grace, Repair: c.Repair,
		RetryMin: c.RetryMin, RetryMax: c.RetryMax, Parallel: c.Parallel,
	}
}
