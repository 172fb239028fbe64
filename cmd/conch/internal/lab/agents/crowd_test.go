//go:build unix

package agents

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
)

func open(t *testing.T, nodes, electors int) *Crowd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), Shape{Program: program, Command: command, Dir: t.TempDir(), Nodes: nodes, Electors: electors})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Real agents over mutual TLS name a leader, which is killed; all name another one, the killed one too when it is back; and
// news is at all, once.
func TestACrowd(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	t.Parallel()
	c := open(t, 6, 3)
	if c.Cold <= 0 {
		t.Errorf("all named a leader after %s", c.Cold)
	}
	took, err := c.Kill(t.Context())
	if err != nil || took <= 0 {
		t.Fatalf("a killed leader was replaced after %s, %v", took, err)
	}
	for i := range 3 {
		took, missed, err := c.Publish(t.Context(), i)
		if err != nil || missed > 0 || len(took) != 5 || slices.Min(took) <= 0 {
			t.Errorf("news took %v, %d have missed it, %v; want a time of each other agent", took, missed, err)
		}
	}
	before, err := c.Sent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Publish(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	after, err := c.Sent(t.Context())
	if err != nil || after.Messages < before.Messages+5 || after.Bytes < before.Bytes+5*100 {
		t.Errorf("%+v was sent, then %+v, %v; want at least a statement for each other agent more", before, after, err)
	}
	edges := 0
	for i, neighbours := range c.Graph() {
		for _, j := range neighbours {
			if j <= i {
				t.Errorf("%d has the neighbour %d, which is not after it", i, j)
			}
			edges++
		}
	}
	if edges < 5 {
		t.Errorf("there are %d connections between six agents", edges)
	}
	if len(c.PIDs()) != 4 {
		t.Errorf("got processes %v, want this one and three", c.PIDs())
	}
}

// An agent that ends by itself is no agent at rest, and nobody waits for it.
func TestAnAgentThatEndsIsNamed(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	c := open(t, 4, 3)
	c.children["agent-2"].CloseStdin()
	<-c.children["agent-2"].Over()
	began := time.Now()
	if _, _, err := c.agree(t.Context(), 5); !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "agent-2") {
		t.Errorf("got %v after %s, want that agent-2 has ended", err, time.Since(began))
	}
}
