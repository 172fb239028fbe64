// Package nearest finds out what a misspelt word stood for.
package nearest

import "strings"

// To finds the known name that a word most likely stood for; none if all are far away. Names that have it as a part come first,
// so that "id" stands for "goal-id" and not for "db", however many letters are missing.
func To(key string, known []string) string {
	best, least := "", max(2, len(key)/3)+1
	whole := false
	for _, name := range known {
		d, part := distance(key, name), has(name, key)
		if part && !whole || part == whole && d < least {
			best, least, whole = name, d, part
		}
	}
	return best
}

// has reports whether a word is one of those of a name, or several that follow each other.
func has(name, word string) bool {
	plain := strings.NewReplacer("_", "-", ".", "-")
	return word != "" && strings.Contains("-"+plain.Replace(name)+"-", "-"+plain.Replace(word)+"-")
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
