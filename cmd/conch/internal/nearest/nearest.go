// Package nearest finds out what a misspelt word stood for.
package nearest

// To finds the known name that a typo most likely stood for; none if all are
// far away.
func To(key string, known []string) string {
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
