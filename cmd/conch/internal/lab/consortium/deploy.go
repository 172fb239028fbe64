//go:build unix

package consortium

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
)

// deploy has the first organisation's node pay for the others and create the contract. It returns the table for the
// members' configurations, as conch contract deploy prints it.
func (s *site) deploy(ctx context.Context) (table string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, warmup, fmt.Errorf("the contract was not deployed within %s", warmup))
	defer cancel()
	first := s.All[0]
	if err := first.write(s.Chain.ChainID, nil, nil, ""); err != nil {
		return "", err
	}
	if err := s.start(first); err != nil {
		return "", err
	}
	for _, o := range s.All[1:] {
		if err := s.fund(ctx, first, o); err != nil {
			return "", err
		}
	}
	url := first.listen
	if !strings.HasPrefix(url, "unix:") {
		url = "http://" + url
	}
	args := []string{
		"contract", "deploy", "--node", url, "--account", "ops", "--issuer", first.Name, "--endorsement", fmt.Sprint(s.terms.needed),
		"--range-size", fmt.Sprint(s.terms.rangeSize), "--life", fmt.Sprint(s.terms.life), "--key", "demo",
	}
	if s.terms.depth > 0 {
		args = append(args, "--depth", fmt.Sprint(s.terms.depth))
	}
	for _, name := range s.terms.committee {
		args = append(args, "--committee", name)
	}
	for _, o := range s.All {
		args = append(args, "--member", o.Name+"="+o.account)
	}
	out, err := s.Output(ctx, s.cfg.Program, args...)
	if err != nil {
		return "", fmt.Errorf("conch contract deploy: %w", err)
	}
	table = string(out)
	if _, rest, found := strings.Cut(table, `address     = "`); found {
		s.contract, _, _ = strings.Cut(rest, `"`)
	}
	if s.contract == "" {
		return "", fmt.Errorf("conch contract deploy has printed no address: %s", table)
	}
	return strings.Replace(table, `account     = ""`, `account     = "ops"`, 1), s.end(ctx, first)
}

// fund has the first organisation pay another one, whose node pays for what it sends.
func (s *site) fund(ctx context.Context, first, o *organisation) error {
	body := map[string]string{"account": "ops", "to": o.account, "value": "1000000000000000000", "idempotency_key": "fund-" + o.Name}
	var sent struct{ ID, Fate, Outcome string }
	if err := untilAnswered(ctx, func() error { return first.api.Ask(ctx, http.MethodPost, "/v1/transactions", body, &sent) }); err != nil {
		return fmt.Errorf("paying %s: %w%s", o.Name, err, first.Said())
	}
	return untilAnswered(ctx, func() error {
		if err := first.api.Ask(ctx, http.MethodGet, "/v1/transactions/"+sent.ID, nil, &sent); err != nil {
			return err
		}
		if sent.Outcome != "succeeded" {
			return fmt.Errorf("the payment to %s is %s %s", o.Name, sent.Fate, sent.Outcome)
		}
		return nil
	})
}

// untilAnswered tries something again until it succeeds, is refused, or the context ends.
func untilAnswered(ctx context.Context, do func() error) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		err := do()
		if _, refused := errors.AsType[*nodeapi.RefusedError](err); err == nil || refused {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
