package logs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/txlog"
)

// topicOf is the topic under which members publish their heads, and the subject of the lines.
func topicOf(namespace string) string { return node.LogTopics + namespace }

// mostNamespace is how long a namespace is: gossip has topics of 64 bytes.
const mostNamespace = 64 - len(node.LogTopics)

// Validate implements config.Section.
func (s *Section) Validate(d *config.Decoder, c config.Config) {
	if len(s.all) == 0 {
		return
	}
	if !hasGossip(c) {
		d.Fault("logs", "[[logs]] needs [gossip], whose connections it shares, and [identity]: add both")
	}
	for i := range s.all {
		place := fmt.Sprintf("logs[%d]", i)
		s.validateNames(d, place, i)
		s.validateStore(d, place, i)
		s.validatePeers(d, place, &s.all[i])
		if t := s.all[i].Timeout; t < leastTimeout || t > mostTimeout {
			d.Fault(place+".goal_timeout", "%s is not from %s to %s: after it others are asked for a goal's answer", t, leastTimeout, mostTimeout)
		}
		for _, r := range s.all[i].refused {
			d.Fault(place+"."+r.key, "%s", r.why)
		}
	}
}

// hasGossip reports whether there is [gossip]. It belongs to another service.
func hasGossip(c config.Config) bool {
	return slices.ContainsFunc(c.Sections, func(s config.Section) bool {
		every, is := s.(config.Everywhere)
		return is && s.Table() == "gossip" && every.Everywhere()
	})
}

func (s *Section) validateNames(d *config.Decoder, place string, i int) {
	l := &s.all[i]
	odd := func(r rune) bool { return r <= ' ' || r == '/' || r == '\\' || r == 0x7f }
	switch {
	case l.Namespace == "":
		d.Fault(place+".namespace", "is missing: it is what the log is called on all nodes")
	case len(l.Namespace) > mostNamespace || strings.ContainsFunc(l.Namespace, odd) || strings.HasPrefix(l.Namespace, "."):
		d.Fault(place+".namespace", "%q is no name of 1 to %d bytes without spaces and slashes, and without a dot at its begin", l.Namespace, mostNamespace)
	case slices.IndexFunc(s.all, func(o Log) bool { return o.Namespace == l.Namespace }) < i:
		d.Fault(place+".namespace", "%q is the name of another log already", l.Namespace)
	}
	if _, is := machineOf(l.Machine); !is {
		d.Fault(place+".machine", "%q is no state machine of this version: write %s, or leave the key out for \"kv\"", l.Machine, machineNames())
	}
	if l.id != nil {
		if err := new(txlog.ID).UnmarshalText([]byte(*l.id)); err != nil {
			d.Fault(place+".id", "%q is not what conch log create has printed: 64 hexadecimal digits", *l.id)
		}
	}
}

func (s *Section) validateStore(d *config.Decoder, place string, i int) {
	l := &s.all[i]
	if l.Store == "" {
		d.Fault(place+".store", "is missing, and so is data_dir in [node]: the copy of the log needs a file")
		return
	}
	for _, o := range s.all[:i] {
		if o.Namespace != l.Namespace && o.Store != "" && filepath.Clean(o.Store) == filepath.Clean(l.Store) {
			d.Fault(place+".store", "%s is the store of %q already", l.Store, o.Namespace)
		}
	}
}

func (s *Section) validatePeers(d *config.Decoder, place string, l *Log) {
	for i, name := range l.Peers {
		at := fmt.Sprintf("%s.peers[%d]", place, i)
		_, known := s.peers.Peer(name)
		switch {
		case slices.Index(l.Peers, name) < i:
			d.Fault(at, "%q is there twice", name)
		case !known && name != s.peers.Identity.Name: // one list fits all nodes
			d.Fault(at, "%q is none of the [[peers]]: add it there, or take it out", name)
		}
	}
}
