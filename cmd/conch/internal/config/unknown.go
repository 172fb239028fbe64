package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/nearest"
)

// renamed are the names by which FORGE's documents call our keys (F10).
var renamed = map[string]string{"lease_duration": "lease", "refresh_interval": "heartbeat"}

// ofTheNode are keys of [election] that a role cannot have for itself: all roles of a
// node share what they are about.
var ofTheNode = []string{"lock_budget", "locks"}

// unknown says that a key is not one of the known, and which was meant.
func unknown(key string, known []string) string {
	if name, ok := renamed[key]; ok && slices.Contains(known, name) {
		return fmt.Sprintf("unknown key: here it is called %q", name)
	}
	if slices.Contains(ofTheNode, key) {
		return "unknown key: it is the whole node's and no role's, so write it in [election]"
	}
	if name := nearest.To(key, known); name != "" {
		return fmt.Sprintf("unknown key: is %q meant?", name)
	}
	return "unknown key: these are known: " + strings.Join(known, ", ")
}
