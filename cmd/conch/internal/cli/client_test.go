package cli

import "testing"

// A path is the prefix of a proxy; what stands behind one cannot be followed by the path of a request.
func TestTheNodeIsAURL(t *testing.T) {
	t.Parallel()
	for node, good := range map[string]bool{
		"http://127.0.0.1:7070":    true,
		"https://a.example/conch/": true,
		"unix:/run/conch.sock":     true,
		"127.0.0.1:7070":           false,
		"ftp://a.example":          false,
		"https://a.example/?x=1":   false,
		"https://a.example/#x":     false,
	} {
		if err := NewClient(node, "").Prepare(func(string) string { return "" }); (err == nil) != good {
			t.Errorf("%s: %v", node, err)
		}
	}
}
