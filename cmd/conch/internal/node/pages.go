package node

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/pgfacts"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election/pgmint"
)

// OpenAPI documents the routes of the frame.
//
//go:embed openapi.yaml
var OpenAPI string

const (
	examPatience = 20 * time.Second // for all that a doctor asks
	examFresh    = 10 * time.Second // for how long what it found is answered again
)

func (n *Node) routes() []web.Route {
	exam := &exams{node: n}
	return []web.Route{
		{Method: http.MethodGet, Path: "/v1/doctor", Serve: exam.get},
		{Method: http.MethodGet, Path: "/v1/config", Serve: n.getConfig},
	}
}

// about is what operators are shown of this process.
func (n *Node) about() pgmint.About {
	n.shown.Lock()
	defer n.shown.Unlock()
	about := pgmint.About{Version: n.opts.Version, Address: n.shown.address, Settings: n.shown.settings}
	if lost := n.opts.LostLines; lost != nil {
		about.LinesLost = leastLost(lost())
	}
	return about
}

// leastLost rounds down to a power of two, so that a log that nobody reads is news a few times, and not with every line.
func leastLost(lines uint64) int64 {
	if lines == 0 {
		return 0
	}
	return 1 << min(bits.Len64(lines)-1, 62)
}

// shown is what others are shown of a node, and may ask for while it reloads.
type shown struct {
	sync.Mutex
	address  string
	settings string
	cfg      config.Config
}

// show notes the configuration in force.
func (n *Node) show(c config.Config) {
	n.shown.Lock()
	defer n.shown.Unlock()
	n.shown.cfg, n.shown.settings = c, settingsOf(c)
}

// parts names what there is on this node, for a page that has no tab for anything else.
func (n *Node) parts() []string {
	n.shown.Lock()
	defer n.shown.Unlock()
	all := append(n.shown.cfg.Tables(), "doctor")
	if c := n.shown.cfg; c.UsesDatabase() || len(c.Scopes()) > 0 {
		all = append(all, "jobs", "scopes")
	}
	return all
}

// settingsOf hashes what nodes should have in common. What a role does is left out: it may have paths and keys of one machine.
func settingsOf(c config.Config) string {
	var common []string
	for _, r := range c.Settled() {
		common = append(common, fmt.Sprintf("%q %q %t %t %q %q %s %s %+v %s %s", r.Scope, r.Section, r.Fenced, r.Kept, r.Preferred, r.Never, r.StallAfter, r.Lease,
			r.ElectorSettings(), r.LateThreshold, r.Name))
	}
	slices.Sort(common)
	d := c.Database
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %s %s %q", common, d.ListenChannel, d.Locks, c.Node.Cluster))
	return hex.EncodeToString(sum[:6])
}

// exams has a doctor look once for all who ask within a few seconds.
type exams struct {
	node *Node
	mu   sync.Mutex
	at   time.Time
	last []doctor.Finding
}

func (e *exams) get(w http.ResponseWriter, r *http.Request) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last == nil || time.Since(e.at) > examFresh {
		ctx, cancel := context.WithTimeout(r.Context(), examPatience)
		defer cancel()
		at := time.Now()
		found := e.node.examine(ctx)
		if err := r.Context().Err(); err != nil { // what it did not wait for is no finding
			return err
		}
		e.at, e.last = at, found
	}
	return web.Answer(w, http.StatusOK, struct {
		AsOf     time.Time        `json:"as_of"`
		Findings []doctor.Finding `json:"findings"`
	}{e.at.UTC(), e.last})
}

// examine finds what conch doctor does, with the configuration in force.
func (n *Node) examine(ctx context.Context) []doctor.Finding {
	n.shown.Lock()
	cfg := n.shown.cfg
	n.shown.Unlock()
	return slices.Concat(doctor.Judge(Facts(ctx, cfg)), Examine(ctx, cfg, n.opts.Kinds))
}

// Facts gathers what a doctor has to know of the database of a configuration.
func Facts(ctx context.Context, cfg config.Config) doctor.Facts {
	if !cfg.UsesDatabase() {
		return doctor.Facts{Standalone: cfg.Node.Standalone, Unled: !cfg.Node.Standalone}
	}
	facts, _ := pgfacts.Gather(ctx, cfg.Database) // the facts include the error
	return facts
}

// Examine finds what a doctor does beside the database: in certificates, and in what services of these kinds look at.
func Examine(ctx context.Context, cfg config.Config, kinds []Kind) (found []doctor.Finding) {
	for _, p := range Papers(cfg, kinds, time.Now()) {
		found = append(found, p.Finding())
	}
	for _, k := range kinds {
		if k.Examine != nil {
			found = append(found, k.Examine(ctx, cfg)...)
		}
	}
	return found
}

// setting is a key of the configuration in force.
type setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// getConfig shows the keys that are named below, and no others: what is new in a file is not shown until somebody has thought of it.
func (n *Node) getConfig(w http.ResponseWriter, _ *http.Request) error {
	n.shown.Lock()
	cfg := n.shown.cfg
	n.shown.Unlock()
	out := struct {
		Hash     string    `json:"settings"`
		Settings []setting `json:"keys"`
	}{settingsOf(cfg), []setting{}}
	add := func(key, value string) {
		out.Settings = append(out.Settings, setting{key, value, cfg.Origin(key)})
	}
	node, e, d := cfg.Node, cfg.Election, cfg.Database
	add("node.instance_id", n.id)
	add("node.listen", node.Listen)
	add("node.ops_listen", node.OpsListen)
	add("node.public_url", node.PublicURL)
	add("alerting.cluster", node.Cluster)
	add("node.standalone", fmt.Sprint(node.Standalone))
	add("metrics.per_scope", map[bool]string{false: "full", true: "gauges"}[node.GaugesOnly])
	add("node.answer_max", cfg.AnswerMax().String())
	add("election.lease", span(e.Lease))
	add("election.heartbeat", span(e.Heartbeat))
	add("election.late_threshold", span(e.LateThreshold))
	add("election.check_interval", span(e.CheckInterval))
	add("election.takeover", string(e.Takeover))
	add("election.locks", string(d.Locks))
	add("election.lock_budget", fmt.Sprint(d.LockBudget))
	places := cfg.Places()
	for i, r := range cfg.Settled() {
		at := places[i] + "."
		add(at+"name", r.Name)
		add(at+"scope", r.Scope)
		add(at+"lease", span(r.Lease))
		add(at+"takeover", string(r.Takeover))
		add(at+"preferred", strings.Join(r.Preferred, ", "))
	}
	return web.Answer(w, http.StatusOK, out)
}

// span writes a duration; empty: what follows from other keys.
func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
