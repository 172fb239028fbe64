package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
)

// Electors is what this process campaigns for; one or several electors.
type Electors interface {
	// Scopes lists every scope that has a role here, in any order.
	Scopes() []string
	// Gate is nil for any other scope.
	Gate(scope string) *fence.Gate
	StepDown(ctx context.Context, s election.StepDown) error
}

// History reads the state of scopes and their history from the database.
type History interface {
	Scopes(ctx context.Context, scope string) ([]pgops.ScopeStatus, error)
	History(ctx context.Context, scope string, limit int) ([]pgops.Event, error)
	Watch(ctx context.Context, scope string, fn func(pgops.Event) error) error
}

// Observer is a history with a connection of its own; *pgops.Observer is one. It
// is used by one goroutine at a time, and thrown away when it fails.
type Observer interface {
	History
	Close()
}

// Config describes a site. ID, Electors, Observe and Metrics are required.
type Config struct {
	ID       string // under which this process campaigns
	Version  string
	Electors Electors
	// Status says what a gate does not: since when nobody leads a scope, and why. Nil: nothing.
	Status func(scope string) (election.Status, bool)
	// Observe connects an observer; it is called again whenever one was lost.
	Observe func(ctx context.Context) (Observer, error)
	// Ask sends a drain or a transfer to the leader, as pgops.Ask does. It is nil on a node
	// without a database.
	Ask     func(ctx context.Context, r pgops.Request) error
	Metrics http.Handler
	// Routes of the node's services, beside those of the site itself.
	Routes []Route
	// OpenAPI documents those routes, one part for each service; see [Document].
	OpenAPI []string
	// Tokens say who may do what. Nil, or none in it: everybody who reaches the
	// listener may do everything, which CheckListen allows on loopback only.
	Tokens *Tokens
	Logger *slog.Logger // default slog.Default()
	Clock  fence.Clock  // the electors'; default fence.Boottime

	// AnswerMax is the longest that an answer of the act door is promised for, and so can
	// delay a handover, but for a tenth; default fence.AnswerLife.
	AnswerMax  time.Duration
	Patience   time.Duration // with the database, for one request; default 5 s
	KeepAlive  time.Duration // between comments on a silent event stream; default 15 s
	MaxStreams int           // event streams at a time; default 64
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Status == nil {
		c.Status = func(string) (election.Status, bool) { return election.Status{}, false }
	}
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	if c.AnswerMax == 0 {
		c.AnswerMax = fence.AnswerLife
	}
	if c.Patience == 0 {
		c.Patience = 5 * time.Second
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = 15 * time.Second
	}
	if c.MaxStreams == 0 {
		c.MaxStreams = 64
	}
	return c
}

// Validate lists every fault of the configuration, joined.
func (c Config) Validate() error {
	var faults []error
	missing := func(is bool, what string) {
		if is {
			faults = append(faults, errors.New("web: Config."+what+" is missing"))
		}
	}
	missing(c.ID == "", "ID")
	missing(c.Electors == nil, "Electors")
	missing(c.Observe == nil, "Observe")
	missing(c.Metrics == nil, "Metrics")
	if c.AnswerMax < 0 || c.Patience < 0 || c.KeepAlive < 0 || c.MaxStreams < 0 {
		faults = append(faults, errors.New("web: AnswerMax, Patience, KeepAlive and MaxStreams must not be below 0"))
	}
	return errors.Join(faults...)
}

// Site is what this process serves over HTTP.
type Site struct {
	cfg     Config
	reader  *reader
	feed    *feed
	streams chan struct{} // one slot a stream
	ending  chan struct{} // closed when streams are to end
	end     func()

	document []byte // of the API
}

// New checks the configuration and returns a site that serves nothing yet. Close
// it when its listeners have ended.
func New(cfg Config) (*Site, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := &Site{
		cfg: cfg, streams: make(chan struct{}, cfg.MaxStreams), ending: make(chan struct{}),
	}
	s.end = sync.OnceFunc(func() { close(s.ending) })
	s.document = Document(cfg.OpenAPI...)
	s.reader = newReader(cfg.Observe, cfg.Patience)
	s.feed = newFeed(cfg.Observe, s.reader)
	return s, nil
}

// Close ends the event streams and the connections to the database.
func (s *Site) Close() {
	s.end()
	s.feed.close()
	s.reader.close()
}
