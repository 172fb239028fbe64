// Package worker is one process that leads sometimes: the node of the demo and
// of the chaos tests. It campaigns for one scope and, while it leads, works
// behind both doors without pause:
//
//   - behind the fenced door it appends rows to a ledger, each in one transaction
//     with conch.fence(), and acknowledges each commit in a file of its own;
//   - behind the act door it appends lines to a file that all nodes share and
//     that nothing protects but the gate.
//
// It keeps no state of its own: what it leaves behind is judged by package
// evidence. It may be killed, stopped, or cut off from the database at any
// instant.
package worker
