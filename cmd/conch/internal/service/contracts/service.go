package contracts

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/certificate"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/pgstore"
)

//go:embed openapi.yaml
var openAPI string

// Kind is the service of [[contracts]].
func Kind() node.Kind {
	return node.Kind{
		Section: func() config.Section { return new(Section) },
		Check:   check,
		Examine: examine,
		Tables:  &pgstore.Tables,
		OpenAPI: openAPI,
		Open:    open,
	}
}

func open(f node.Frame) node.Service {
	s := &service{frame: f}
	f.Board.Offer(kindContract, newAPI(s, f.Log).selects)
	if f.Accounts != nil {
		f.Accounts.Excuse(s.harmless)
	}
	return s
}

// check reports accounts that cannot be used.
func check(c config.Config, fault func(key string, err error)) {
	s := config.Of[*Section](c)
	for i, a := range s.contracts {
		fault(fmt.Sprintf("contracts[%d].account", i), accountFault(c, s.self(), a))
	}
}

// accountFault returns why a member cannot sign with the account that its contract names.
func accountFault(c config.Config, self string, a Agreed) error {
	account, signs, err := node.Offered(c, a.Account)
	switch {
	case err != nil:
		return err
	case !signs:
		return fmt.Errorf("the key of %q is in an external signer, which signs transactions alone: name an account with a keystore", a.Account)
	case ledger.Account(account.Address) != a.accountOf(self):
		return fmt.Errorf("%q is %v, and accounts says that %s is %v: correct one of them", a.Account, account.Address, self, a.accountOf(self))
	}
	return nil
}

// service is the part of a process in the node of its organisation.
type service struct {
	node.Plain
	frame node.Frame

	mu      sync.Mutex
	section Section
	chains  map[string]string // of the contracts' accounts: what the configuration calls them
	term    *term             // while this process leads
}

// harmless reports whether a call is one of this service's own, which do no harm when they are done twice: a contract takes
// each of its entries once, and a nudge gives nothing to its own account.
func (s *service) harmless(call chain.Call) bool {
	if call.Value != nil && call.Value.Sign() != 0 {
		return false
	}
	to := chain.Account(call.To).String()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.section.contracts, func(a Agreed) bool {
		self := chain.Account(a.accountOf(s.section.self()))
		return strings.EqualFold(a.Address, to) || self.String() == to && len(call.Data) == 0
	})
}

// Prepare implements node.Service.
func (s *service) Prepare(_ context.Context, c config.Config) (apply func(), err error) {
	next := *config.Of[*Section](c)
	chains := map[string]string{}
	for _, a := range next.contracts {
		if account, _, err := node.Offered(c, a.Account); err == nil {
			chains[a.Account] = account.Chain
		}
	}
	s.mu.Lock()
	running := s.term
	before := s.section
	s.mu.Unlock()
	if running != nil && !sameContracts(before, next) {
		s.frame.Log.Warn("[[contracts]] and [identity] are read again when the node starts: restart it to change them")
	}
	return func() {
		s.mu.Lock()
		s.section, s.chains = next, chains
		running := s.term
		s.mu.Unlock()
		if running == nil {
			return
		}
		if err := running.reload(next); err != nil {
			s.frame.Log.Error("the peers stay as they were", slog.Any("error", err))
		}
	}, nil
}

func sameContracts(a, b Section) bool {
	return a.peers.Identity == b.peers.Identity && slices.EqualFunc(a.contracts, b.contracts, func(x, y Agreed) bool { return fmt.Sprint(x) == fmt.Sprint(y) })
}

// Work implements node.Service.
func (s *service) Work(r config.Role, _ func(error)) (node.Work, func(context.Context)) {
	if _, is := r.Does.(Organisation); !is {
		return nil, nil
	}
	return s.lead, nil
}

// Routes implements node.Service.
func (s *service) Routes() []web.Route { return newAPI(s, s.frame.Log).routes() }

// Collectors implements node.Service.
func (s *service) Collectors() []prometheus.Collector { return []prometheus.Collector{&collector{s}} }

// Papers implements node.Service.
func (s *service) Papers(now time.Time) []certificate.Paper {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term == nil {
		return nil
	}
	return peers.Shown(s.term.endpoint, now)
}

// Contracts implements office.
func (s *service) Contracts() (all []declared, self ledger.Account, n names) {
	s.mu.Lock()
	section, chains := s.section, s.chains
	if s.term != nil { // a reload does not change what the node has begun with
		section = s.term.section
	}
	s.mu.Unlock()
	for _, a := range section.contracts {
		all = append(all, declared{declaration(a, 0), chains[a.Account]}) // the account itself is not asked for: that opens its key
		self = a.accountOf(section.self())
	}
	slices.SortFunc(all, func(a, b declared) int { return strings.Compare(a.Address, b.Address) })
	return all, self, namesIn(section)
}

// Node implements office.
func (s *service) Node() running {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term == nil {
		return nil
	}
	return s.term.node
}
