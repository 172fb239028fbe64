//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/consortium"
	"github.com/conchhq/conch/cmd/conch/internal/lab/payer"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgraw"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
)

const (
	chainTime  = 250 * time.Millisecond // between two blocks of the chain on which contracts are
	chainDepth = 2
	// oneOrder is more blocks than any measurement lasts: the committee keeps one order.
	oneOrder = 1_000_000
	// landingMost bounds the wait for what a run has begun.
	landingMost = 10 * time.Minute
)

// group is some organisations with real nodes, and what has to be removed after them.
type group struct {
	*consortium.Group

	stage.Clearing

	cfg   Config
	site  *site // on whose server the databases are
	dir   string
	users []*user
}

// shape is the size of a group, how many of it have to endorse, and whether the first alone may coordinate.
type shape struct {
	members, needed int
	alone           bool
}

// openGroup founds organisations that share a contract. The caller closes the group,
// also after an error.
func openGroup(ctx context.Context, cfg Config, s *site, sh shape) (*group, error) {
	g := &group{cfg: cfg, site: s}
	var err error
	if g.dir, err = os.MkdirTemp("", "conch-bench-"); err != nil {
		return g, err
	}
	g.Afterwards(func() error { return os.RemoveAll(g.dir) })
	databases := make([]string, sh.members)
	for i := range databases {
		if databases[i], err = g.database(ctx); err != nil {
			return g, err
		}
	}
	g.Group, err = consortium.Open(ctx, consortium.Shape{
		Program: cfg.Conch, Devnode: cfg.Devnode, Dir: g.dir, Databases: databases, Needed: sh.needed, Alone: sh.alone,
		RangeSize: oneOrder, Life: oneOrder, Depth: chainDepth, BlockTime: chainTime,
	})
	g.Afterwards(g.Group.Close)
	if err != nil {
		return g, err
	}
	return g, g.meet(ctx)
}

func (g *group) database(ctx context.Context) (string, error) {
	url, drop, err := pgraw.CreateDatabase(ctx, g.site.url)
	if err == nil {
		g.Afterwards(drop)
	}
	return url, err
}

// status is what a node says of the contract.
type status struct {
	Coordinator string         `json:"coordinator"`
	Open        map[string]int `json:"open"`
}

func (g *group) status(ctx context.Context, m *consortium.Member) (s status, err error) {
	err = ask(ctx, m, http.MethodGet, "/v1/contracts/"+g.Contract, nil, &s)
	return s, err
}

// ask asks a node until it answers: on a busy machine one may lose its term, and has another one soon.
func ask(ctx context.Context, m *consortium.Member, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errNever)
	defer cancel()
	return consortium.Answered(ctx, func() error { return m.Ask(ctx, method, path, body, out) })
}

// meet waits until every node serves the contract and is connected with all others.
func (g *group) meet(ctx context.Context) error {
	for _, m := range g.Members {
		err := until(ctx, m.Name()+" has met the others", func() (bool, error) {
			if _, err := g.status(ctx, m); err != nil {
				return false, err
			}
			counts, err := g.counters(ctx, m)
			return counts.connected == len(g.Members)-1, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// post has a node accept a request.
func (g *group) post(ctx context.Context, m *consortium.Member, key, request string) (id string, err error) {
	var said struct{ ID string }
	body := fmt.Sprintf(`{"idempotency_key":%q,"request":%s}`, key, request)
	err = ask(ctx, m, http.MethodPost, g.transactions(), raw(body), &said)
	return said.ID, err
}

// transactions is where payments are asked for.
func (g *group) transactions() string { return "/v1/contracts/" + g.Contract + "/transactions" }

// raw is a body that is JSON already.
type raw string

// MarshalJSON implements json.Marshaler.
func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// user pays from one of two purses into the other, all that is there: one state goes, one comes.
type user struct {
	of   *consortium.Member
	name string
	paid int
}

func (u *user) next() (key, request string) {
	from, to := u.name+"-a", u.name+"-b"
	if u.paid%2 == 1 {
		from, to = to, from
	}
	u.paid++
	return fmt.Sprint(u.name, " ", u.paid), fmt.Sprintf(`{"pay":{"from":%q,"to":%q,"amount":%d}}`, from, to, wealth)
}

// wealth is what a user has.
const wealth = 100

// settle makes as many users for each organisation, and gives each a note.
func (g *group) settle(ctx context.Context, each int) error {
	issuer := g.Members[0]
	for _, m := range g.Members {
		for i := range each {
			g.users = append(g.users, &user{of: m, name: fmt.Sprint(m.Name(), "-", len(g.users), "-", i)})
		}
	}
	err := together(len(g.users), func(i int) error {
		_, err := g.post(ctx, issuer, "issue "+g.users[i].name, fmt.Sprintf(`{"issue":{"to":%q,"amount":%d}}`, g.users[i].name+"-a", wealth))
		return err
	})
	return errors.Join(err, g.ended(ctx))
}

// pay has every user hand in so many payments, one after the other, and returns when all have ended.
func (g *group) pay(ctx context.Context, each int) error {
	err := together(len(g.users), func(i int) error {
		u := g.users[i]
		for range each {
			key, request := u.next()
			if _, err := g.post(ctx, u.of, key, request); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, g.ended(ctx))
}

// together does something for each number below many at once.
func together(many int, do func(int) error) error {
	faults := make([]error, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() { faults[i] = do(i) })
	}
	all.Wait()
	return errors.Join(faults...)
}

// ended waits until no node has an open transaction.
func (g *group) ended(ctx context.Context) error {
	return within(ctx, landingMost, payer.Pace, "every payment has ended", func() (bool, error) {
		for _, m := range g.Members {
			s, err := g.status(ctx, m)
			if err != nil || len(s.Open) > 0 {
				return false, err
			}
		}
		return true, nil
	})
}
