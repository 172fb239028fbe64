package nodeapi

import (
	"net/http"
	"strings"
	"time"
)

// Node is the API of one node.
type Node struct {
	Client *http.Client
	Base   string // its URL, before the path
	Token  string // that the API wants; empty: none
}

// Listening returns the node that listens at host:port, or at unix: and a path. So many connections are kept for the next requests; two
// if 0. Patience bounds each request; 0: its context alone does.
func Listening(at string, idle int, patience time.Duration) *Node {
	n := &Node{Client: &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: idle}}, Base: "http://" + at}
	if path, local := strings.CutPrefix(at, "unix:"); local {
		n.Base, n.Client.Transport = "http://localhost", overUnix(path, idle)
	}
	return n
}

// Close ends the connections that are idle.
func (n *Node) Close() { n.Client.CloseIdleConnections() }
