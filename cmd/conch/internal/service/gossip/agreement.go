package gossip

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/transport"
)

// Nodes of an overlay that are configured differently hear each other, and understand each other wrongly: an age in other
// rounds is another age, and a leader of other electors is refused. So each says at the beginning of a connection what it
// is configured with, in short, and a difference is named by its key before anybody wonders.

// subjectClaims is under what a node says it.
const subjectClaims = "gossip"

// claims returns what has to be the same on all nodes, by the key of [gossip]. A node whose file has a default differs from no
// other.
func (s *Section) claims(self gossip.Subject) transport.Claims {
	short := func(v any) []byte {
		sum := sha256.Sum256(fmt.Append(nil, v))
		return sum[:8]
	}
	electors := slices.SortedFunc(slices.Values(s.subjects(self)), func(a, b gossip.Subject) int { return bytes.Compare(a[:], b[:]) })
	c := transport.Claims{
		"electors": short(electors), "namespaces": short(fmt.Sprintf("%q", slices.Sorted(slices.Values(s.Namespaces)))), "policy": short(s.Policy),
	}
	n := s.namespaces(electors)[0].WithDefaults()
	if p := n.Paper; p != nil {
		c["diameter"], c["delta_c"], c["delta_e"], c["delta_d"], c["delta_r"] = short(p.Diameter), short(p.DeltaC), short(p.DeltaE), short(p.DeltaD), short(p.DeltaR)
		return c
	}
	unit, _ := s.pace()
	c["diameter"], c["round"] = short(n.Diameter), short(unit*time.Duration(n.Every))
	return c
}

// Differs implements running. A peer that has said nothing, as one that was not heard yet, does not differ.
func (m *member) Differs(peer string) (keys []string) {
	said, heard := m.endpoint.Claimed(peer, subjectClaims)
	if !heard || len(said) == 0 {
		return nil
	}
	return differences(m.own, said)
}

// differences names the keys that differ. With another policy all others would.
func differences(here, there transport.Claims) (keys []string) {
	const policy = "policy"
	if !bytes.Equal(here[policy], there[policy]) {
		return []string{policy}
	}
	for _, key := range slices.Sorted(maps.Keys(here)) {
		if !bytes.Equal(here[key], there[key]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// compare names in the log each neighbour that differs, once for each difference.
func (m *member) compare(log *slog.Logger, told map[string]string) {
	for _, n := range m.Status().Neighbours {
		keys := strings.Join(m.Differs(n.Name), ", ")
		if keys == told[n.Name] {
			continue
		}
		if told[n.Name] = keys; keys == "" {
			log.Info("the neighbour has the same [gossip] as this node now", slog.String("peer", n.Name))
			continue
		}
		log.Warn("the neighbour has another [gossip], and the two understand each other wrongly: correct one of both", slog.String("peer", n.Name), slog.String("keys", keys))
	}
}
