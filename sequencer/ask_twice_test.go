package sequencer

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/internal/core"
)

// I10: a user is answered once. A core that answers twice is named in the log, and the node goes on.
func TestASecondAnswerEndsNoNode(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	told := 0
	n := &Node{waiting: map[uint64]waiting{}, cfg: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	ticket := n.ticket(waiting{do: func() { told++ }})
	for _, a := range []core.Act{
		core.Reached{Ticket: ticket}, core.Reached{Ticket: ticket}, core.Busy{Ticket: ticket}, core.Accepted{Ticket: ticket}, core.Again{Submit: core.Submit{Ticket: ticket}},
	} {
		n.act(a)
	}
	if named := strings.Count(log.String(), "answered twice"); told != 1 || named != 4 {
		t.Errorf("the user was told %d times, and the log names %d answers, want 1 and 4:\n%s", told, named, log.String())
	}
}
