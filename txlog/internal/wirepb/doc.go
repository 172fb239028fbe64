// Package wirepb is generated from log.proto by make proto.
package wirepb
