// Package board runs a log on some members, each a process of its own with a file of its own, over mutual TLS of this machine, for
// the bench: and beside it the bare core of its library in as many processes, on the same kind of files; and long logs to open.
//
//	Board ── starts ──▶ a process for each member (RunChild) ──▶ host, or the bare core ──▶ its file
//	  └─ asks, over net/rpc of the loopback ──▶ clerk ──┘         └─ mutual TLS ─ the other members
package board
