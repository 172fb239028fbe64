//go:build unix

package swarm

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

const mapWidth = 50

// render shows what is known now.
func (s *supervisor) render(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s   %d processes of conch node, %d electors   a round is %s   %s\n\n",
		s.since(now).Round(100*time.Millisecond), len(s.All), electors, s.record.Timing.Round, s.doing)
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	row := func(name, text string, args ...any) { _, _ = fmt.Fprintf(w, name+"\t"+text+"\n", args...) }
	counts := s.board.counts()
	leader, reign := s.foremost(counts)
	silent := counts[""]
	delete(counts, "")
	row("LEADER", "%s, reign %d", somebody(leader), reign)
	row("NAMED", "by %d of %d living nodes; %d name nobody, %d somebody else", counts[leader], s.board.living(), silent, s.board.living()-counts[leader]-silent)
	least, mean, most := s.neighbours()
	row("NEIGHBOURS", "%d to %d, %.1f on average", least, most, mean)
	row("NEWS", "%s", s.newest(now))
	row("KILLS", "%d leaders, %d others", len(s.record.Kills), s.record.Crashed)
	row("CUTS", "%d", len(s.record.Cuts))
	if s.load != nil {
		now := s.load.Now()
		row("LOG", "%s; %d goals acknowledged, %d wait", s.standing(), now.Answered, now.Waiting)
	}
	_ = w.Flush()
	b.WriteString(s.chart(leader) + "\n")
	return b.String()
}

// foremost returns the leader that most name, unless nobody is named.
func (s *supervisor) foremost(counts map[string]int) (leader string, reign uint64) {
	for name, n := range counts {
		if name != "" && (leader == "" || n > counts[leader] || n == counts[leader] && name < leader) {
			leader = name
		}
	}
	for life := range s.board.nodes {
		if v := s.board.views[life]; v.leader == leader {
			reign = max(reign, v.reign)
		}
	}
	return leader, reign
}

func (s *supervisor) neighbours() (least int, mean float64, most int) {
	var all []int
	sum := 0
	for _, n := range s.All {
		if s.ears[n.life] != nil {
			all, sum = append(all, n.peers), sum+n.peers
		}
	}
	if len(all) == 0 {
		return 0, 0, 0
	}
	return slices.Min(all), float64(sum) / float64(len(all)), slices.Max(all)
}

func (s *supervisor) newest(now time.Time) string {
	if s.latest == "" {
		return "none yet"
	}
	i := slices.IndexFunc(s.record.Pieces, func(p Piece) bool { return p.Topic == s.latest })
	p := s.record.Pieces[i]
	return fmt.Sprintf("%d pieces; %s of %s, %.1fs ago, was heard by %d", len(s.record.Pieces), p.Topic, s.record.Lives[p.Life].Node,
		(s.since(now) - p.At).Seconds(), s.heardBy[p.Topic])
}

// chart has a sign for each node.
func (s *supervisor) chart(leader string) string {
	var b strings.Builder
	for i, n := range s.All {
		if i%mapWidth == 0 {
			b.WriteString("\n  ")
		}
		b.WriteString(s.sign(n, leader))
	}
	fmt.Fprintf(&b, "\n\n  L leads   o names it   . names nobody   ? names another   x is dead   the first %d are electors\n", electors)
	if s.cutOff() != nil {
		b.WriteString("  on the smaller side: + names it   - names nobody\n")
	}
	return b.String()
}

// cutOff returns the smaller side while the network is cut.
func (s *supervisor) cutOff() map[string]bool {
	if i := len(s.record.Cuts) - 1; i >= 0 && s.record.Cuts[i].To == 0 {
		return s.record.Cuts[i].Side
	}
	return nil
}

func (s *supervisor) sign(n *node, leader string) string {
	v, cut := s.board.views[n.life], s.cutOff()[n.Name]
	switch {
	case s.ears[n.life] == nil:
		return "x"
	case v.leader == "" && cut:
		return "-"
	case v.leader == "":
		return "."
	case v.leader == n.Name:
		return "L"
	case v.leader == leader && cut:
		return "+"
	case v.leader == leader:
		return "o"
	default:
		return "?"
	}
}
