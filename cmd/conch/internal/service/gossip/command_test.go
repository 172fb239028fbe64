package gossip

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/transport/mtls"
)

// clock is a second of 1970 as people are told it.
func clock(second int64) string { return cli.Clock(time.Unix(second, 0)) }

// B7, B21: people see who is suggested, since when, when it was heard last, and how often it has changed.
func TestStatusForPeople(t *testing.T) {
	t.Parallel()
	n := nodesOf(new(fakeMember), new(world).Twins(), time.Unix(90, 0))
	rows := rowsOf(n)
	want := []string{"default\tn2\t4\tfollowing\t", "\t120ms ago\t2\tn1, " + key3}
	if len(rows) != 2 || !strings.HasPrefix(rows[0], want[0]) || !strings.HasSuffix(rows[0], want[1]) {
		t.Errorf("got the rows %q", rows)
	}
	if rows[1] != "empty\tnobody is known\t0\tstanding back for 3s more\t-\t-\t0\tall" {
		t.Errorf("got the row %q", rows[1])
	}
	lines := linesOf(n)
	if want := []string{
		"n1 has 1 neighbour: n2",
		"n2 has other electors, round in [gossip] than n1",
		"  → correct one of both",
		"two hosts have the key or the name of n9, and one of them is not heard (last seen " + clock(4) + ")",
		"  → give each an identity of its own",
		"two hosts had the key or the name of n8 until " + clock(3) + ": one of them has gone since",
		`news of n2 under default/flag, 40ms ago: "blue"`,
		"refused since the start: signature 3",
		"This is a hint: another node may name another leader for a while.",
	}; !slices.Equal(lines, want) {
		t.Errorf("got the lines\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range []struct {
		change func(*Nodes)
		says   string
	}{
		{func(n *Nodes) { n.Neighbours = nil }, "n1 has no neighbour yet: it tries to join"},
		{func(n *Nodes) { n.Neighbours, n.Overlay.Joining = nil, false }, "n1 has no neighbour"},
		{func(n *Nodes) {
			n.Namespaces[0].MajorityLost, n.Namespaces[0].ElectorsSilent = new(time.Unix(7, 0)), []string{"n3"}
		},
			"n1 hears 1 of the 2 electors of default, itself counted, and a new leader needs 2: no majority since " + clock(7) + "; silent: n3\n  → start those nodes"},
		{func(n *Nodes) {
			n.Namespaces[0].Leader, n.Namespaces[0].State, n.Namespaces[0].UnledSince = nil, "bystander", new(time.Unix(7, 0))
		}, "n1 hears no leader of default since " + clock(7) + ", and is none of the electors"},
		{func(n *Nodes) { n.Unreached[0].Why = string(mtls.RefusedUs) }, "n3 refuses this node since " + clock(5) + ": most likely they do not expect the key"},
		{func(n *Nodes) {
			n.Neighbours, n.Unreached = nil, append(n.Unreached, Unreached{Name: "n2", Why: string(mtls.RefusedUs)})
		}, "n1 has no neighbour, since no contact lets it in: n3 does not answer; n2 refuses this node\n  → start a node that does not answer, and open its port for this one; a contact that refuses"},
		{func(n *Nodes) {
			n.Neighbours, n.Contacts, n.Unreached[0].Why = nil, []string{"n3"}, string(mtls.Expired)
		}, "n3 shows a certificate that has ended, or that of its CA has\n  → renew a certificate that has ended on its own node, or correct the clock here"},
		{func(n *Nodes) {
			n.Neighbours, n.Contacts, n.Unreached[0].Why = nil, []string{"n3"}, string(mtls.WrongKey)
		}, "\n  → compare the key or CA of a contact in [[peers]]"},
		{func(n *Nodes) { n.Neighbours = nil }, "n1 has no neighbour yet: n3 does not answer"},
		{func(n *Nodes) { n.News[0].AgeMS = 61234 }, "1m1.2s ago"},
		{func(n *Nodes) { n.News[0].Body = []byte("\x1b[2J" + strings.Repeat("é", 100)) }, `"\x1b[2Jéé`},
		{func(n *Nodes) { n.Namespaces[0].LeaderProven = false }, "n2 (its own word)"},
		{func(n *Nodes) { n.News[0].SubjectProven = false }, "news of n2 (its own word) under"},
		{func(n *Nodes) { n.News[0].Topic = "\x1b[31ma\u202eb\nnews of n3" }, `default/"\x1b[31ma\u202eb\nnews of n3", 40ms`},
		{func(n *Nodes) { n.News[0].Subject = "n2\x1b[31m" }, `news of "n2\x1b[31m" under`},
		{func(n *Nodes) { n.Namespaces[0].Leader = new("n2\t\x1b[2J") }, `default` + "\t" + `"n2\t\x1b[2J"` + "\t4"},
		{func(n *Nodes) { n.Namespaces[0].Leads = true }, "default\tn2\t4\tfollowing\t"},
	} {
		n := nodesOf(new(fakeMember), new(world).Twins(), time.Unix(90, 0))
		c.change(&n)
		if text := strings.Join(append(rowsOf(n), linesOf(n)...), "\n"); !strings.Contains(text, c.says) || strings.Contains(text, "\x1b") {
			t.Errorf("got %q, want %q in it", text, c.says)
		}
	}
}
