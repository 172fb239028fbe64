package stage

import (
	"fmt"
	"strings"
)

// Markdown returns results as Markdown tables.
func Markdown(results []Result) string {
	var b strings.Builder
	row := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	row("peer", "", "`kill -9`", "clean handover", "SIGSTOP", "silent line")
	b.WriteString("|---|---|---|---|---|---|\n")
	for _, r := range results {
		row(r.Peer, r.Variant, r.Kill.text(), r.Handoff.text(), r.Stop.text(), r.Silence.text())
	}
	b.WriteByte('\n')
	row("peer", "", "zombie writes after a handover", "after SIGSTOP", "under a silent line", "asked per second at rest", "leader's memory, MB")
	b.WriteString("|---|---|---|---|---|---:|---:|\n")
	for _, r := range results {
		memory := plain(r.Memory)
		if r.ServerMemory != nil {
			memory += " + server " + plain(r.ServerMemory)
		}
		row(r.Peer, r.Variant, r.HandoffZombies.String(), r.StopZombies.String(), r.SilenceZombies.String(), plain(r.Rest), memory)
	}
	b.WriteByte('\n')
	row("peer", "", "set to", "times killed, handed over, stopped, cut off")
	b.WriteString("|---|---|---|---|\n")
	for _, r := range results {
		times := fmt.Sprintf("%d, %d, %d, %d", r.Kill.Times, r.Handoff.Times, r.Stop.Times, r.Silence.Times)
		row(r.Peer, r.Variant, r.How, times)
	}
	return b.String()
}
