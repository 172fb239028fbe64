// Package spread has tests alone: the figures of package spreadtest, in overlays that gossip has grown. A wing may not know another one.
package spread
