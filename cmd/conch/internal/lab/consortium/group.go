//go:build unix

package consortium

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/devnode"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/internal/fleet"
)

// Shape describes a Group. Everything is required.
type Shape struct {
	Program, Devnode string        // of the nodes, and of the chain
	Dir              string        // gets the organisations' files; its path is short, since sockets are in it
	Databases        []string      // URL of an empty one for each organisation: up to MostMembers
	Needed           int           // endorsements
	Alone            bool          // only the first organisation may coordinate
	RangeSize, Life  int           // in blocks
	Depth            int           // that the chain calls final too
	BlockTime        time.Duration // between two blocks
}

// names are those of a group's organisations, after members.
var names = append(slices.Clone(members), "river", "hill", "lake", "coast", "plain")

// MostMembers is how many organisations a group has at most.
const MostMembers = 10

// Group is some organisations that share a contract, for measurements: with no customers, no faults, and nothing between
// their nodes. Its methods belong to one goroutine.
type Group struct {
	Chain    *devnode.Node
	Contract string // its address
	Members  []*Member

	site *site
}

// Member is an organisation of a group. Ask and Text may be called by several goroutines.
type Member struct {
	*organisation

	group *Group
}

// Open starts a chain, founds the organisations, deploys their contract and starts their nodes. The caller closes the
// group, also after an error.
func Open(ctx context.Context, shape Shape) (*Group, error) {
	g := &Group{site: &site{
		Cast: stage.NewCast[*organisation](2 * MostMembers), cfg: Config{Program: shape.Program, Devnode: shape.Devnode},
		terms: terms{needed: shape.Needed, rangeSize: shape.RangeSize, life: shape.Life},
	}}
	s := g.site
	if shape.Alone {
		s.terms.committee = names[:1]
	}
	err := s.StartChain(ctx, shape.Devnode, "--block-time", shape.BlockTime.String(), "--finality", fmt.Sprint(shape.Depth))
	if err != nil {
		return g, err
	}
	g.Chain = s.Chain
	for i, db := range shape.Databases {
		key := ""
		if i == 0 {
			key = s.Chain.PrivateKey // it has money
		}
		o, err := found(shape.Dir, names[i], key)
		if err != nil {
			return g, err
		}
		if err := g.furnish(ctx, o, db, s.Chain); err != nil {
			return g, err
		}
		if o.address, err = fleet.LowPort(ctx); err != nil {
			return g, err
		}
		s.All = append(s.All, o)
		g.Members = append(g.Members, &Member{o, g})
	}
	table, err := s.deploy(ctx)
	if err != nil {
		return g, err
	}
	g.Contract = s.contract
	for _, m := range g.Members {
		if err := m.write(s.Chain.ChainID, s.All, nil, table); err != nil {
			return g, err
		}
		if err := m.Start(); err != nil {
			return g, err
		}
	}
	return g, nil
}

// furnish gives an organisation a database with tables, its chain, and its node's API.
func (g *Group) furnish(ctx context.Context, o *organisation, db string, chain *devnode.Node) error {
	o.db, o.chain, o.level = db, chain.HTTP, "error"
	g.site.knows(o)
	if _, err := g.site.Output(ctx, g.site.cfg.Program, "migrate", "up", "--db", db); err != nil {
		return fmt.Errorf("conch migrate up: %w", err)
	}
	return nil
}

// Twin starts another node for a member's account, with an empty database, on another chain, without the contract. It ends
// with the group.
func (g *Group) Twin(ctx context.Context, of *Member, chain *devnode.Node, db string) (*Member, error) {
	o := &organisation{Player: stage.Player{Name: of.Name()}, account: of.account, dir: of.dir + "-twin", log: of.log}
	if err := os.Mkdir(o.dir, 0o700); err != nil {
		return nil, err
	}
	for _, name := range []string{"account.json", "password"} {
		text, err := os.ReadFile(filepath.Join(of.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(o.dir, name), text, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	o.listen = "unix:" + filepath.Join(o.dir, "api")
	if err := g.furnish(ctx, o, db, chain); err != nil {
		return nil, err
	}
	g.site.All = append(g.site.All, o)
	m := &Member{o, g}
	if err := m.write(chain.ChainID, nil, nil, ""); err != nil {
		return nil, err
	}
	return m, m.Start()
}

// Close ends all and reports nothing but what it could not end.
func (g *Group) Close() error { return g.site.clear() }

// Account is the organisation's, on the chain, in lower case.
func (m *Member) Account() string { return m.account }

// Name is the organisation's.
func (m *Member) Name() string { return m.organisation.Name }

// PID is the node's process. The node runs.
func (m *Member) PID() int { return m.Process.PID() }

// Start starts the node.
func (m *Member) Start() error { return m.group.site.start(m.organisation) }

// Kill kills the node with -9 and returns when that was asked for, and when the process has ended.
func (m *Member) Kill(ctx context.Context) (at time.Time, err error) {
	at = time.Now()
	m.organisation.Kill()
	if err = m.Process.Wait(ctx); err == nil {
		m.Bury()
	}
	return at, err
}

// Ask asks the node's API, and decodes its answer.
func (m *Member) Ask(ctx context.Context, method, path string, body, out any) error {
	return m.api.Ask(ctx, method, path, body, out)
}

// Answered tries something again until it succeeds, is refused, or the context ends.
func Answered(ctx context.Context, do func() error) error { return untilAnswered(ctx, do) }

// Text returns a page that the node serves.
func (m *Member) Text(ctx context.Context, path string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.api.Base+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := m.api.Client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", m.Name(), answer.Status)
	}
	return string(text), err
}
