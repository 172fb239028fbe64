package sender

import (
	"fmt"
	"strings"
)

// Diagram returns the state table as a state diagram in Mermaid's language. A change that leaves an intent in its state
// is not drawn.
func Diagram() string {
	table := newTable()
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> storing\n")
	for from := range states {
		var why [states][]string
		for e := range events {
			for _, next := range table[e][from].next {
				if next != from {
					why[next] = append(why[next], strings.ReplaceAll(e.String(), ":", ""))
				}
			}
		}
		for next, all := range why {
			if len(all) > 0 {
				fmt.Fprintf(&b, "    %v --> %v: %s\n", from, State(next), strings.Join(all, ", "))
			}
		}
	}
	b.WriteString("    confirmed --> [*]\n    reverted --> [*]\n")
	return b.String()
}
