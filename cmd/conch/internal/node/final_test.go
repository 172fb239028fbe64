//go:build unix

package node_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

var (
	errResult = errors.New("the result")
	errWhy    = errors.New("its work is done")
)

// final is a service whose role ends the node.
type final struct{ node.Plain }

func (final) Work(config.Role, func(error)) (node.Work, func(context.Context)) {
	return func(context.Context, election.Leadership) error {
		return &node.FinalError{Result: errResult, Why: errWhy}
	}, nil
}

// A role that returns a FinalError ends its node: Run returns the result, and the history has the reason.
func TestAFinalRoleEndsItsNode(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	led := config.Config{
		Database: pgmint.Config{URL: db.URL}, Named: true, Election: election.Config{ID: "n1"},
		Node: config.Node{Listen: config.Off}, Sections: []config.Section{configtest.Plain("final", trial("a"))},
	}
	alone := config.Config{Node: config.Node{Listen: config.Off, Standalone: true}, Sections: led.Sections}
	for name, cfg := range map[string]config.Config{"elected": led, "standalone": alone} {
		if err := node.Run(t.Context(), node.Options{
			Kinds: []node.Kind{kindOf("final", final{})}, Config: cfg, Log: slog.New(slog.DiscardHandler),
		}); !errors.Is(err, errResult) {
			t.Errorf("%s: Run returned %v, want the role's result", name, err)
		}
	}
	o, err := pgops.Observe(t.Context(), led.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	events, err := o.History(t.Context(), "a", 10)
	if err != nil || len(events) != 2 || events[1].Reason != "stepping down: "+errWhy.Error() {
		t.Errorf("the history is %+v, %v; want a release with the role's reason", events, err)
	}
}
