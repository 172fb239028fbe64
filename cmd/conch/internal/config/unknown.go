package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/internal/nearest"
)

// renamed maps the names of keys in FORGE's documents to ours (F10).
var renamed = map[string]string{"lease_duration": "lease", "refresh_interval": "heartbeat"}

// ofTheNode are keys of [election] that apply to the whole node, so that no role has its own.
var ofTheNode = []string{"lock_budget", "locks"}

// unknown returns the text of the fault for an unknown key, with the key probably meant.
func unknown(key string, known []string) string {
	if name, ok := renamed[key]; ok && slices.Contains(known, name) {
		return fmt.Sprintf("unknown key: here it is called %q", name)
	}
	if slices.Contains(ofTheNode, key) {
		return "unknown key: it applies to the whole node, not to one role, so write it in [election]"
	}
	if name := nearest.To(key, known); name != "" {
		return fmt.Sprintf("unknown key: is %q meant?", name)
	}
	return "unknown key: these are known: " + strings.Join(known, ", ")
}
