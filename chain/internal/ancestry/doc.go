// Package ancestry has what drivers of chains, and readers of several accounts, follow blocks with: by the hashes of
// their parents, which alone prove that a block is an ancestor of another (W1).
//
//   - [Trail] turns the heads that are seen into the turns between them: blocks that come, go and become final.
//   - [Thread] is one line of blocks, for the proof that a block is in it.
//   - [Memory] keeps the blocks of any branch, so that a follower goes on where it was.
//   - [Doubt] says which heads to pass over, where one endpoint has several nodes behind it (W4).
//
// Trail, Thread and Doubt are pure: what they do not know they look up through a [Lookup]. Read trail.go first.
package ancestry
