package chaos

import "slices"

// Kind is a kind of fault.
type Kind string

// The kinds. Their names are public.
const (
	Kill9          Kind = "kill9"
	StopShort      Kind = "stop-short"
	StopLong       Kind = "stop-long"
	Silent         Kind = "silent"
	SilentToServer Kind = "silent-to-server"
	SilentToClient Kind = "silent-to-client"
	Reset          Kind = "rst"
	Latency        Kind = "latency"
	PGRestart      Kind = "pg-restart"
	PGKill         Kind = "pg-kill9"
	Backend        Kind = "backend"
	Deaf           Kind = "deaf"
	FrozenFence    Kind = "frozen-fence"
	BusyFence      Kind = "busy-fence"
	LocksFull      Kind = "locks-full"
	TableLock      Kind = "table-lock"
	Unannounced    Kind = "unannounced"
	NotifyFull     Kind = "notify-full"
	ClockAhead     Kind = "clock-ahead"
	ClockBack      Kind = "clock-back"
	Rolling        Kind = "rolling-restart"
	OutsideAskers  Kind = "outside-askers"
	FenceStream    Kind = "fence-stream"
	StrangeBytes   Kind = "strange-bytes"
	SilentAddress  Kind = "silent-address"
	LogUnread      Kind = "log-unread"
)

// place is what a kind affects.
type place int

const (
	machine  place = iota // one machine's processes
	line                  // one machine's line to the database
	database              // everybody's database
	alone                 // several of them, so that no other fault may be on
)

// trait describes a kind.
type trait struct {
	kind        Kind
	what        string
	weight      int // 0: only if it is asked for
	place       place
	least, most float64 // duration in leases
}

// traits are in the order of the help text.
var traits = []trait{
	{Kill9, "SIGKILL for a machine's processes, which are started again", 4, machine, 0.1, 1.5},
	{StopShort, "SIGSTOP for less than a lease", 3, machine, 0.2, 0.6},
	{StopLong, "SIGSTOP for longer than a lease", 4, machine, 1.3, 2.5},
	{Silent, "a line that passes nothing either way and tells nobody", 3, line, 0.5, 2.5},
	{SilentToServer, "a line on which the database hears nothing", 3, line, 0.5, 2.5},
	{SilentToClient, "a line on which the machine hears nothing", 3, line, 0.5, 2.5},
	{Reset, "every connection of a line torn by a RST, new ones refused for a while", 3, line, 0, 0.8},
	{Latency, "a slow line", 2, line, 1, 3},
	{PGRestart, "Postgres restarted in order", 2, database, 0, 0},
	{PGKill, "SIGKILL for Postgres, which is started again", 2, database, 0.1, 2},
	{Backend, "the leaders' lock sessions terminated", 3, machine, 0, 0},
	{Deaf, "the leaders' lock sessions terminated while their lines are silent, so that the leaders do not notice", 2, line, 0.6, 2.5},
	{LogUnread, "the lock session of a run terminated, whose log nobody reads", 2, alone, 0, 0},
	{FrozenFence, "a process stopped between its fence and its commit, while its leader dies", 2, alone, 0, 0},
	{BusyFence, "a transaction that goes on after its fence, while its leader dies", 2, alone, 0, 0},
	{LocksFull, "a lock table without room, until its hog ends", 2, alone, 1, 2.5},
	{TableLock, "a table that a reader and, behind it, a VACUUM FULL keep from everybody", 2, alone, 0.5, 2.5},
	{Unannounced, "no notification is sent, as with a queue that is half full or more, and the leaders' lock sessions terminated", 1, alone, 1, 2.5},
	{ClockAhead, "the database's clock one hour ahead for a while", 2, database, 1, 3},
	{ClockBack, "the database's clock one hour back for a while", 2, database, 1, 3},
	{Rolling, "every machine restarted in order, one after the other", 1, alone, 0, 0},
	{OutsideAskers, "a scope handed over in every orderly way, while callers act on the answers of the HTTP gate", 1, alone, 0, 0},
	{FenceStream, "fences above READ COMMITTED that never pause, while leaders lose their sessions, drain and die", 1, alone, 0, 0},
	{StrangeBytes, "programs, commands and operators with text that no database accepts", 1, alone, 0, 0},
	{SilentAddress, "the address that was good falls silent while another one works, and back", 3, line, 1.5, 4},
	{NotifyFull, "the queue of notifications really full; drawn only by --only notify-full: before Postgres 17 it takes minutes and 8 GB", 0, alone, 1, 2.5},
}

// Kinds returns all kinds.
func Kinds() []Kind {
	kinds := make([]Kind, len(traits))
	for i, t := range traits {
		kinds[i] = t.kind
	}
	return kinds
}

// ordinary returns the kinds that are drawn if none is asked for.
func ordinary() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { t, _ := traitOf(k); return t.weight == 0 })
}

// Describe returns a short description of a kind.
func Describe(k Kind) string {
	t, _ := traitOf(k)
	return t.what
}

func traitOf(k Kind) (trait, bool) {
	for _, t := range traits {
		if t.kind == k {
			return t, true
		}
	}
	return trait{}, false
}

// stops reports whether a kind uses SIGSTOP, and SIGCONT at the end.
func (k Kind) stops() bool { return k == StopShort || k == StopLong }

// agree reports whether the second fault may begin while the first is on. Two faults of the
// database would undo each other. So would two that stop a machine: the end of the shorter one
// wakes it, and its term goes on although the longer one is recorded as on. The backends of a
// database that is away cannot be terminated.
func agree(first, second Kind) bool {
	a, _ := traitOf(first)
	b, _ := traitOf(second)
	switch {
	case first == second, a.most == 0, a.place == alone, b.place == alone:
		return false
	case a.place == line && b.place == line: // a proxy has one state
		return false
	case first.stops() && second.stops():
		return false
	case first == PGKill || first == PGRestart:
		return b.place != database && second != Backend && second != Deaf
	default:
		return a.place != database || b.place != database
	}
}
