package hook

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/conchhq/conch/pending"
)

// A secret is base64 of 24 to 64 bytes, and no error quotes it.
func TestSecrets(t *testing.T) {
	t.Parallel()
	long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 64)))
	for text, valid := range map[string]bool{
		"whsec_" + long: true, long: true, " whsec_" + long + "\r": true, "whsec_": false, "": false, "hunter2": false,
		"whsec_" + base64.StdEncoding.EncodeToString([]byte("SECRET")): false, "whsec_" + long + "AAAA": false,
	} {
		key, err := ParseSecret(text)
		if (err == nil) != valid || valid && len(key) != 64 {
			t.Errorf("%q: got %d bytes, %v", text, len(key), err)
		}
		if err != nil && text != "" && strings.Contains(err.Error(), strings.TrimPrefix(text, "whsec_")) && text != "whsec_" {
			t.Errorf("%v quotes the secret", err)
		}
	}
}

// C4.10: an address is checked when a connection is made to it, whatever form it has.
func TestLocalAddresses(t *testing.T) {
	t.Parallel()
	if err := checkAddress("tcp", "[::ffff:169.254.169.254%1]:80", nil); !errors.Is(err, errLocal) {
		t.Errorf("got %v, want that it is refused", err)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{
		"https://shop.example/hooks?a=b": true, "http://10.0.0.1:8080": true, "shop.example": false, "ftp://shop.example": false, "https://": false, "https://:443": false,
		"https://a:SECRET@shop.example": false, "https://shop.example/#SECRET": false, "https://shop.example/%zzSECRET": false,
	} {
		err := Receiver{URL: text, Keys: [][]byte{nil}, Body: func(*Event) []byte { return nil }}.Validate()
		if (err == nil) != valid || err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// A place is where it is without what is under way.
func TestPlaces(t *testing.T) {
	t.Parallel()
	known := ranges{}
	for _, id := range []int64{7, 9, 8, 13, 12, 20} {
		known = known.with(id)
	}
	for id, want := range map[int64]bool{6: false, 7: true, 8: true, 9: true, 10: false, 12: true, 13: true, 20: true, 21: false} {
		if known.has(id) != want {
			t.Errorf("%v has %d: %t", known, id, !want)
		}
	}
	if left := known.above(8); len(left) != 3 || left[0] != [2]int64{9, 9} {
		t.Errorf("above 8 are %v", left)
	}
	got := Place{UpTo: 6, Beyond: known}.without(map[int64]bool{3: true, 8: true, 20: true})
	if want := (Place{UpTo: 2, Beyond: [][2]int64{{4, 7}, {9, 9}, {12, 13}}}); got.UpTo != want.UpTo || len(got.Beyond) != 3 || got.Beyond[0] != want.Beyond[0] || got.Beyond[1] != want.Beyond[1] || got.Beyond[2] != want.Beyond[2] {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The webhook-id is the event's alone, also after a restore has drawn its number again.
func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	one, other := Event{ID: 17}, Event{ID: 17, Event: pending.Event{Version: 2}}
	other.At = one.At.Add(1000)
	if one.Name() == other.Name() || !strings.HasPrefix(one.Name(), "evt_17_") {
		t.Errorf("got %s and %s", one.Name(), other.Name())
	}
}
