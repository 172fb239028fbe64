// Package wirepb is generated from spray.proto, by make proto. Only package wire of the overlay uses it.
package wirepb
