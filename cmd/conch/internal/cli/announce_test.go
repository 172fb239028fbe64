//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// A person at a terminal is told once which leader a run waits for, and once when it leads.
func TestAnnouncements(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &announcer{say: func(f string, v ...any) { _, _ = fmt.Fprintln(&out, Row(f, v...)) }, id: "one"}
	for _, f := range []election.Fact{
		{Kind: election.Following, Scope: "crons", Holder: "two"},
		{Kind: election.Following, Scope: "crons", Holder: "two"},
		{Kind: election.Retrying},
		{Kind: election.Acquired, Scope: "crons", Token: fence.Token{Epoch: 4}, Hold: 3 * time.Second},
		{Kind: election.Lost, Scope: "crons"},
		{Kind: election.Following, Scope: "crons", Holder: "three"},
		{Kind: election.Acquired, Scope: "crons", Token: fence.Token{Epoch: 6}},
	} {
		a.fact(f)
	}
	const want = "conch: one waits for \"crons\", which two leads\n" +
		"conch: one leads \"crons\" (epoch 4), and may act in 3s\n" +
		"conch: one waits for \"crons\", which three leads\n" +
		"conch: one leads \"crons\" (epoch 6)\n"
	if out.String() != want {
		t.Errorf("got the announcements:\n%s", out.String())
	}
}
