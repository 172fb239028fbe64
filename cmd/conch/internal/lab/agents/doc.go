// Package agents runs a crowd of gossip agents over mutual TLS on this machine, for the bench: most of them in this
// process, and those that may lead in processes of their own, which can be killed.
package agents
