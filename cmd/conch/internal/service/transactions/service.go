package transactions

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/pgcrowd"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/secretfile"
	"github.com/conchhq/conch/pending/pgstore"
)

//go:embed openapi.yaml
var openAPI string

// Kind is the service of [[chains]], [[accounts]] and [[webhooks]].
func Kind() node.Kind { return kindOf(nil) }

// kindOf reaches chains by dial, or as configured if dial is nil.
func kindOf(dial func(Chain) (chain.Chain, error)) node.Kind {
	return node.Kind{
		Section: func() config.Section { return new(Section) },
		Check:   check,
		Examine: examine,
		Tables:  &pgstore.Tables,
		OpenAPI: openAPI,
		Open: func(f node.Frame) node.Service {
			return newService(f, dial)
		},
	}
}

// check reports password files and secrets that every user may read, or that are none.
func check(c config.Config, fault func(key string, err error)) {
	for i, a := range config.Of[*Section](c).accounts {
		if a.PasswordFile != "" {
			_, err := secretfile.Line(a.PasswordFile)
			fault(fmt.Sprintf("accounts[%d].password_file", i), err)
		}
	}
	for i, w := range config.Of[*Section](c).webhooks {
		w.keys(func(key string, err error) { fault(fmt.Sprintf("webhooks[%d].%s", i, key), err) })
	}
}

type service struct {
	node.Plain
	frame        node.Frame
	dial         func(Chain) (chain.Chain, error)
	chains       chains
	keyring      *keyring
	managers     *managers
	accounts     *accounts
	transactions *transactions
	news         *news
	webhooks     *webhooks
	counts       *counts
	series       *series
	signing      *signing
	sharing      *sharing // nil on a standalone node
	upkeep       upkeep
}

func newService(f node.Frame, dial func(Chain) (chain.Chain, error)) *service {
	s := &service{frame: f, dial: dial, keyring: newKeyring(), managers: newManagers(), upkeep: upkeep{at: f.Database}}
	s.accounts = newAccounts(f, s.managers)
	s.news = newNews(s.accounts, f.Board)
	s.accounts.news = s.news
	s.webhooks = newWebhooks(f.Log, s.accounts, s.news)
	s.accounts.told = func() { s.news.rung.Ring(); s.webhooks.wake() }
	s.transactions = &transactions{
		node: f.ID, accounts: s.accounts, managers: s.managers,
		reasons: newReasons(s.replay), receipts: newReceipts(s.receipt), standings: newStandings(s.accountStates), lives: s.lives,
		quotes: newQuotes(s.quote), policies: newPolicies(s.accounts.policyOf, s.accounts.spentOfPolicy),
	}
	s.news.sees = s.transactions.forStream
	s.counts = newCounts(s.accounts)
	s.transactions.alarmsOf = s.counts.alarmsOf
	s.series = newSeries(s.counts)
	if f.Go != nil {
		f.Go(func() { s.series.follow(f.Over) })
	}
	s.signing = newSigning(s.accounts)
	s.chains.signed = s.signing.took
	if f.Accounts != nil {
		f.Accounts.Offer(s.offer)
	}
	if f.Database != nil {
		crowd := pgcrowd.New(f.Database.Connection(" calls"))
		s.sharing = newSharing(crowd)
		f.Go(func() {
			defer crowd.Close(f.Over)
			s.sharing.run(f.Over)
		})
	}
	return s
}

// Prepare implements node.Service.
func (s *service) Prepare(ctx context.Context, c config.Config) (apply func(), err error) {
	accounts := config.Of[*Section](c).accounts
	if s.dial == nil {
		if err := s.keyring.openAll(ctx, c, accounts, s.keyAway); err != nil {
			return nil, err
		}
	}
	if err := s.compareChains(ctx, accounts); err != nil {
		return nil, err
	}
	useHooks, err := s.webhooks.prepare(config.Of[*Section](c))
	if err != nil {
		return nil, err
	}
	useAccounts, err := s.accounts.prepare(accounts)
	if err != nil {
		return nil, err
	}
	return func() { useAccounts(); useHooks() }, nil
}

// keyAway tells that a service of keys does not sign now.
func (s *service) keyAway(a Account, err error) {
	s.frame.Log.Error("KEY UNREACHABLE: transactions are accepted, and none is signed", slog.String("account", a.Name), slog.Any("error", err))
}

// Work implements node.Service.
func (s *service) Work(r config.Role, _ func(error)) (node.Work, func(context.Context)) {
	if r.Does == (deliveries{}) {
		return s.webhooks.lead, nil
	}
	a, _ := r.Does.(Account)
	one := &sender{service: s, account: a}
	return one.lead, one.attend
}

// Routes implements node.Service.
func (s *service) Routes() []web.Route { return newAPI(s, s.frame.Log).routes() }

// Collectors implements node.Service.
func (s *service) Collectors() []prometheus.Collector {
	return []prometheus.Collector{&collector{s.counts.backlogs, s.counts.alarms}, hookCollector{s.webhooks}, s.signing}
}

// Health implements node.Service.
func (*service) Health() any { return nil }

// Close implements node.Service.
func (s *service) Close() {
	s.accounts.close()
	s.upkeep.close()
}
