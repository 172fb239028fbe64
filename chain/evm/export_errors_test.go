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

// Redact removes secrets from a text.
var Redact = redact

// KeptUnknown is how many unknown errors of a chain are kept.
const KeptUnknown = keptUnknown

// UnknownAdder returns an empty memory of unknown errors, and what it has.
func UnknownAdder() (add func(UnknownError), all func() []UnknownError) {
	u := &unknownErrors{chains: map[uint64][]UnknownError{}}
	return func(e UnknownError) { u.add(1, e) }, func() []UnknownError { return u.of(1) }
}
