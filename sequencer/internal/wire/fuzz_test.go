package wire

import "testing"

// Any bytes are refused or read, and what is read can be sent: make fuzz.
func FuzzDecode(f *testing.F) {
	_, files := goldens(f)
	for _, in := range files {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) { examine(t, in) })
}

func FuzzDecodeBeat(f *testing.F) {
	_, files := goldens(f)
	f.Add(files["beat"])
	f.Fuzz(func(t *testing.T, in []byte) { examineBeat(t, in) })
}
