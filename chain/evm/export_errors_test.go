package evm

// ParsePhrases reads a file of phrases, for its faults.
var ParsePhrases = func(text string) error { _, err := parsePhrases(text); return err }

// ErrorsText is errors.txt.
var ErrorsText = errorsText

// InvalidPhrases returns the phrases that make an attempt invalid.
func InvalidPhrases() (all []string) {
	for _, p := range said().attempts {
		if p.class == classInvalid {
			all = append(all, p.words)
		}
	}
	return all
}
