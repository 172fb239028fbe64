package wire

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the bytes of testdata/golden anew")

// goldens has a message of each kind and a beat, by the names of their files.
func goldens(t testing.TB) (messages map[string]Message, files map[string][]byte) {
	t.Helper()
	messages, files = map[string]Message{}, map[string][]byte{}
	for _, body := range bodies {
		m := counting().message(body)
		name := strings.ReplaceAll(body.Kind().String(), " ", "-")
		messages[name], files[name] = m, encoded(t, m)
	}
	beat, err := EncodeBeat(counting().beat())
	if err != nil {
		t.Fatal(err)
	}
	files["beat"] = beat
	return messages, files
}

// The format does not change by accident: nodes of different releases talk to each other. A diff of these files is a
// change of the format; wire.proto says which are allowed. Bytes that a release wrote stay readable: before a file
// changes, copy it to another name, and it is read for ever.
func TestTheFormatNeverChanges(t *testing.T) {
	t.Parallel()
	messages, files := goldens(t)
	for name, got := range files {
		path := filepath.Join("testdata", "golden", name+".hex")
		if *update {
			if err := os.WriteFile(path, lines(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := golden(t, path)
		if !bytes.Equal(got, want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, lines(got), lines(want))
		}
		if name == "beat" {
			if b, err := DecodeBeat(want); err != nil || !reflect.DeepEqual(b, counting().beat()) {
				t.Errorf("the beat is read as %+v, %v", b, err)
			}
		} else if m, err := Decode(want); err != nil || !reflect.DeepEqual(m, messages[name]) {
			t.Errorf("%s is read as\n%s, %v; want\n%s", name, dump(m), err, dump(messages[name]))
		}
	}
	all, err := filepath.Glob("testdata/golden/*.hex")
	if err != nil || len(all) < len(files) {
		t.Fatalf("%d files, %v", len(all), err)
	}
	for _, path := range all {
		if name := filepath.Base(path); !strings.HasPrefix(name, "beat") {
			if m, err := Decode(golden(t, path)); err != nil {
				t.Errorf("%s is no longer read: %v, %v", name, m, err)
			}
		}
	}
}

// lines writes bytes as hexadecimal digits, 64 a line.
func lines(b []byte) []byte {
	return regexp.MustCompile(`.{1,64}`).ReplaceAll([]byte(hex.EncodeToString(b)), []byte("$0\n"))
}

func golden(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
