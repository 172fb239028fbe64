package wire

import (
	"encoding/hex"
	"errors"
	"flag"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/prototest"
	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wirepb"
)

var update = flag.Bool("update", false, "write the bytes of testdata/golden anew")

// The format does not change by accident: nodes of different releases talk to each other. A diff of these files is a change of the
// format; log.proto says which are allowed. And each message is read as it was sent.
func TestTheFormatNeverChanges(t *testing.T) {
	t.Parallel()
	all := samples()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b, err := Encode(all[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		storytest.Golden(t, *update, filepath.Join("testdata", "golden", name+".hex"), hex.EncodeToString(b)+"\n")
		if m, err := Decode(b); err != nil || !reflect.DeepEqual(m, all[name]) {
			t.Errorf("%s is read as %+v, %v", name, m, err)
		}
	}
}

// What another node has said is still the same error here, with its own words.
func TestErrorsAreThemselves(t *testing.T) {
	t.Parallel()
	log := sampleGenesis().ID()
	other := errors.New("something else, of \xff and " + strings.Repeat("ä", mostWhy))
	for _, kind := range append(slices.Clone(codes[1:]), other) {
		b, err := Encode(Message{log, Confirmed{Serial: 1, Index: 9, Err: kind}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		got := m.Body.(Confirmed)
		if errors.Is(kind, other) {
			kind = txlog.ErrUnknown
			if !strings.HasPrefix(got.Err.Error(), "something else, of ? and ää") || len(got.Err.Error()) > mostWhy {
				t.Errorf("it says %q", got.Err)
			}
		}
		if !errors.Is(got.Err, kind) || got.Index != 0 {
			t.Errorf("%v is read as %v", kind, got)
		}
	}
	if got := Failed(&wirepb.Failure{Code: 1 << 31, Text: "of tomorrow"}); !errors.Is(got, txlog.ErrUnknown) || got.Error() != "of tomorrow" {
		t.Errorf("an error of tomorrow is read as %v", got)
	}
}

func TestTheCodeIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	prototest.Same(t, "log.proto", wirepb.File_log_proto)
}
