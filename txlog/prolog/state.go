package prolog

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/keyed"
	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
)

// State is an ontology, a [txlog.State] that reads itself in parts. It is used by one goroutine at a time.
type State struct {
	keyed.Store

	base *ontology.Base // what the store says
}

var _ txlog.Gradual = (*State)(nil)

var rules = keyed.Rules{Machine: Machine, Header: "prolog1", Key: ontology.IsKey, Value: ontology.IsValue, MostKeys: mostKeys, MostContent: mostContent}

// New returns an empty ontology.
func New() txlog.State { return &State{Store: keyed.New(&rules), base: &ontology.Base{}} }

// Apply makes the changes of a diff, if what is here is what it says was here before.
func (s *State) Apply(diff []byte) error { return s.ApplyEach(diff, s.base.Take) }

// Restore replaces everything by what a snapshot has.
func (s *State) Restore(snapshot []byte) error {
	if err := s.Store.Restore(snapshot); err != nil {
		return err
	}
	s.base = ontology.Load(s.All)
	return nil
}

// View returns the ontology as it is, for questions. What is shared with it is copied before it changes.
func (s *State) View() txlog.View { return view{s.base.View()} }
