package gossip

import (
	"time"

	"github.com/conchhq/conch/gossip/wire"
)

// memory knows the last word of news that is not kept any more, since it is too old to be told or had to make room. A peer may still
// bring a copy of it, and may say that it is young: that is no news. Each word is known for a while, and for twice as long at most. There are no more
// of them than a node takes in that time.
type memory struct {
	young, old map[wire.Name]life
	turned     time.Duration // the young ones became the old ones
}

// note remembers a word from now on for a while.
func (k *memory) note(name wire.Name, said life, now, while time.Duration) {
	if k.young == nil || now-k.turned >= while {
		k.old = k.young
		if now-k.turned >= 2*while {
			k.old = nil
		}
		k.young, k.turned = map[wire.Name]life{}, now
	}
	k.young[name] = said
}

// knows reports whether a statement is no later than what is known under its key.
func (k *memory) knows(s *wire.Said) bool {
	if len(k.young)+len(k.old) == 0 {
		return false
	}
	name := s.Key().Name()
	for _, words := range []map[wire.Name]life{k.young, k.old} {
		if last, is := words[name]; is && !s.Later(last.incarnation, last.sequence) {
			return true
		}
	}
	return false
}
