package gossip

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
)

// Commands adds conch status --gossip.
func Commands(s *cli.Shell) []*cobra.Command {
	a := &shell{s}
	s.View(cli.View{
		Flag: "gossip", Usage: "ask a node for the leader that gossip suggests, a hint",
		Long: `With --gossip it asks a node instead of the database: for the leader that gossip suggests in
each namespace, for the node's neighbours, and for the news of the last minute. That is a
hint. Two nodes may name two leaders for a while.`,
		Example: "conch status --gossip --node http://127.0.0.1:7070", Show: a.show,
	})
	return nil
}

// shell prints for people.
type shell struct{ *cli.Shell }

func (a *shell) show(ctx context.Context, c *cli.Client) error {
	raw, n, err := cli.Fetch(ctx, c, http.MethodGet, pathNodes, func(n Nodes) bool { return n.Self != "" })
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Document(raw)
	}
	_ = a.Table("NAMESPACE\tLEADER\tREIGN\tSTATE\tSINCE\tHEARD\tCHANGES\tELECTORS", rowsOf(n))
	for _, line := range linesOf(n) {
		_ = a.Line("%s", line)
	}
	return nil
}

func rowsOf(n Nodes) (rows []string) {
	for _, one := range n.Namespaces {
		leader, since, heard, electors := "nobody is known", "-", "-", "all"
		if one.Leader != nil {
			leader = named(*one.Leader, one.LeaderProven)
			since = cli.Clock(*one.Since)
		}
		if one.HeardMS != nil && !one.Leads {
			heard = cli.Ago(*one.HeardMS)
		}
		if len(one.Electors) > 0 {
			electors = strings.Join(one.Electors, ", ")
		}
		state := one.State
		if one.BackMS > 0 {
			state += fmt.Sprintf(" for %v more", milliseconds(one.BackMS).Round(time.Second/10))
		}
		rows = append(rows, cli.Row("%s\t%s\t%d\t%s\t%s\t%s\t%d\t%s", one.Namespace, leader, one.Reign, state, since, heard, one.Changes, electors))
	}
	return rows
}

// linesOf says the rest, a line for each thing.
func linesOf(n Nodes) (lines []string) {
	var names []string
	for _, p := range n.Neighbours {
		names = append(names, p.Name)
	}
	switch {
	case len(names) == 0 && n.Overlay.Joining:
		lines = append(lines, fmt.Sprintf("%s has no neighbour yet: it tries to join", n.Self))
	case len(names) == 0:
		lines = append(lines, fmt.Sprintf("%s has no neighbour", n.Self))
	default:
		lines = append(lines, fmt.Sprintf("%s has %s: %s", n.Self, doctor.Count(len(names), "neighbour", "neighbours"), strings.Join(names, ", ")))
	}
	for _, t := range troublesOf(n, cli.Clock) {
		lines = append(lines, t.Detail, "  → "+t.Remedy)
	}
	for _, t := range n.Twins {
		if t.Over {
			lines = append(lines, fmt.Sprintf("two hosts had the key or the name of %s until %s: one of them has gone since", plain(t.Name), cli.Clock(t.LastSeen)))
		}
	}
	for _, i := range n.News {
		lines = append(lines, fmt.Sprintf("news of %s under %s/%s, %s: %s", named(i.Subject, i.SubjectProven), i.Namespace, plain(i.Topic), cli.Ago(i.AgeMS), shown(i.Body)))
	}
	var refused []string
	for _, reason := range slices.Sorted(maps.Keys(n.Refused)) {
		refused = append(refused, fmt.Sprintf("%s %d", reason, n.Refused[reason]))
	}
	if len(refused) > 0 {
		lines = append(lines, "refused since the start: "+strings.Join(refused, ", "))
	}
	return append(lines, "This is a hint: another node may name another leader for a while.")
}

// named returns a name, and says whether only its bearer calls itself so.
func named(name string, proven bool) string {
	if name = plain(name); !proven && !strings.HasPrefix(name, "sha256:") {
		name += " (its own word)"
	}
	return name
}

// plain returns what others have said, in quotes if it could be taken for something else or move a terminal's cursor.
func plain(text string) string {
	odd := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '"'
	}
	if text == "" || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// mostShown is how much of a piece of news is printed.
const mostShown = 60

// shown returns the beginning of a piece of news, without what could move a terminal's cursor.
func shown(body []byte) string {
	text, rest := string(body), ""
	if len(text) > mostShown {
		text, rest = strings.ToValidUTF8(text[:mostShown], ""), "…"
	}
	return strconv.Quote(text) + rest
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
