package hint

import (
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// news is a statement under a topic.
type news struct {
	said wire.Said
	name wire.Name
	made time.Duration // when it was said, on this node's clock, by the age of the first copy
	direct
}

// memory knows the last word of news that is not kept any more, since it is too old to be told or had to make room. A peer may still
// bring a copy of it, and may say that it is young: that is no news. Each word is known for a while, and for twice as long at most. There are no more
// of them than a node takes in that time.
type memory struct {
	young, old map[wire.Name]life
	turned     time.Duration // the young ones became the old ones
}

// noteWord remembers a word from now on for a while.
func (k *memory) noteWord(name wire.Name, said life, now, while time.Duration) {
	if k.young == nil || now-k.turned >= while {
		k.old = k.young
		if now-k.turned >= 2*while {
			k.old = nil
		}
		k.young, k.turned = map[wire.Name]life{}, now
	}
	k.young[name] = said
}

// knowsWord reports whether a statement is no later than what is known under its key.
func (k *memory) knowsWord(s *wire.Said) bool {
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

// learnNews takes news: what is later than what is known is told and relayed.
func (m *Machine) learnNews(by *peer, said *wire.Said) error {
	key := said.Key()
	old := m.news[key]
	if old != nil && !said.Later(old.said.Incarnation, old.said.Sequence) {
		return m.goesBack(by, said, &old.direct)
	}
	if int(said.Age) > keeps || old == nil && m.known.knowsWord(said) {
		return nil
	}
	if m.topicsFull(key) {
		return ErrTopics
	}
	if !m.telling.hasLeft(1, m.now, m.cfg.Round) { // a relay has to bring less than its peers take of it
		m.tooMuch(by, &m.telling, ErrNews)
		return nil
	}
	if is, err := m.isVerified(by, said); !is {
		return err
	}
	m.telling.takeCost(1, m.now, m.cfg.Round)
	n := m.placeNews(key)
	n.said, n.made, n.direct = *said, m.madeAt(said), m.noteDirect(by, said, n.direct)
	m.addAction(Heard{Statement: said.Statement, Age: said.Age, Via: by.Name})
	m.relaySaid(m.listed, by, n.said, n.made)
	return nil
}

// publishNews has this node say something.
func (m *Machine) publishNews(in Publish) {
	s := m.seats[in.Namespace]
	switch {
	case s == nil || in.Topic == "":
		m.noteRefusal("", m.cfg.Self, ErrNamespace)
		return
	case m.topicsFull(wire.Key{Subject: m.cfg.Self, Namespace: in.Namespace, Topic: in.Topic}):
		m.noteRefusal("", m.cfg.Self, ErrTopics)
		return
	}
	said := m.signStatement(in.Namespace, in.Topic, in.Body)
	if err := said.Check(); err != nil {
		m.noteRefusal("", m.cfg.Self, err)
		return
	}
	n := m.placeNews(said.Key())
	n.said, n.made = said, m.now
	m.relaySaid(m.listed, nil, said, m.now)
}

// topicsFull reports whether a subject has too many topics for one more.
func (m *Machine) topicsFull(key wire.Key) bool {
	if m.topics[key.Subject] < MostTopics-m.reservedTopics(key) {
		return false
	}
	m.forgetNews()
	return m.news[key] == nil && m.topics[key.Subject] >= MostTopics-m.reservedTopics(key)
}

// reservedTopics returns how much of this node's room a topic has to leave to those that are reserved.
func (m *Machine) reservedTopics(key wire.Key) (topics int) {
	if key.Subject != m.cfg.Self {
		return 0
	}
	for _, name := range m.cfg.Reserved {
		r := wire.Key{Subject: m.cfg.Self, Namespace: m.cfg.Namespaces[0].Name, Topic: name}
		switch {
		case r == key:
			return 0
		case m.news[r] == nil:
			topics++
		}
	}
	return topics
}

// placeNews returns where news under a key is kept, and makes room for it.
func (m *Machine) placeNews(key wire.Key) *news {
	n := m.news[key]
	if n == nil {
		m.makeRoom()
		n = &news{name: key.Name()}
		m.news[key] = n
		m.topics[key.Subject]++
	}
	return n
}

// makeRoom drops the oldest news if there is too much.
func (m *Machine) makeRoom() {
	if len(m.news) < mostNews {
		return
	}
	var oldest wire.Key
	made := m.now + 1
	for key, n := range m.news {
		if n.made < made || n.made == made && slices.Compare(key.Subject[:], oldest.Subject[:]) < 0 {
			oldest, made = key, n.made
		}
	}
	m.dropNews(oldest)
}

// forgetNews drops news that is too old to be told. That it was heard is known for as long again: ages at two nodes differ by
// the way, so a peer may still tell what this node does not, and would be heard twice. It comes before each use of what is kept: a
// node of the crowd has few Ticks.
func (m *Machine) forgetNews() {
	for key, n := range m.news {
		if m.now-n.made > keeps*m.cfg.Round {
			m.dropNews(key)
		}
	}
}

// dropNews keeps news no more, and remembers that it was here.
func (m *Machine) dropNews(key wire.Key) {
	n := m.news[key]
	m.known.noteWord(n.name, life{n.said.Incarnation, n.said.Sequence}, m.now, 2*keeps*m.cfg.Round)
	if m.topics[key.Subject]--; m.topics[key.Subject] <= 0 {
		delete(m.topics, key.Subject)
	}
	delete(m.news, key)
}
