package transactions

import (
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net/url"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/endpoints"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// Endpoint is one of the urls of a chain.
type Endpoint struct {
	URL     string // may carry a secret
	Weight  int    // reads prefer a higher one; 0: 1
	Private bool   // bytes are sent to private ones alone, if there are any
	Budget  Budget
}

// mostEndpoints bounds the endpoints of a chain: a Chain is compared with another one.
const mostEndpoints = 8

// places returns the chain's endpoints.
func (c Chain) places() (all []Endpoint) {
	for _, e := range c.Endpoints {
		if e.URL != "" {
			all = append(all, e)
		}
	}
	return all
}

// names returns a name for each endpoint: its scheme and host, which are no secret, and a number if
// another one has the same.
func (c Chain) names() (names []string) {
	for i, e := range c.places() {
		name := fmt.Sprintf("endpoint %d", i+1)
		if u, err := url.Parse(e.URL); err == nil && u.Host != "" {
			name = u.Scheme + "://" + u.Host
		}
		if slices.Contains(names, name) {
			name = fmt.Sprintf("%s (%d)", name, i+1)
		}
		names = append(names, name)
	}
	return names
}

// readURL reads url, the short form for one endpoint.
func readURL(d *config.Decoder, to *Chain) config.Setter {
	return func(place string, value any) {
		if to.Endpoints[0].URL != "" {
			d.Fault(place, "there are urls too: keep one of the two keys")
			return
		}
		d.Text(&to.Endpoints[0].URL)(place, value)
	}
}

// readURLs reads a list of URLs, or of tables with url, weight and private.
func readURLs(d *config.Decoder, to *Chain) config.Setter {
	return func(place string, value any) {
		list, is := value.([]any)
		switch {
		case !is || len(list) == 0:
			d.Fault(place, `write a list: ["https://one.example", {url = "https://two.example", weight = 2}]`)
			return
		case to.Endpoints[0].URL != "":
			d.Fault(place, "there is a url too: keep one of the two keys")
			return
		case len(list) > mostEndpoints:
			d.Fault(place, "%d endpoints are more than a chain can have: keep %d", len(list), mostEndpoints)
			return
		}
		for i, v := range list {
			e, here := &to.Endpoints[i], fmt.Sprintf("%s[%d]", place, i)
			if _, text := v.(string); text {
				d.Text(&e.URL)(here, v)
				continue
			}
			keys := map[string]config.Setter{"url": d.Text(&e.URL), "weight": d.Count(&e.Weight), "private": d.Flag(&e.Private)}
			maps.Copy(keys, budgetKeys(d, &e.Budget))
			d.Table(here, v, keys)
		}
	}
}

// validateEndpoints refuses what is no URL, and an endpoint twice. A URL may have a secret, so no fault
// quotes it.
func validateEndpoints(d *config.Decoder, place string, c Chain) {
	all := c.places()
	if len(all) == 0 {
		d.Fault(place+".url", "is not a URL such as http://127.0.0.1:8545 or wss://node.example")
		return
	}
	for i, e := range all {
		here := place + ".url"
		if len(all) > 1 {
			here = fmt.Sprintf("%s.urls[%d]", place, i)
		}
		if u, err := url.Parse(e.URL); err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
			d.Fault(here, "is not a URL such as http://127.0.0.1:8545 or wss://node.example")
		}
		if first := slices.IndexFunc(all, func(other Endpoint) bool { return other.URL == e.URL }); first < i {
			d.Fault(here, "is urls[%d] once more: two answers of one endpoint are no two opinions", first)
		}
	}
}

// connect makes the driver of a chain: of its endpoint, or of all of them. shared, unless nil, keeps
// each to its share.
func connect(c Chain, trouble func(error), keys *evm.Keys, shared func(Chain, Endpoint, *evm.Chain) chain.Chain) (chain.Chain, error) {
	var members []endpoints.Endpoint
	for i, name := range c.names() {
		e := c.places()[i]
		one, err := evm.New(evmConfig(c, e, keys))
		if err != nil {
			for _, m := range members {
				disconnect(m.Chain)
			}
			return nil, err
		}
		member := endpoints.Endpoint{Name: name, Chain: one, Weight: e.Weight, Private: e.Private}
		if shared != nil {
			member.Chain = shared(c, e, one)
		}
		members = append(members, member)
	}
	if len(members) == 1 {
		return members[0].Chain, nil
	}
	return endpoints.New(endpoints.Config{Endpoints: members, Trouble: trouble})
}

func evmConfig(c Chain, e Endpoint, keys *evm.Keys) evm.Config {
	budget := e.Budget.over(c.Budget)
	return evm.Config{
		MaxCallsPerSecond: float64(budget.Calls), Costs: budget.costs(),
		URL: e.URL, ChainID: uint64(c.ChainID), Keys: keys,
		Depth: uint64(c.Finality), Instant: c.Instant, MinDepth: uint64(c.MinDepth), StillAfter: c.StillAfter, MinTip: new(big.Int).SetUint64(c.MinTip),
	}
}

// aboutEndpoints logs the trouble of one of several endpoints. The chain goes on without it.
func (s *service) aboutEndpoints(c Chain) func(error) {
	return func(err error) {
		s.frame.Log.Warn("an endpoint is not used", slog.String("chain", c.Name), slog.String("error", err.Error()))
	}
}
