package config

import (
	"fmt"
	"slices"
	"strings"
)

// renamed are the names by which FORGE's documents call our keys (F10).
var renamed = map[string]string{"lease_duration": "lease", "refresh_interval": "heartbeat"}

// ofTheNode are keys of [election] that a role can not have for itself: all roles of a
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
	if name := nearest(key, known); name != "" {
		return fmt.Sprintf("unknown key: is %q meant?", name)
	}
	return "unknown key: these are known: " + strings.Join(known, ", ")
}

// nearest finds the known name that a typo most likely stood for; none if all are
// far away.
func nearest(key string, known []string) string {
	best, least := "", max(2, len(key)/3)+1
	for _, name := range known {
		if d := distance(key, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance counts the letters to insert, remove or replace (Levenshtein 1965).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			step := before
			if a[i] != b[j] {
				step = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], step
		}
	}
	return row[len(b)]
}
