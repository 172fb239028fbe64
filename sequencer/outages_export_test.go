package sequencer

// Waiting returns how many outages there are now.
func (n *Node) Waiting() int {
	n.outages.mu.Lock()
	defer n.outages.mu.Unlock()
	return len(n.outages.all)
}
