package web

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/faults"
)

// Electors is one elector of this process, or several that look like one.
type Electors interface {
	// Scopes lists every scope that has a role here, in any order.
	Scopes() []string
	// Gate returns the gate of such a scope; nil for any other.
	Gate(scope string) *fence.Gate
	StepDown(ctx context.Context, s election.StepDown) error
}

// History reads the state of scopes and their history from the database.
type History interface {
	Scopes(ctx context.Context, scope string) ([]pgops.ScopeStatus, error)
	History(ctx context.Context, scope string, limit int) ([]pgops.Event, error)
	Watch(ctx context.Context, scope string, fn func(pgops.Event) error) error
}

// Observer is a History with its own connection, such as *pgops.Observer. It is used by one
// goroutine at a time, and closed when it fails.
type Observer interface { //nolint:interfacebloat // all that a site reads
	History
	Window(ctx context.Context, w pgops.Window) ([]pgops.Event, error)
	Beats(ctx context.Context) ([]pgops.Beat, error)
	Processes(ctx context.Context) ([]pgops.Process, error)
	Close()
}

// Config describes a site. ID, Electors, Observe and Metrics are required.
type Config struct {
	ID       string // under which this process campaigns
	Version  string
	Electors Electors
	// Status returns what a gate does not know, such as since when nobody leads; may be nil.
	Status func(scope string) (election.Status, bool)
	// Observe connects an observer. It is called again whenever one has failed.
	Observe func(ctx context.Context) (Observer, error)
	// Ask sends a drain or a transfer to the leader, as pgops.Ask does; nil without a database.
	Ask func(ctx context.Context, r pgops.Request) error
	// Locked names what locks tables of the database, for an error of a wait for them, as pg.Locked does; nil without a database.
	Locked  func(ctx context.Context, err error) error
	Metrics http.Handler
	// Routes are those of the node's services. The site has its own besides.
	Routes []Route
	// Health returns what the node's services say of themselves on /healthz, by name; may be nil. It must not wait, and
	// callers without a token read it.
	Health func() map[string]any
	// Board has what services tell on /v1/events; may be nil.
	Board *Board
	// Pages are what browsers get, by path, without a token; may be nil.
	Pages map[string]http.Handler
	// OpenAPI documents Routes, one part for each service; see [Document].
	OpenAPI []string
	// Parts names what there is on this node, for a page that shows no more than that; if it is nil there are scopes.
	Parts func() []string
	// PublicURL is where browsers reach this site, if a proxy replaces the host of their requests; may be empty.
	PublicURL string
	// Cluster is the name of all nodes together, for people; may be empty.
	Cluster string
	// Tokens may be nil or empty. Then every caller may do everything; see [CheckListen].
	Tokens *Tokens
	Logger *slog.Logger // default slog.Default()
	Clock  fence.Clock  // the electors'; default fence.Boottime

	// AnswerMax limits the validity of the act door's answers, and so, with a tenth added, the
	// delay of a handover; default fence.AnswerLife.
	AnswerMax  time.Duration
	Patience   time.Duration // limit for the database within a request; default 5 s
	KeepAlive  time.Duration // interval of comments on a silent event stream; default 15 s, and 5 s at most on those of pages
	MaxStreams int           // event streams at a time; default 64
}

func (c Config) withDefaults() Config {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Status == nil {
		c.Status = func(string) (election.Status, bool) { return election.Status{}, false }
	}
	c.Board = cmp.Or(c.Board, NewBoard())
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	c.AnswerMax = cmp.Or(c.AnswerMax, fence.AnswerLife)
	c.Patience = cmp.Or(c.Patience, 5*time.Second)
	c.KeepAlive = cmp.Or(c.KeepAlive, 15*time.Second)
	c.MaxStreams = cmp.Or(c.MaxStreams, 64)
	return c
}

// Validate lists every fault of the configuration, joined.
func (c Config) Validate() error {
	f := faults.List{Of: "web: "}
	f.Add(c.ID == "", "Config.ID is missing")
	f.Add(c.Electors == nil, "Config.Electors is missing")
	f.Add(c.Observe == nil, "Config.Observe is missing")
	f.Add(c.Metrics == nil, "Config.Metrics is missing")
	f.Add(c.AnswerMax < 0 || c.Patience < 0 || c.KeepAlive < 0 || c.MaxStreams < 0, "AnswerMax, Patience, KeepAlive and MaxStreams must not be below 0")
	return f.All()
}

// Site is what this process serves over HTTP.
type Site struct {
	cfg     Config
	reader  *reader
	feed    *feed
	shared  *shared
	streams chan struct{} // has an element for each open stream
	ending  chan struct{} // closed when streams must end
	end     func()

	document []byte // the OpenAPI document

	origin, host string // of Config.PublicURL
}

// New returns a site that serves nothing yet. Close it when its listeners have ended.
func New(cfg Config) (*Site, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := &Site{
		cfg: cfg, streams: make(chan struct{}, cfg.MaxStreams), ending: make(chan struct{}),
	}
	s.end = sync.OnceFunc(func() { close(s.ending) })
	if s.cfg.PublicURL != "" {
		u, err := PublicURL(s.cfg.PublicURL)
		if err != nil {
			return nil, err
		}
		s.origin, s.host = u.Scheme+"://"+u.Host, u.Hostname()
	}
	s.document = Document(cfg.OpenAPI...)
	s.reader = newReader(cfg.Observe, cfg.Patience)
	s.feed = newFeed(cfg.Observe, s.reader)
	s.shared = newShared(newReader(cfg.Observe, cfg.Patience), s.feed, cfg.Ask == nil, s.unlisted)
	return s, nil
}

// Close ends the event streams and the connections to the database.
func (s *Site) Close() {
	s.end()
	s.shared.close()
	s.feed.close()
	s.reader.close()
}
