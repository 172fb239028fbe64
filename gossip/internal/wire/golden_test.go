package wire

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the bytes of testdata/golden anew")

func counting(from byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = from + byte(i)
	}
	return b
}

func subject(from byte) (s Subject) {
	copy(s[:], counting(from, len(s)))
	return s
}

func goldenHeartbeat() Heartbeat {
	return Heartbeat{Reign: 7, Top: 8, Seniority: 9, Leads: true, Stands: true, Wide: true, Host: "host-1"}
}

func goldenVote() Vote { return Vote{Leader: subject(5), Sequence: 3, Age: 2} }

func goldenSaid() Said {
	return Said{
		Statement: Statement{
			Subject: subject(1), Incarnation: 2, Sequence: 3, Namespace: "site", Topic: "flags", Body: []byte("on"),
		},
		Signature: counting(100, 64), Age: 4,
	}
}

func goldenParcel() Parcel {
	return Parcel{
		Opening: true, Said: []Said{goldenSaid()}, Marks: []Mark{{Name: Name(counting(7, 16)), Incarnation: 1, Sequence: 2}},
		Wants: []Name{Name(counting(9, 16))},
	}
}

// The format does not change by accident: nodes of different releases talk to each other, and what a subject has signed
// stays signed. A diff of these files is a change of the format; gossip.proto says which are allowed.
func TestTheFormatNeverChanges(t *testing.T) {
	t.Parallel()
	parcel, err := Encode(goldenParcel())
	if err != nil {
		t.Fatal(err)
	}
	said := goldenSaid()
	name := said.Key().Name()
	files := map[string][]byte{
		"parcel": parcel, "heartbeat": goldenHeartbeat().Body(), "vote": goldenVote().Body(), "signed": said.Signed(), "name": name[:],
	}
	for file, got := range files {
		path := filepath.Join("testdata", "golden", file+".hex")
		if *update {
			if err := os.WriteFile(path, []byte(hex.EncodeToString(got)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := hex.DecodeString(strings.TrimSpace(string(text))); !bytes.Equal(got, want) {
			t.Errorf("%s is\n%x\nwant\n%x", file, got, want)
		}
	}
	if p, err := Decode(parcel); err != nil || !reflect.DeepEqual(p, goldenParcel()) {
		t.Errorf("the parcel is read as %+v, %v", p, err)
	}
	if h, err := ReadHeartbeat(files["heartbeat"]); err != nil || h != goldenHeartbeat() {
		t.Errorf("the heartbeat is read as %+v, %v", h, err)
	}
	if v, err := ReadVote(files["vote"]); err != nil || v != goldenVote() {
		t.Errorf("the vote is read as %+v, %v", v, err)
	}
}
