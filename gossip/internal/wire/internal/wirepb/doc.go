// Package wirepb is generated from gossip.proto by make proto.
package wirepb
