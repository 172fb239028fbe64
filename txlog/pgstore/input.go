package pgstore

import (
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// input is what happens to a machine: one of the types below.
type input interface{ input() }

type (
	// lead says that this node leads its scope, under a token. Ended answers, once.
	lead struct {
		Ticket uint64 // names this leadership
		Token  fence.Token
	}
	// yield says that it does so no more.
	yield struct{ Ticket uint64 }
	// appended is Append.
	appended struct{ Record txlog.Record }
	// asked is Confirm.
	asked struct{ Read uint64 }
	// noticed says that there may be new records.
	noticed struct{}
	// got answers read.
	got struct {
		ID     uint64
		Before txlog.Hash // of the record after which was read; zero: there is none
		Next   []txlog.Record
		Newest uint64 // index in the log
		Err    error
	}
	// found answers find.
	found struct {
		ID     uint64
		Newest uint64
		Err    error
	}
	// wrote answers write.
	wrote struct {
		ID  uint64
		Err error // nil: committed; fence.ErrStale, ErrTaken, ErrScope: not, and never; else nobody knows
	}
	// tick says that time has passed.
	tick struct{}
)

func (lead) input()     {}
func (yield) input()    {}
func (appended) input() {}
func (asked) input()    {}
func (noticed) input()  {}
func (got) input()      {}
func (found) input()    {}
func (wrote) input()    {}
func (tick) input()     {}

// action is what a machine wants done: one of the types below.
type action interface{ action() }

type (
	// read asks for the records after an index. With a token, only while that is the current one.
	read struct {
		ID     uint64
		After  uint64
		Token  fence.Token
		Fenced bool
	}
	// find asks for the newest index.
	find struct{ ID uint64 }
	// write stores records under a token.
	write struct {
		ID      uint64
		Ticket  uint64 // of the leadership, with which the write is given up
		Token   fence.Token
		Records []txlog.Record
	}
	// tell tells the user a fact.
	tell struct{ Fact authority.Fact }
	// ended says that a leadership is over: why, or nil if the node has yielded.
	ended struct {
		Ticket uint64
		Err    error
	}
	// troubled says that a try has failed, which is made again.
	troubled struct{ Err error }
	// stopped says that the machine can do no more.
	stopped struct{ Err error }
)

func (read) action()     {}
func (find) action()     {}
func (write) action()    {}
func (tell) action()     {}
func (ended) action()    {}
func (troubled) action() {}
func (stopped) action()  {}
