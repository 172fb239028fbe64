package majority

import (
	"slices"

	"google.golang.org/protobuf/proto"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
)

// conf is the members that decide at a place of the log.
type conf struct {
	members []txlog.Member
	leaving []txlog.Member // the set before, while a change goes on
}

// all returns the members of both sets.
func (c *conf) all() []txlog.Member { return append(slices.Clone(c.members), c.leaving...) }

func (c *conf) has(store uint64) bool {
	is := func(m txlog.Member) bool { return m.Store == store }
	return slices.ContainsFunc(c.members, is) || slices.ContainsFunc(c.leaving, is)
}

// check returns the first fault. The error is ErrMessage, or one of package txlog.
func (c *conf) check() error {
	for _, set := range [][]txlog.Member{c.members, c.leaving} {
		if set == nil {
			continue
		}
		if err := checkMembers(set); err != nil {
			return err
		}
	}
	if len(c.members) == 0 {
		return fault(ErrMessage, "there are no members")
	}
	return nil
}

func checkMembers(set []txlog.Member) error {
	if err := txlog.CheckMembers(set); err != nil {
		return err
	}
	for _, m := range set {
		if m.Store >= 1<<63 {
			return fault(ErrMessage, "the id of a store is below 2^63, and %s has %d", m.Name, m.Store)
		}
	}
	return nil
}

func stores(set []txlog.Member) (ids []uint64) {
	for _, m := range set {
		ids = append(ids, m.Store)
	}
	slices.Sort(ids)
	return ids
}

func (m Mark) confState() *pb.ConfState {
	return &pb.ConfState{Voters: stores(m.Members), VotersOutgoing: stores(m.Leaving), AutoLeave: new(len(m.Leaving) > 0)}
}

// change returns the library's entry of a record that changes the members; false, if the same stores decide afterwards.
func (c *conf) change(r txlog.Record) (*pb.ConfChangeV2, bool) {
	before, after := stores(c.members), stores(r.Members)
	if slices.Equal(before, after) {
		return nil, false
	}
	change := &pb.ConfChangeV2{Transition: pb.ConfChangeTransitionJointImplicit.Enum(), Context: r.Raw()}
	add := func(kind pb.ConfChangeType, ids, without []uint64) {
		for _, id := range ids {
			if !slices.Contains(without, id) {
				change.Changes = append(change.Changes, &pb.ConfChangeSingle{Type: kind.Enum(), NodeId: new(id)})
			}
		}
	}
	add(pb.ConfChangeAddNode, after, before)
	add(pb.ConfChangeRemoveNode, before, after)
	return change, true
}

// follows knows what may follow what.
type follows struct{ log txlog.ID }

// follow returns the place after an entry that comes next. The error is ErrMessage, or one of package txlog.
func (f follows) follow(before *slot, e *pb.Entry) (*slot, error) {
	record, has, err := ours(e).Record()
	if err != nil {
		return nil, err
	}
	return f.place(before, e, record, has)
}

// place returns the place after an entry that comes next, and has a record or none.
func (f follows) place(before *slot, e *pb.Entry, record txlog.Record, has bool) (_ *slot, err error) {
	s := &slot{entry: e, at: before.at, conf: before.conf}
	switch {
	case e.GetIndex() != before.entry.GetIndex()+1:
		return nil, fault(ErrMessage, "entry %d follows entry %d", e.GetIndex(), before.entry.GetIndex())
	case e.GetTerm() < before.entry.GetTerm() || e.GetTerm() == 0:
		return nil, fault(ErrMessage, "an entry of term %d follows one of term %d", e.GetTerm(), before.entry.GetTerm())
	case e.GetType() != pb.EntryNormal && e.GetType() != pb.EntryConfChangeV2:
		return nil, fault(ErrMessage, "an entry of kind %v", e.GetType())
	}
	change := e.GetType() == pb.EntryConfChangeV2
	switch {
	case has:
		if err := f.takes(s, record); err != nil {
			return nil, err
		}
		s.record, s.at = record, record.Position()
	case len(e.GetData()) > 0:
		return nil, fault(ErrMessage, "an entry without a record has %d bytes", len(e.GetData()))
	}
	if change || has && record.Kind == txlog.Changed {
		s.conf, err = s.conf.after(e, record, has)
	}
	return s, err
}

// takes checks that a record comes next after an entry.
func (f follows) takes(s *slot, r txlog.Record) error {
	switch {
	case r.Log != f.log:
		return fault(ErrOtherLog, "%s", r.Log.Short())
	case r.Term != s.entry.GetTerm():
		return fault(ErrMessage, "a record of term %d is in an entry of term %d", r.Term, s.entry.GetTerm())
	case r.Index != s.at.Index+1 || r.Prev != s.at.Hash:
		return fault(ErrMessage, "record %d after %s does not follow record %d, %s", r.Index, r.Prev.Short(), s.at.Index, s.at.Hash.Short())
	}
	return nil
}

// after returns the members that decide after an entry that changes or has changed the members.
func (c *conf) after(e *pb.Entry, r txlog.Record, has bool) (*conf, error) {
	if !has { // the end of a change
		if len(c.leaving) == 0 {
			return nil, fault(ErrMessage, "no change of members goes on that could end")
		}
		return &conf{members: c.members}, nil
	}
	if r.Kind != txlog.Changed {
		return nil, fault(ErrMessage, "the entry changes the members, and its record is of kind %s", r.Kind)
	}
	if err := checkMembers(r.Members); err != nil {
		return nil, err
	}
	change, is := c.change(r)
	switch {
	case is != (e.GetType() == pb.EntryConfChangeV2):
		return nil, fault(ErrMessage, "the entry says that it changes the members, and its record says otherwise")
	case !is: // names and keys alone
		return &conf{members: r.Members, leaving: c.leaving}, nil
	case len(c.leaving) > 0:
		return nil, fault(ErrMessage, "two changes of members go on")
	}
	var said pb.ConfChangeV2
	if err := proto.Unmarshal(e.GetData(), &said); err != nil || !proto.Equal(&said, change) {
		return nil, fault(ErrMessage, "the entry changes the members to others than its record says")
	}
	return &conf{members: r.Members, leaving: c.members}, nil
}

// Check returns what is wrong with a set of members, and what is legal and unwise. The error is one of package txlog, or
// ErrMessage.
func Check(members []txlog.Member) (warning string, err error) {
	if err := checkMembers(members); err != nil {
		return "", err
	}
	switch n := len(members); {
	case n == 1:
		return "one member decides alone: if its disk is lost, what was acknowledged is lost", nil
	case n == 2:
		return "of two members both must live: one more costs nothing, and one less stops as rarely", nil
	case n%2 == 0:
		return "an even number of members bears no more losses than one less, and waits for one more", nil
	}
	return "", nil
}
