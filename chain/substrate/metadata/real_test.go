package metadata_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain/substrate/metadata"
	"github.com/conchhq/conch/internal/runtest"
)

// real returns the metadata of real runtimes, by the names of their files.
func real(t testing.TB) map[string][]byte {
	t.Helper()
	dir := os.Getenv("CONCH_METADATA")
	files, err := filepath.Glob(filepath.Join(dir, "v1[456]-*"))
	if dir == "" || err != nil || len(files) == 0 {
		runtest.Missing(t, "CONCH_METADATA does not name a folder with metadata: scripts/metadata.sh fetches it")
	}
	all := map[string][]byte{}
	for _, file := range files {
		digits, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(string(digits)), "0x"))
		if err != nil {
			t.Fatal(file, err)
		}
		if at := strings.Index(string(b), "meta"); at > 0 && at < 8 {
			b = b[at:] // the answer of Metadata_metadata_at_version: an option, and a length
		}
		all[filepath.Base(file)] = b
	}
	return all
}

// The metadata of real runtimes decodes, and has what transactions need.
func TestRealMetadataDecodes(t *testing.T) {
	t.Parallel()
	all := real(t)
	if len(all) < 12 {
		t.Fatalf("%d files, and 12 were fetched", len(all))
	}
	for name, b := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt, err := metadata.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if want := int(name[2]-'0') + 10; rt.Version() != want {
				t.Fatalf("version %d, not %d", rt.Version(), want)
			}
			if _, err := rt.Call("System", "remark"); err != nil {
				t.Error(err)
			}
			if _, err := rt.Storage("System", "Account"); err != nil {
				t.Error(err)
			}
			if _, err := rt.Events([]byte{0}); err != nil {
				t.Error(err)
			}
			var names []string
			for _, e := range rt.Extensions() {
				names = append(names, e.Name)
			}
			for _, want := range []string{"CheckNonce", "CheckSpecVersion", "CheckTxVersion", "CheckGenesis", "CheckMortality"} {
				if !strings.Contains(strings.Join(names, " "), want) {
					t.Errorf("%s is not among %v", want, names)
				}
			}
			t.Logf("%d bytes, address %s, signature %s", len(b), rt.TypeName(rt.Address()), rt.TypeName(rt.Signature()))
		})
	}
}

// Each constant and each default of storage of real runtimes is decoded, written as JSON, read again, and encoded to the same bytes.
func TestRealValuesComeBack(t *testing.T) {
	t.Parallel()
	for name, b := range real(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt, err := metadata.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			rt.EachValue(func(what string, id metadata.TypeID, b []byte) {
				count++
				v, err := rt.Value(id, b)
				if err != nil {
					t.Errorf("%s: %x: %v", what, b, err)
					return
				}
				again, err := rt.Encode(nil, id, v)
				if err != nil || string(again) != string(b) {
					t.Errorf("%s: %x is encoded as %x: %v", what, b, again, err)
				}
				parsed, err := metadata.ParseJSON([]byte(metadata.Print(v)))
				if err != nil {
					t.Errorf("%s: %s: %v", what, metadata.Print(v), err)
				}
				again, err = rt.Encode(nil, id, parsed)
				if err != nil || string(again) != string(b) {
					t.Errorf("%s: %s is encoded as %x, and was %x: %v", what, metadata.Print(v), again, b, err)
				}
			})
			if count < 50 {
				t.Errorf("only %d values", count)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"v16-substrate", "v15-substrate", "v14-kusama"} {
		bytes := real(b)[name]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(bytes)))
			for b.Loop() {
				if _, err := metadata.Decode(bytes); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
