// Package wirepb is generated from wire.proto, by make proto. Only package wire uses it.
package wirepb
