package logs

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/txlog"
)

// Section is all [[logs]] tables, and who this node and the others are.
type Section struct {
	all   []Log
	peers peers.Directory
}

// Log is one [[logs]] table.
type Log struct {
	Namespace string
	Machine   string        // of the table; see machines
	Store     string        // the file; a folder has it as NAMESPACE.log
	Peers     []string      // names of [[peers]] that may be members or be asked; nil: all, and guests are asked too
	ID        txlog.ID      // zero: it is what the others say
	Timeout   time.Duration // for which a goal's answer is waited for before others are asked (B8)
	id        *string       // as it is written
	refused   []refused     // keys that are in the table and must not be
}

// refused is a key that belongs elsewhere, and why.
type refused struct{ key, why string }

// How long a goal_timeout is. Document 003 has 10 to 15 s; a request waits for goalPatience.
const (
	leastTimeout = time.Second
	mostTimeout  = 15 * time.Second // and the default
)

// Table implements config.Section.
func (*Section) Table() string { return "logs" }

// Roles implements config.Section: a log has its own leader.
func (*Section) Roles() []config.Role { return nil }

// Everywhere implements config.Everywhere.
func (s *Section) Everywhere() bool { return len(s.all) > 0 }

var _ config.Teller = (*Section)(nil) // else nobody keeps room for heads

// Topics implements config.Teller: a log's heads have one.
func (s *Section) Topics() (all []string) {
	for i := range s.all {
		all = append(all, topicOf(s.all[i].Namespace))
	}
	return all
}

// Keys implements config.Section.
func (s *Section) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{s.Table(): func(place string, value any) {
		for i, v := range d.Tables(place, value) {
			var one Log
			d.Table(fmt.Sprintf("%s[%d]", place, i), v, one.keys(d))
			s.all = append(s.all, one)
		}
	}}
}

func (l *Log) keys(d *config.Decoder) map[string]config.Setter {
	keys := map[string]config.Setter{
		"namespace": d.Name(&l.Namespace), "machine": d.Word(&l.Machine), "store": d.Path(&l.Store), "peers": d.Texts(&l.Peers), "goal_timeout": d.Span(&l.Timeout),
		"id": func(place string, v any) {
			l.id = new(string)
			d.Word(l.id)(place, v)
		},
	}
	elsewhere := func(why string, all ...string) {
		for _, key := range all {
			keys[key] = func(string, any) { l.refused = append(l.refused, refused{key, why}) }
		}
	}
	elsewhere("is a key of [gossip], which suggests the leader of all logs of this node: put it there", "policy", "diameter", "delta_c", "delta_e", "delta_d")
	elsewhere("is none of this version: a file makes no log, since two nodes that start with it would make two. conch log create makes one, once", "bootstrap")
	return keys
}

// Settle implements config.Section.
func (s *Section) Settle(_ *config.Decoder, c config.Config) {
	s.peers = peers.Of(c)
	for i := range s.all {
		l := &s.all[i]
		l.Machine = cmp.Or(l.Machine, machines[0].name)
		l.Timeout = cmp.Or(l.Timeout, mostTimeout)
		if l.id != nil {
			_ = l.ID.UnmarshalText([]byte(*l.id)) // Validate reports it
		}
		if l.Store == "" && c.Node.DataDir != "" {
			l.Store = filepath.Join(c.Node.DataDir, "logs", l.file())
		}
	}
}

// suffix ends the name of a store's file.
const suffix = ".log"

func (l *Log) file() string { return l.Namespace + suffix }
