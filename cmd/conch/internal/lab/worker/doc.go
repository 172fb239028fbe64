// Package worker is the process that the demo, the bench and the chaos tests run several of.
// It campaigns for one scope and, while it leads, works behind both doors without pause:
//
//   - behind the fenced door it appends rows to a ledger, each in one transaction with
//     conch.fence(), and acknowledges each commit in its own file;
//   - behind the act door it appends lines to a file that all workers share and that only
//     the gate protects.
//
// It keeps no state. Package evidence judges what it leaves behind. It may be killed,
// stopped, or cut off from the database at any time.
package worker
